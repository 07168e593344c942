import { comparePositions } from '../../model/output.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { WriteGroup, WriteGuard } from '../stored/group.ts';
import type { AdmissionCounter } from './admission-counter.ts';
import type { AdmissionRecord } from './admission-record.ts';
import type { FollowedTrees } from './followed-trees.ts';
import type { Publisher } from './publisher.ts';
import { createSingleFlight, type SingleFlight } from './single-flight.ts';
import type { StagedSources } from './staged-sources.ts';

/** What a turn as leader is made of, beside admitting. */
export interface TurnDeps {
  readonly staged: StagedSources;
  readonly followed: FollowedTrees;
  readonly publisher: Publisher;
  readonly counter: AdmissionCounter;
  /** The turn that this replica has; undefined: it has none. */
  readonly turn: () => number | undefined;
  readonly guard: WriteGuard;
  /** Names of the sources of this process. */
  readonly sources: readonly string[];
  /** Notes what other replicas have admitted, and what agents claim. */
  readonly hearOthers: () => void;
  /**
   * Reads the declarations as last known good; the result stages them with another admission, and that nothing may be
   * removed in it yet: leave was given for the one before. Rejects if the store cannot be asked.
   */
  readonly readDeclarations: () => Promise<() => void>;
  /**
   * Becomes the one that judges removals, if it has its turn still when what was held and approved is read. Rejects if that
   * cannot be known.
   */
  readonly beginJudging: (hasTurn: () => boolean) => Promise<void>;
  /** It judges now, and `judges` says so. */
  readonly judgingBegan: () => void;
  readonly endJudging: () => void;
  /** Another admission is staged. */
  readonly entered: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Follows what the leader admits, and admits while it leads itself. */
export interface Admitting {
  /** Takes over what is admitted now. Rejects if the store cannot be asked. */
  follow(): Promise<boolean>;
  /** Something may have changed: in the store, in a source, in who leads. */
  wake(): void;
  /** What the leader writes beside its admissions; undefined: it does not lead. */
  group(): WriteGroup | undefined;
  /** It judges removals: it leads, and knows what was held and approved. */
  judges(): boolean;
  /** Its turn is over by the clock, and what it has judged in it is still staged. */
  isOver(): boolean;
  stop(): Promise<void>;
}

export function createAdmitting(deps: TurnDeps, options: { readonly needsStore: boolean }): Admitting {
  const { staged, followed, publisher, counter, turn } = deps;
  const judging = createJudging(deps);
  let begun: number | undefined;

  const isOver = (): boolean => judging.isEnding() || (begun !== undefined && turn() !== begun);
  const end = (): void => {
    if (begun === undefined) return;
    begun = undefined;
    publisher.end();
    judging.end();
  };
  const begin = async (now: number): Promise<boolean> => {
    try {
      await follow();
      hearStore(deps, await followed.peek());
      await followed.reread(deps.sources);
    } catch (error) {
      if (options.needsStore) throw error;
    }
    if (turn() !== now) return false;
    // An older copy of the store may have been brought back, or earlier leaders have admitted without the store.
    counter.planEpoch(deps.clock.now());
    publisher.begin(deps.guard);
    begun = now;
    return true;
  };
  /** True: what was admitted is not whole in the store just now. */
  const follow = async (): Promise<boolean> => {
    const record = await followed.peek();
    const current = staged.record();
    if (record === undefined) return false;
    if (current !== undefined && comparePositions(record.position, current.position) <= 0) return false;
    const whole = await followed.read(record);
    if (whole === undefined) return true;
    const stageDeclarations = await deps.readDeclarations();
    // Another look was quicker: what leads on from what was staged before it does not lead on from what is staged now.
    if (staged.record() !== current) return follow();
    staged.enter(record, whole.changes, stageDeclarations);
    deps.entered();
    return false;
  };
  const task: SingleFlight = createSingleFlight(deps, 'admitting what the sources say', async () => {
    const now = turn();
    if (now !== begun) end();
    if (now === undefined) return follow();
    if (begun === undefined && !(await begin(now))) return true;
    // During the turn as well.
    deps.hearOthers();
    const before = counter.current();
    const again = await publisher.run();
    if (comparePositions(before, counter.current()) !== 0) deps.entered();
    if (begun === now && !judging.is()) await judging.begin(() => begun === now && turn() === now);
    return again;
  });

  return {
    follow,
    wake: () => {
      // Whoever leads no more does not wait for a store that may not answer.
      if (isOver()) end();
      else publisher.reconsider();
      task.wake();
    },
    group: () => publisher.group(),
    judges: () => judging.is() && turn() === begun,
    isOver,
    stop: async () => {
      await task.stop();
      end();
    },
  };
}

/** The part of a turn in which this replica judges removals. */
function createJudging({ beginJudging, judgingBegan, endJudging }: TurnDeps) {
  let judges = false;
  let ending = false;
  const end = (): void => {
    // What is staged is committed on the way to being a follower: it was judged in the turn that is over.
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

/** A turn begins: what it admits comes after what is in the store, and after what is not there any more. */
function hearStore({ counter, staged }: TurnDeps, there: AdmissionRecord | undefined): void {
  const own = staged.record()?.position;
  if (there !== undefined) counter.seen(there.position);
  if (own === undefined) return;
  // The store was lost, and this replica has not: what it goes on from comes after whatever others have seen.
  if (there === undefined) counter.seen({ epoch: counter.current().epoch + 1, sequence: 0 });
  // It was admitted without the store, or an earlier turn was over before it got there: the others wait for it.
  else if (comparePositions(there.position, own) < 0) counter.seen(counter.next());
}
