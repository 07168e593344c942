import { comparePositions } from '../../model/output.ts';
import type { ServerCore } from '../core.ts';
import type { AdmissionCounter, AdmissionRecord } from './admission.ts';
import type { Candidacy } from './candidacy.ts';
import type { Publisher } from './publisher.ts';
import { createSingleFlight } from './single-flight.ts';
import type { FollowedTrees, StagedSources } from './sources.ts';

interface AdmittingDeps extends Pick<ServerCore, 'clock' | 'log'> {
  readonly staged: StagedSources;
  readonly followed: FollowedTrees;
  readonly publisher: Publisher;
  readonly counter: AdmissionCounter;
  readonly candidacy: Pick<Candidacy, 'turn' | 'guard'>;
}

/** What else belongs to a turn as leader, and to another admission. */
export interface TurnHooks {
  /** Names of the sources of this process. */
  readonly sources: readonly string[];
  /** A turn begins. Takes some seconds at most, and never rejects. */
  readonly prepare: () => Promise<void>;
  /** Tells the counter what other replicas have admitted and what their agents state. */
  readonly noteOthers: () => void;
  /**
   * Reads the declarations as last known good. The result stages them together with another admission, and that no removal
   * is permitted in it yet. Rejects if the store does not answer.
   */
  readonly readDeclarations: () => Promise<() => void>;
  /**
   * Reads what was held and approved, and then becomes the judge of removals, if `hasTurn`. Rejects if the store does not
   * answer.
   */
  readonly beginJudging: (hasTurn: () => boolean) => Promise<void>;
  /** This replica judges now, and `judges` returns true. */
  readonly judgingBegan: () => void;
  readonly endJudging: () => void;
  /** Another admission is staged. */
  readonly entered: () => void;
}

export type Admitting = ReturnType<typeof createAdmitting>;

/** Follows the admissions of the leader; admits while this replica leads itself. */
export function createAdmitting(deps: AdmittingDeps, hooks: TurnHooks, options: { readonly needsStore: boolean }) {
  const { staged, followed, publisher, counter, candidacy } = deps;
  const { turn } = candidacy;
  const judging = createJudging(hooks);
  /** The turn that this replica has begun. */
  let begun: number | undefined;

  /** The turn is over by the clock, and what was judged in it is still staged. */
  const isOver = (): boolean => judging.isEnding() || (begun !== undefined && turn() !== begun);
  const end = (): void => {
    if (begun === undefined) return;
    begun = undefined;
    publisher.end();
    judging.end();
  };
  const begin = async (now: number): Promise<boolean> => {
    const prepared = hooks.prepare();
    try {
      await follow();
      noteStored(deps, await followed.peek());
      await followed.reread(hooks.sources);
    } catch (error) {
      if (options.needsStore) throw error;
    }
    await prepared;
    if (turn() !== now) return false;
    // The store may be an older copy, or earlier leaders may have admitted without it.
    counter.planEpoch(deps.clock.now());
    publisher.begin(candidacy.guard);
    begun = now;
    return true;
  };
  /** Stages the admission in the store. True: files of it are missing at the moment. Rejects if the store does not answer. */
  const follow = async (): Promise<boolean> => {
    const record = await followed.peek();
    const current = staged.record();
    if (record === undefined) return false;
    if (current !== undefined && comparePositions(record.position, current.position) <= 0) return false;
    const changes = await followed.read(record);
    if (changes === undefined) return true;
    const stageDeclarations = await hooks.readDeclarations();
    // Another call was quicker: these changes do not start from what is staged now.
    if (staged.record() !== current) return follow();
    staged.enter(record, changes, stageDeclarations);
    hooks.entered();
    return false;
  };
  const task = createSingleFlight(deps, 'admitting what the sources have read', async () => {
    const now = turn();
    if (now !== begun) end();
    if (now === undefined) return follow();
    if (begun === undefined && !(await begin(now))) return true;
    // Also during the turn.
    hooks.noteOthers();
    const before = counter.current();
    const again = await publisher.run();
    if (comparePositions(before, counter.current()) !== 0) hooks.entered();
    if (begun === now && !judging.is()) await judging.begin(() => begun === now && turn() === now);
    return again;
  });

  return {
    follow,
    /** The store, a source or the leader may have changed. */
    wake: (): void => {
      // The turn ends at once: the task may be waiting for a store that does not answer.
      if (isOver()) end();
      else publisher.reconsider();
      task.wake();
    },
    /** This replica leads, and knows what was held and approved. */
    judges: (): boolean => judging.is() && turn() === begun,
    isOver,
    stop: async (): Promise<void> => {
      await task.stop();
      end();
    },
  };
}

/** The part of a turn in which this replica judges removals. */
function createJudging({ beginJudging, judgingBegan, endJudging }: TurnHooks) {
  let judges = false;
  let ending = false;
  const end = (): void => {
    // Becoming a follower commits what is staged: that was judged in the turn that is over.
    ending = true;
    try {
      endJudging();
    } finally {
      ending = false;
    }
  };
  return {
    is: (): boolean => judges,
    isEnding: (): boolean => ending,
    begin: async (hasTurn: () => boolean): Promise<void> => {
      await beginJudging(hasTurn);
      if (!hasTurn()) return end();
      judges = true;
      judgingBegan();
    },
    end: (): void => {
      if (!judges) return;
      judges = false;
      end();
    },
  };
}

/** The admissions of the turn come after the one in the store, and after one that the store has lost. */
function noteStored({ counter, staged }: AdmittingDeps, stored: AdmissionRecord | undefined): void {
  const own = staged.record()?.position;
  if (stored !== undefined) counter.seen(stored.position);
  if (own === undefined) return;
  // The store was lost, and other replicas may have admitted more than this one knows.
  if (stored === undefined) counter.seen({ epoch: counter.current().epoch + 1, sequence: 0 });
  // It was admitted without the store, or the turn ended before it was written: the other replicas wait for it.
  else if (comparePositions(stored.position, own) < 0) counter.seen(counter.next());
}
