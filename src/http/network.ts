import { isIPv6 } from 'node:net';

/** The address, or of IPv6 its first 64 bits: one machine has as many of those addresses as it likes. */
export function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address.replace(/^::ffff:/, '');
  const [before = '', after] = address.replace(/%.*$/, '').split('::');
  const groups = (text: string): readonly string[] => text.split(':').filter((group) => group !== '');
  const [first, last] = [groups(before), groups(after ?? '')];
  const zeros = after === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array<string>(zeros).fill('0'), ...last].slice(0, 4).join(':');
}
