import { networkOf } from '../model/text/ip-address.ts';

/** What rate limits know a caller by: the address of the peer, or of IPv6 its /64 network, whose addresses one caller has all. */
export function callerOf(peer: string): string {
  return networkOf(addressOfPeer(peer));
}

/** The address of a peer without its port, for people. */
export function addressOfPeer(peer: string): string {
  const address = peer.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  return address.includes('.') ? address.replace(/^::ffff:/, '') : address;
}
