import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { type Body, createBodies } from '../../../src/http/bodies.ts';

const KIB = 1_024;

/** A request whose body the test sends. */
function begin(bodies: ReturnType<typeof createBodies>, address: string, headers: Record<string, string> = {}) {
  const request = Object.assign(new EventEmitter(), { headers, socket: { remoteAddress: address }, destroyed: false });
  let answer: Body | undefined;
  void bodies.receive(request as unknown as IncomingMessage).then((body) => {
    answer = body;
  });
  return {
    send: (bytes: number) => request.emit('data', Buffer.alloc(bytes, 'x')),
    end: () => request.emit('end'),
    /** How it was answered; `open`: not yet. */
    state: async (): Promise<string> => {
      await Promise.resolve();
      if (answer === undefined) return 'open';
      return answer.ok ? `${answer.bytes.length} bytes` : answer.reason;
    },
  };
}

test('the memory of a body counts, and not only the bytes that have arrived in it', async () => {
  const bodies = createBodies({ most: 64 * KIB, mostAtOnce: 64 * KIB });
  const [one, other] = [begin(bodies, '10.0.0.1'), begin(bodies, '10.0.0.2')];
  one.send(20 * KIB);
  // Its buffer grows to 40 KiB.
  one.send(KIB);
  other.send(25 * KIB);
  expect([await one.state(), await other.state()]).toEqual(['Unavailable', 'open']);
});

test('the buffer of a body is at most as long as the length that the body announces', async () => {
  const bodies = createBodies({ most: 64 * KIB, mostAtOnce: 64 * KIB });
  const one = begin(bodies, '10.0.0.1', { 'content-length': String(21 * KIB) });
  const other = begin(bodies, '10.0.0.2');
  one.send(20 * KIB);
  one.send(KIB);
  other.send(25 * KIB);
  one.end();
  other.end();
  expect([await one.state(), await other.state()]).toEqual([`${21 * KIB} bytes`, `${25 * KIB} bytes`]);
});

test('of many callers with little each the body that has been arriving longest goes, and not the largest', async () => {
  const bodies = createBodies({ most: 64 * KIB, mostAtOnce: 160 * KIB });
  const others = Array.from({ length: 40 }, (_, at) => begin(bodies, `10.0.0.${at}`));
  for (const other of others) other.send(4 * KIB);
  const quick = begin(bodies, '10.0.1.1');
  quick.send(8 * KIB);
  quick.end();
  expect(await quick.state()).toBe(`${8 * KIB} bytes`);
  const states = await Promise.all(others.map(({ state }) => state()));
  expect(states).toEqual([...Array(2).fill('Unavailable'), ...Array(38).fill('open')]);
});

test('a caller above its share loses its largest body before others lose any', async () => {
  const bodies = createBodies({ most: 64 * KIB, mostAtOnce: 160 * KIB });
  const others = Array.from({ length: 34 }, (_, at) => begin(bodies, `10.0.0.${at}`));
  for (const other of others) other.send(4 * KIB);
  const [large, next] = [begin(bodies, '10.0.1.1'), begin(bodies, '10.0.1.1')];
  large.send(20 * KIB);
  next.send(8 * KIB);
  expect([await large.state(), await next.state()]).toEqual(['Unavailable', 'open']);
  expect(new Set(await Promise.all(others.map(({ state }) => state())))).toEqual(new Set(['open']));
});
