/** An IP address; 32 bits are IPv4. */
export interface Ip {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

/** A block of addresses, with the address as it was written. */
export interface Network {
  readonly address: Ip;
  readonly prefix: number;
}

/** Parses an address strictly: no leading zeros, no zone, no IPv4 address inside of IPv6. Undefined if the text is none. */
export function parseIp(text: string): Ip | undefined {
  if (text.length > 64) return undefined;
  const ip = text.includes(':') ? parseIpv6(text) : parseIpv4(text);
  // ::ffff:0:0/96 holds the IPv4 addresses.
  return ip?.bits === 128 && ip.value >> 32n === 0xffffn ? undefined : ip;
}

function parseIpv4(text: string): Ip | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)) {
    return undefined;
  }
  return { bits: 32, value: parts.reduce((sum, part) => sum * 256n + BigInt(part), 0n) };
}

function parseIpv6(text: string): Ip | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head = [], tail] = halves.map(groupsOf);
  if (head === undefined || (halves.length === 2 && tail === undefined)) return undefined;
  const missing = 8 - head.length - (tail?.length ?? 0);
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...new Array<bigint>(missing).fill(0n), ...(tail ?? [])];
  return { bits: 128, value: groups.reduce((sum, group) => sum * 65536n + group, 0n) };
}

function groupsOf(text: string): readonly bigint[] | undefined {
  if (text === '') return [];
  const parts = text.split(':');
  const last = parts.at(-1) ?? '';
  const ipv4 = last.includes('.') ? parseIpv4(last) : undefined;
  if (last.includes('.') && ipv4 === undefined) return undefined;
  const plain = ipv4 === undefined ? parts : parts.slice(0, -1);
  if (!plain.every((part) => /^[0-9A-Fa-f]{1,4}$/.test(part))) return undefined;
  const groups = plain.map((part) => BigInt(`0x${part}`));
  return ipv4 === undefined ? groups : [...groups, ipv4.value >> 16n, ipv4.value & 0xffffn];
}

/** Parses a block of addresses; undefined if the text is none. */
export function parseNetwork(text: string): Network | undefined {
  const slash = text.lastIndexOf('/');
  const address = parseIp(text.slice(0, Math.max(slash, 0)));
  const length = text.slice(slash + 1);
  if (address === undefined || !/^(?:0|[1-9]\d{0,2})$/.test(length)) return undefined;
  return Number(length) <= address.bits ? { address, prefix: Number(length) } : undefined;
}

/** Whether the block holds the address. */
export function networkHas({ address: { bits, value }, prefix }: Network, ip: Ip): boolean {
  const rest = BigInt(bits - prefix);
  return ip.bits === bits && ip.value >> rest === value >> rest;
}

/** The canonical text: RFC 5952 for IPv6. */
export function ipText({ bits, value }: Ip): string {
  if (bits === 32) return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join('.');
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
