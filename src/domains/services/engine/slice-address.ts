import { ipText, networkHas, parseNetwork, parseStrictIp } from '../../../model/text/ip-address.ts';

/** An address as an EndpointSlice has it, or why no slice can have it. */
export type SliceAddress =
  | { readonly family: 'IPv4' | 'IPv6'; readonly address: string }
  | { readonly family: 'none'; readonly address: string; readonly because: string };

/** The address of an endpoint, in canonical form. */
export function sliceAddressOf(address: string): SliceAddress {
  const ip = parseStrictIp(address);
  if (ip === undefined) return { family: 'none', address, because: 'is a host name' };
  const special = SPECIAL.find(({ network }) => network !== undefined && networkHas(network, ip));
  if (special !== undefined) return { family: 'none', address, because: special.because };
  return { family: ip.family, address: ipText(ip) };
}

/** In IPv6 with any flags. */
const LINK_LOCAL_MULTICAST = ['224.0.0.0/24', ...Array.from('0123456789abcdef', (flags) => `ff${flags}2::/16`)];

/** The addresses that an API server refuses in endpoints. */
const SPECIAL = [
  { because: 'is unspecified', networks: ['0.0.0.0/32', '::/128'] },
  { because: 'is a loopback address', networks: ['127.0.0.0/8', '::1/128'] },
  { because: 'is a link-local address', networks: ['169.254.0.0/16', 'fe80::/10'] },
  { because: 'is a link-local multicast address', networks: LINK_LOCAL_MULTICAST },
].flatMap(({ because, networks }) => networks.map((text) => ({ because, network: parseNetwork(text) })));
