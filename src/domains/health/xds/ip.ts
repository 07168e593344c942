import { looseForm, parseIp } from '../../../model/text/ip-address.ts';

/** Whether Envoy takes the text for an IP address. */
export function isIpAddress(text: string): boolean {
  const ip = parseIp(text);
  return ip !== undefined && looseForm(text, ip) !== 'leading zeros';
}
