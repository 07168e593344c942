import type { Clock } from '../../ports/clock.ts';
import type { FencedLease } from '../../ports/lease.ts';
import type { Log } from '../../ports/log.ts';
import { isLeaderRecord } from '../ledger/records.ts';
import type { Journal } from '../stored/journal.ts';
import type { WriteGroup, WriteGuard } from '../stored/write-group.ts';
import { createLeadership, type Leadership } from './leadership.ts';

/** A replica's part in who leads, and leave to write what only the leader writes. */
export interface Candidacy {
  readonly id: string;
  readonly leadership: Leadership;
  /** Holds while this replica leads, and nobody has led since. */
  readonly guard: WriteGuard;
  /** The records of the fleet. What is put here while another replica leads is what that one writes as well. */
  readonly fleet: WriteGroup;
  /** Who is told when a turn begins or ends. */
  onChange(listener: () => void): void;
}

export function createCandidacy(
  deps: { readonly lease: FencedLease; readonly journal: Journal; readonly clock: Clock; readonly log: Log },
  id: string,
): Candidacy {
  const listeners: (() => void)[] = [];
  let lastTerm = 0;
  let hasAnotherLed = false;
  /**
   * What this replica remembers of its own judging is out of date if another one has led since. The terms show it also if
   * nobody was heard of; but a store that was lost may count them anew.
   */
  const beginTerm = (): void => {
    const leader = leadership.leader();
    hasAnotherLed ||= leader !== undefined && leader !== id;
    const term = leadership.turn() === undefined ? undefined : deps.lease.fence()?.term;
    if (term === undefined || (term === lastTerm && !hasAnotherLed)) return;
    if (term !== lastTerm + 1 || hasAnotherLed) fleet.forget(isLeaderRecord);
    lastTerm = term;
    hasAnotherLed = false;
  };
  const leadership = createLeadership(
    {
      ...deps,
      changed: () => {
        beginTerm();
        for (const listener of listeners) listener();
      },
    },
    id,
  );
  const guard: WriteGuard = {
    check: () => (leadership.turn() === undefined ? undefined : deps.lease.fence()?.check),
    refused: () => leadership.giveUp('another replica has led since'),
  };
  const fleet = deps.journal.group(guard);
  listeners.push(fleet.resume);
  return { id, leadership, guard, fleet, onChange: (listener) => void listeners.push(listener) };
}
