import { networkOf } from '../http/network.ts';

/** The address of a peer for rate limits and logs; for IPv6 its /64 network, whose addresses one caller has all. */
export function callerOf(peer: string): string {
  return networkOf(peer.replace(/:\d+$/, '').replace(/^\[|\]$/g, ''));
}
