import { networkOf } from '../model/text/ip-address.ts';

/** What rate limits know a caller by: the address of the peer, or its /64 network of IPv6, since one caller has all addresses in it. */
export function callerOf(peer: string): string {
  return networkOf(addressOfPeer(peer));
}

/** The address of a peer without its port, for people. */
export function addressOfPeer(peer: string): string {
  const address = peer.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  return address.includes('.') ? address.replace(/^::ffff:/, '') : address;
}
