import { expect, test } from 'vitest';
import {
  mayApply,
  mayRemove,
  type ServerEvent,
  type ServerState,
  serverStateAfter,
} from '../../../src/agent/reconciler/server-state.ts';

const EVENTS = ['connected', 'accepted', 'acceptedLate', 'graceOver', 'disconnected'] as const;

/** The next state for each of the events. */
const ROWS: Readonly<Record<ServerState, readonly ServerState[]>> = {
  recovering: ['connected', 'current', 'away', 'recovering', 'recovering'],
  away: ['connected', 'current', 'away', 'away', 'away'],
  connected: ['connected', 'current', 'connected', 'current', 'away'],
  current: ['current', 'current', 'current', 'current', 'away'],
};

const cells = Object.entries(ROWS).flatMap(([state, row]) =>
  row.map((next, index) => ({ state: state as ServerState, event: EVENTS[index] as ServerEvent, next })),
);

test.each(cells)('$state and $event leads to $next', ({ state, event, next }) => {
  expect(serverStateAfter(state, event)).toBe(next);
});

test.each([
  ['recovering', false, false],
  ['away', true, false],
  ['connected', true, false],
  ['current', true, true],
] as const)('the state %s permits to apply (%s) and to remove (%s)', (state, applies, removes) => {
  expect([mayApply(state), mayRemove(state)]).toEqual([applies, removes]);
});
