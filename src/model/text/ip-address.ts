/** An IP address. */
export interface Ip {
  readonly family: 'IPv4' | 'IPv6';
  readonly value: bigint;
}

/** A block of addresses, with the address as it was written. */
export interface Network {
  readonly address: Ip;
  readonly prefix: number;
}

/** The number of bits of an address. */
const BITS = { IPv4: 32, IPv6: 128 } as const;

/**
 * Parses an IP address as an API server reads it in fields older than its strict rules: leading zeros are allowed in IPv4 and
 * count as decimal, zones are not allowed in IPv6. Undefined if the text is none. {@link looseForm} tells what is not strict.
 */
export function parseIp(text: string): Ip | undefined {
  if (!text.includes(':')) {
    const value = ipv4Value(text);
    return value === undefined ? undefined : { family: 'IPv4', value };
  }
  const [head = [], tail, ...others] = text.split('::').map((half) => (half === '' ? [] : half.split(':')));
  const missing = 8 - groupCount(head) - groupCount(tail ?? []);
  if (others.length > 0 || (tail === undefined ? missing !== 0 : missing < 1)) return undefined;
  const groups = [...head, ...new Array<string>(missing).fill('0'), ...(tail ?? [])];
  let value = 0n;
  for (const [index, group] of groups.entries()) {
    const ipv4 = index === groups.length - 1 && group.includes('.') ? ipv4Value(group) : undefined;
    if (ipv4 !== undefined) value = (value << 32n) | ipv4;
    else if (/^[0-9A-Fa-f]{1,4}$/.test(group)) value = (value << 16n) | BigInt(`0x${group}`);
    else return undefined;
  }
  return { family: 'IPv6', value };
}

/** An IPv4 address at the end counts as two groups of 16 bits. */
function groupCount(groups: readonly string[]): number {
  return groups.length + (groups.at(-1)?.includes('.') ? 1 : 0);
}

function ipv4Value(text: string): bigint | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^\d+$/.test(part) && Number(part) < 256)) return undefined;
  return BigInt(parts.reduce((sum, part) => sum * 256 + Number(part), 0));
}

/** Parses a block of addresses in the forms of {@link parseIp}. Undefined if the text is none. */
export function parseNetwork(text: string): Network | undefined {
  const slash = text.lastIndexOf('/');
  const address = parseIp(text.slice(0, Math.max(slash, 0)));
  const prefix = text.slice(slash + 1);
  if (address === undefined || !/^\d{1,3}$/.test(prefix)) return undefined;
  return Number(prefix) <= BITS[address.family] ? { address, prefix: Number(prefix) } : undefined;
}

/**
 * The form, of an address or of a block, that programs read differently and strict fields refuse: leading zeros, or an IPv4
 * address in the form of IPv6. Undefined if the text has a strict form.
 */
export function looseForm(text: string, ip: Ip): 'leading zeros' | 'IPv4 in IPv6' | undefined {
  if (/(?:^|[.:])0\d+\.|[./]0\d+(?:\/|$)/.test(text)) return 'leading zeros';
  return mappedIpv4(ip) === undefined ? undefined : 'IPv4 in IPv6';
}

/** The IPv4 address that an IPv6 address of `::ffff:0:0/96` stands for; undefined for all other addresses. */
export function mappedIpv4({ family, value }: Ip): Ip | undefined {
  return family === 'IPv6' && value >> 32n === 0xffffn ? { family: 'IPv4', value: value & 0xffff_ffffn } : undefined;
}

/**
 * Parses an IP address as Go does: leading zeros are refused, and an IPv4 address in the form of IPv6 becomes IPv4. Undefined if
 * the text is none.
 */
export function parseStrictIp(text: string): Ip | undefined {
  const ip = parseIp(text);
  if (ip === undefined || looseForm(text, ip) === 'leading zeros') return undefined;
  return mappedIpv4(ip) ?? ip;
}

/** Whether the text is an IP address or a host name, as Kuma checks addresses. */
export function isAddress(text: string): boolean {
  return parseStrictIp(text) !== undefined || isDnsName(text);
}

/** As `IsDNSName` of the library govalidator. */
function isDnsName(text: string): boolean {
  if (text.replaceAll('.', '').length > 255) return false;
  return /^[a-zA-Z0-9_][a-zA-Z0-9_-]{0,62}(\.[a-zA-Z0-9_][a-zA-Z0-9_-]{0,62})*[._]?$/.test(text);
}

/** The first address of the block. */
export function firstOf({ address: { family, value }, prefix }: Network): Ip {
  const host = BigInt(BITS[family] - prefix);
  return { family, value: (value >> host) << host };
}

/** Whether the block holds the address. */
export function networkHas(network: Network, { family, value }: Ip): boolean {
  const { address, prefix } = network;
  return family === address.family && firstOf({ address: { family, value }, prefix }).value === firstOf(network).value;
}

/** The canonical text: RFC 5952 for IPv6. */
export function ipText({ family, value }: Ip): string {
  if (family === 'IPv4') return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join('.');
  const groups = Array.from({ length: 8 }, (_, at) => ((value >> BigInt(112 - 16 * at)) & 0xffffn).toString(16));
  const text = groups.join(':');
  const zeros = [...text.matchAll(/(?<=^|:)0(?::0)+(?=:|$)/g)].map(([run]) => run);
  const longest = zeros.reduce((best, run) => (run.length > best.length ? run : best), '');
  if (longest === '') return text;
  const at = text.search(new RegExp(`(?<=^|:)${longest}(?=:|$)`));
  return `${text.slice(0, at).replace(/:$/, '')}::${text.slice(at + longest.length).replace(/^:/, '')}`;
}

/** The canonical text of a block. */
export function cidrText({ address, prefix }: Network): string {
  return `${ipText(address)}/${prefix}`;
}

/** The canonical text of an IPv6 address; any other text as it is. */
export function canonicalIp(text: string): string {
  const ip = text.includes(':') ? parseStrictIp(text) : undefined;
  return ip === undefined ? text : ipText(ip);
}

/** The address of a caller, or of IPv6 its first 64 bits: one machine has as many of those addresses as it likes. */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address.replace(/^::ffff:/, '');
  const [before = '', after] = address.replace(/%.*$/, '').split('::');
  const groups = (text: string): readonly string[] => text.split(':').filter((group) => group !== '');
  const [first, last] = [groups(before), groups(after ?? '')];
  const zeros = after === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array<string>(zeros).fill('0'), ...last].slice(0, 4).join(':');
}
