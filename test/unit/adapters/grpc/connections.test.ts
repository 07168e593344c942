import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { CONNECTION_LIMITS, createConnections } from '../../../../src/adapters/grpc/connections.ts';

let ports = 0;

/** A connection of an address. `end`: its caller closes it. */
function socketOf(remoteAddress: string) {
  ports += 1;
  const socket = Object.assign(new EventEmitter(), {
    ...{ remoteAddress, remotePort: ports, destroyed: false },
    destroy: () => {
      socket.destroyed = true;
      socket.emit('close');
    },
  });
  return socket;
}

function begun(limits: Partial<typeof CONNECTION_LIMITS>) {
  const turnedAway: string[] = [];
  const connections = createConnections({ ...CONNECTION_LIMITS, ...limits }, (_, peer) => turnedAway.push(peer));
  const begin = (address: string) => {
    const socket = socketOf(address);
    connections.begin(socket as unknown as Socket);
    return socket;
  };
  const open = (address: string) => {
    const socket = begin(address);
    connections.opened(socket as unknown as Socket, undefined);
    return socket;
  };
  return { begin, open, turnedAway };
}

const closed = (sockets: readonly { readonly destroyed: boolean }[]): number =>
  sockets.filter(({ destroyed }) => destroyed).length;

test('of too many handshakes the network with the most of them loses its oldest', () => {
  const { begin } = begun({ handshakes: 10 });
  const honest = begin('10.0.0.1');
  const flood = Array.from({ length: 100 }, () => begin('10.0.0.66'));
  expect([honest.destroyed, closed(flood)]).toEqual([false, 91]);
  expect(closed(flood.slice(0, 91))).toBe(91);
  expect(begin('10.0.0.2').destroyed).toBe(false);
});

test('of handshakes of as many networks the oldest goes', () => {
  const { begin } = begun({ handshakes: 10 });
  const sockets = Array.from({ length: 12 }, (_, at) => begin(`10.0.1.${at}`));
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, true, ...Array(10).fill(false)]);
});

test('the addresses of a network of IPv6 count as one, in handshakes and without a call', () => {
  for (const phase of ['begin', 'open'] as const) {
    const world = begun({ handshakes: 10, idle: 10 });
    const honest = world[phase]('2001:db8:0:1::1');
    const flood = Array.from({ length: 20 }, (_, at) => world[phase](`2001:db8:0:2::${at.toString(16)}`));
    expect([honest.destroyed, closed(flood)]).toEqual([false, 11]);
  }
});

test('a handshake that ends makes room', () => {
  const { begin } = begun({ handshakes: 2 });
  const [first, second] = [begin('10.0.0.1'), begin('10.0.0.1')];
  first.destroy();
  begin('10.0.0.1');
  expect(second.destroyed).toBe(false);
});
