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
