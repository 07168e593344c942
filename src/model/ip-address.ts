/** An IP address; 32 bits are IPv4. */
export interface Ip {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

/**
 * Parses an address as Go does: no leading zeros, no zone. An IPv4 address inside of IPv6 (`::ffff:10.0.0.1`) is that of IPv4.
 * Undefined if the text is none.
 */
export function parseIp(text: string): Ip | undefined {
  if (text.length > 64) return undefined;
  const ip = text.includes(':') ? parseIpv6(text) : parseIpv4(text);
  const isMapped = ip?.bits === 128 && ip.value >> 32n === 0xffffn;
  return isMapped ? { bits: 32, value: ip.value & 0xffff_ffffn } : ip;
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
