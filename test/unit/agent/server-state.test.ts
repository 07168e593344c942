import { expect, test } from 'vitest';
import {
  mayApply,
  mayRemove,
  type ServerEvent,
  type ServerState,
  serverStateAfter,
} from '../../../src/agent/reconciler/server-state.ts';

const EVENTS = ['connected', 'accepted', 'acceptedLate', 'graceOver', 'disconnected'] as const;

/** The next state for each of the events; no next state: the event is impossible. */
const ROWS: Readonly<Record<ServerState, readonly (ServerState | undefined)[]>> = {
  recovering: ['connected', 'current', 'away', undefined, 'recovering'],
  away: ['connected', 'current', 'away', undefined, 'away'],
  connected: [undefined, 'current', 'connected', 'current', 'away'],
  current: ['current', 'current', 'current', 'current', 'away'],
};

const cells = Object.entries(ROWS).flatMap(([state, row]) =>
  row.map((next, index) => ({ state: state as ServerState, event: EVENTS[index] as ServerEvent, next })),
);

test.each(cells.filter(({ next }) => next !== undefined))(
  '$state and $event leads to $next',
  ({ state, event, next }) => {
    expect(serverStateAfter(state, event)).toBe(next);
  },
);

test.each(cells.filter(({ next }) => next === undefined))(
  '$event is impossible in the state $state',
  ({ state, event }) => {
    expect(() => serverStateAfter(state, event)).toThrow(`the event ${event} is impossible in the state ${state}`);
  },
);

test.each([
  ['recovering', false, false],
  ['away', true, false],
  ['connected', true, false],
  ['current', true, true],
] as const)('the state %s permits to apply (%s) and to remove (%s)', (state, applies, removes) => {
  expect([mayApply(state), mayRemove(state)]).toEqual([applies, removes]);
});
