import { expect, test } from 'vitest';
import { createServerState, noteEnd } from '../../../src/relay/server-state.ts';
import { recordingLog } from '../../support/running-server.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const wrong = { code: 'unauthenticated', reason: 'WrongToken', message: 'the token is wrong' } as const;

test('callers that are not authenticated fill no log, however many addresses they have; clusters are still told of', async () => {
  const [clock, log] = [createVirtualClock(), recordingLog()];
  const state = createServerState({ clock, log } as never, { fleet: 'test', tokens: [] } as never, {} as never);
  for (let count = 0; count < 5_000; count += 1) {
    const address = `2001:db8:${(count >> 8).toString(16)}:${(count & 255).toString(16)}`;
    noteEnd(state, wrong, address, { peer: `${address}::1`, claimed: '"east"' });
  }
  expect(log.lines).toHaveLength(100);
  noteEnd(state, wrong, 'east', { cluster: 'east', peer: '10.0.0.1:1' });
  expect(log.lines).toHaveLength(101);
  expect(state.ended.get('WrongToken')).toBe(5_001);
  await clock.advance(60_000);
  noteEnd(state, wrong, '10.0.0.1', { peer: '10.0.0.1:1' });
  expect(log.lines.at(-1)).toContain('"leftOut":4900');
});

test('a line says how many were left out by the limit of its caller and by the limit of all together', async () => {
  const [clock, log] = [createVirtualClock(), recordingLog()];
  const state = createServerState({ clock, log } as never, { fleet: 'test', tokens: [] } as never, {} as never);
  const end = (address: string): void => noteEnd(state, wrong, address, { peer: `${address}:1` });
  // Of each of 200 callers the first line is due, and 100 of these are above the limit of all.
  for (let count = 0; count < 200; count += 1) for (let time = 0; time < 3; time += 1) end(`10.0.0.${count}`);
  expect(log.lines).toHaveLength(100);
  await clock.advance(120_000);
  // 2 of its own, and 100 of all.
  end('10.0.0.0');
  expect(log.lines.at(-1)).toContain('"leftOut":102');
  for (let count = 1; count < 20; count += 1) end(`10.0.0.${count}`);
  expect(log.lines.at(-1)).toContain('"leftOut":2');
});

test('what one caller was not told of is counted for all where the limit of all leaves its next line out', async () => {
  const [clock, log] = [createVirtualClock(), recordingLog()];
  const state = createServerState({ clock, log } as never, { fleet: 'test', tokens: [] } as never, {} as never);
  const end = (address: string): void => noteEnd(state, wrong, address, { peer: `${address}:1` });
  for (let time = 0; time < 5; time += 1) end('10.1.0.0');
  for (let count = 0; count < 99; count += 1) end(`10.0.0.${count}`);
  await clock.advance(60_000);
  for (let count = 0; count < 10; count += 1) end(`10.2.0.${count}`);
  // 4 of its first minute, and itself.
  end('10.1.0.0');
  await clock.advance(6_000);
  end('10.3.0.0');
  expect(log.lines.at(-1)).toContain('"leftOut":5');
});
