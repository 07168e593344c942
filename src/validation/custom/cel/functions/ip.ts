import { type Ip, parseIp as parseAnyIp } from '../../../../model/ip-address.ts';

/** A block of addresses, with the address as it was written. */
export interface Network {
  readonly address: Ip;
  readonly prefix: number;
}

/** Parses an address strictly: no leading zeros, no zone, no IPv4 address inside of IPv6. Undefined if the text is none. */
export function parseIp(text: string): Ip | undefined {
  const ip = parseAnyIp(text);
  return ip?.bits === 32 && text.includes(':') ? undefined : ip;
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
