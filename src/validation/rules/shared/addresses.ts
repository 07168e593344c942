/*
 * IP addresses and CIDR blocks, as an API server of Kubernetes reads them in fields that are older than its strict rules:
 * leading zeros are allowed in IPv4, zones are not allowed in IPv6. Since 1.36 the forms are refused that programs read
 * differently: `strictIpRule` and `strictCidrRule`.
 */

/** The family of an IP address; undefined if the text is none. */
export function ipFamily(text: string): 'IPv4' | 'IPv6' | undefined {
  if (isIpv4(text)) return 'IPv4';
  if (!text.includes(':')) return undefined;
  return isIpv6(text) ? 'IPv6' : undefined;
}

/** The rule that a text breaks which is no IP address. */
export function ipRule(text: string): string | undefined {
  return ipFamily(text) === undefined ? 'must be an IP address' : undefined;
}

/** A block of addresses. */
export interface Cidr {
  readonly family: 'IPv4' | 'IPv6';
  readonly address: string;
  readonly prefix: number;
}

/** Parses a CIDR block; undefined if the text is none. */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf('/');
  const address = text.slice(0, slash);
  const length = text.slice(slash + 1);
  const family = slash < 0 ? undefined : ipFamily(address);
  if (family === undefined || !/^\d{1,3}$/.test(length)) return undefined;
  const prefix = Number(length);
  return prefix <= (family === 'IPv4' ? 32 : 128) ? { family, address, prefix } : undefined;
}

/** The rule that a text breaks which is no CIDR block. */
export function cidrRule(text: string): string | undefined {
  return parseCidr(text) === undefined ? 'must be a CIDR block like "10.9.8.0/24" or "2001:db8::/64"' : undefined;
}

/** The rule of Kubernetes since 1.36 that an IP address breaks. */
export function strictIpRule(text: string): string | undefined {
  if (/(^|[.:])0\d+\./.test(text) || /\.0\d+$/.test(text)) return 'must not have leading zeros';
  const isMapped = text.includes(':') && text.includes('.') && bits(text) >> 32n === 0xffffn;
  return isMapped || (isIpv6(text) && bits(text) >> 32n === 0xffffn)
    ? 'must not be an IPv4 address in the form of IPv6'
    : undefined;
}

/** The rule of Kubernetes since 1.36 that a CIDR block breaks. */
export function strictCidrRule(text: string): string | undefined {
  const cidr = parseCidr(text);
  if (cidr === undefined) return undefined;
  const { address, family, prefix } = cidr;
  const broken = strictIpRule(address);
  if (broken !== undefined) return broken;
  if (/\/0\d/.test(text)) return 'must not have leading zeros';
  const host = BigInt((family === 'IPv4' ? 32 : 128) - prefix);
  const network = (bits(address) >> host) << host;
  if (network === bits(address)) return undefined;
  const example = family === 'IPv4' ? `, like ${ipv4Text(network)}/${prefix}` : '';
  return `must have no bits set after its first ${prefix}${example}`;
}

/** The bits of an address as one number. */
export function bits(address: string): bigint {
  if (!address.includes(':')) return address.split('.').reduce((sum, part) => (sum << 8n) | BigInt(Number(part)), 0n);
  const [head = '', tail] = address.split('::');
  const before = groupValues(head);
  const after = tail === undefined ? [] : groupValues(tail);
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => 0n);
  return [...before, ...zeros, ...after].reduce((sum, group) => (sum << 16n) | group, 0n);
}

function ipv4Text(address: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (address >> shift) & 0xffn).join('.');
}

function groupValues(text: string): readonly bigint[] {
  if (text === '') return [];
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return [BigInt(`0x${part}`)];
    const last = bits(part);
    return [last >> 16n, last & 0xffffn];
  });
}

function isIpv4(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^\d+$/.test(part) && Number(part) <= 255);
}

function isIpv6(text: string): boolean {
  const halves = text.split('::');
  if (halves.length > 2) return false;
  const [head = '', tail] = halves;
  const groups = groupsOf(head, tail === undefined);
  const after = tail === undefined ? 0 : groupsOf(tail, true);
  if (groups === undefined || after === undefined) return false;
  return tail === undefined ? groups === 8 : groups + after < 8;
}

/** The number of 16-bit groups; undefined if one is malformed. The last one may be an IPv4 address, which counts as two. */
function groupsOf(text: string, isLast: boolean): number | undefined {
  if (text === '') return 0;
  const parts = text.split(':');
  let count = 0;
  for (const [index, part] of parts.entries()) {
    if (/^[0-9A-Fa-f]{1,4}$/.test(part)) count += 1;
    else if (isLast && index === parts.length - 1 && isIpv4(part)) count += 2;
    else return undefined;
  }
  return count;
}
