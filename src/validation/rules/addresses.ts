/*
 * IP addresses and CIDR blocks, as an API server of Kubernetes reads them in fields that are older than its strict rules:
 * leading zeros are allowed in IPv4, zones are not allowed in IPv6.
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
