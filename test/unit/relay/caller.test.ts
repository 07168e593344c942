import { expect, test } from 'vitest';
import { addressOfPeer, callerOf } from '../../../src/relay/caller.ts';

test.each([
  ['10.0.0.7:5000', '10.0.0.7', '10.0.0.7'],
  ['::ffff:10.0.0.7:5000', '10.0.0.7', '10.0.0.7'],
  ['::1:5000', '::1', '0:0:0:0'],
  ['[2001:db8:1:2::7]:5000', '2001:db8:1:2::7', '2001:db8:1:2'],
  ['memory', 'memory', 'memory'],
])('the peer %s has the address %s, and the limits of %s', (peer, address, network) => {
  expect([addressOfPeer(peer), callerOf(peer)]).toEqual([address, network]);
});
