/**
 * What the reconciler knows of its server.
 *
 * - `recovering`: contents of the inventory are lost or wrong, and no server has replaced them yet.
 * - `away`: the contents are right, and there is no link to the server.
 * - `connected`: the server has time to cancel the removals that were pending before this link.
 * - `current`: the server still wants the removals that are pending.
 */
export type ServerState = 'recovering' | 'away' | 'connected' | 'current';

/**
 * - `connected`: a link is established. The contents that the server has not replaced are right.
 * - `accepted`: a delta is durable that came over the present link, maybe before `connected`.
 * - `acceptedLate`: a delta is durable, and the link over which it came has ended since.
 * - `graceOver`: the time in which the server may cancel pending removals is over.
 * - `disconnected`: the link has ended, or the next one is about to be opened.
 */
export type ServerEvent = 'connected' | 'accepted' | 'acceptedLate' | 'graceOver' | 'disconnected';

/**
 * The next state by state and event. The agent sends neither `connected` twice for one link, nor `graceOver` without a link: both
 * would change nothing.
 */
const TABLE: Readonly<Record<ServerState, Readonly<Record<ServerEvent, ServerState>>>> = {
  recovering: {
    connected: 'connected',
    accepted: 'current',
    acceptedLate: 'away',
    graceOver: 'recovering',
    disconnected: 'recovering',
  },
  away: {
    connected: 'connected',
    accepted: 'current',
    acceptedLate: 'away',
    graceOver: 'away',
    disconnected: 'away',
  },
  connected: {
    connected: 'connected',
    accepted: 'current',
    acceptedLate: 'connected',
    graceOver: 'current',
    disconnected: 'away',
  },
  current: {
    connected: 'current',
    accepted: 'current',
    acceptedLate: 'current',
    graceOver: 'current',
    disconnected: 'away',
  },
};

/** The state after an event. */
export function serverStateAfter(state: ServerState, event: ServerEvent): ServerState {
  return TABLE[state][event];
}

/** Whether objects are compared with live states and written. */
export function mayApply(state: ServerState): boolean {
  return state !== 'recovering';
}

/** Whether objects are removed. */
export function mayRemove(state: ServerState): boolean {
  return state === 'current';
}
