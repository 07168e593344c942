import { isIPv6 } from 'node:net';

/** The address of a peer for rate limits and logs; for IPv6 its /64 network, whose addresses one caller has all. */
export function callerOf(peer: string): string {
  const address = peer.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  const inside = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (inside !== undefined || !isIPv6(address)) return inside ?? address;
  const [head = '', tail] = address.split('::');
  const start = head === '' ? [] : head.split(':');
  const end = tail === undefined || tail === '' ? [] : tail.split(':');
  const gap = tail === undefined ? 0 : Math.max(0, 8 - start.length - end.length);
  return [...start, ...Array.from({ length: gap }, () => '0'), ...end].slice(0, 4).join(':');
}
