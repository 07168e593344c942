import { cidrRule, ipFamily, ipRule, strictCidrRule, strictIpRule } from './addresses.ts';
import { type Field, hasForm, invalid, word } from './field.ts';

/** The rule that an IP address breaks which no other machine can reach: unspecified, loopback, link-local. */
export function specialAddressRule(address: string): string | undefined {
  const family = ipFamily(address);
  if (family === undefined) return undefined;
  const kind = family === 'IPv4' ? specialIpv4(address.split('.').map(Number)) : specialIpv6(address.toLowerCase());
  return kind === undefined ? undefined : `must not be ${kind}`;
}

function specialIpv4([first = 0, second = 0, third = 0, fourth = 0]: readonly number[]): string | undefined {
  if (first + second + third + fourth === 0) return 'the unspecified address';
  if (first === 127) return 'a loopback address';
  if (first === 169 && second === 254) return 'a link-local address';
  return first === 224 && second === 0 && third === 0 ? 'a link-local multicast address' : undefined;
}

function specialIpv6(address: string): string | undefined {
  const mapped = /^(?:0*:)*:?ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1];
  if (mapped !== undefined) return specialIpv4(mapped.split('.').map(Number));
  if (/^[0:]+$/.test(address)) return 'the unspecified address';
  if (/^[0:]*:0*1$/.test(address)) return 'a loopback address';
  const first = Number.parseInt(address.split(':')[0] || '0', 16);
  if ((first & 0xffc0) === 0xfe80) return 'a link-local address';
  return (first & 0xff0f) === 0xff02 ? 'a link-local multicast address' : undefined;
}

/** Checks an IP address of a field that is older than the strict rules of Kubernetes 1.36. */
export function checkIp(field: Field): void {
  hasForm(field, ipRule, 'BadAddress');
  const found = word(field);
  const broken = found === undefined || ipRule(found) !== undefined ? undefined : strictIpRule(found);
  if (broken !== undefined) invalid(field, broken, { reason: 'BadAddress', since: STRICT_SINCE });
}

/** Checks a CIDR block of a field that is older than the strict rules of Kubernetes 1.36. Spaces around it are allowed. */
export function checkCidr(field: Field): void {
  const found = word(field)?.trim();
  if (found === undefined) return;
  const broken = cidrRule(found);
  if (broken !== undefined) invalid(field, broken, { reason: 'BadAddress' });
  const strict = strictCidrRule(found);
  if (strict !== undefined) invalid(field, strict, { reason: 'BadAddress', since: STRICT_SINCE });
}

/** As {@link checkIp}, for an address that other machines connect to. */
export function checkEndpointIp(field: Field): void {
  checkIp(field);
  hasForm(field, specialAddressRule, 'BadAddress');
}

const STRICT_SINCE = 36;
