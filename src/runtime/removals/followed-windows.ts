import type { WindowRecord } from '../ledger/records.ts';

type Step = WindowRecord[number];
type Records = ReadonlyMap<string, WindowRecord>;

/**
 * The windows of the guards as a follower has read them. The store and the leader, which know them too, may be lost together.
 */
export function createFollowedWindows() {
  const read = new Map<string, WindowRecord>();
  /** What the store has lost since this process has led last. */
  let lost: Records = new Map();
  return {
    entries: (): Iterable<{ readonly key: string; readonly value: unknown }> =>
      [...read].map(([key, value]) => ({ key, value })),
    /** Undefined: the store has no record of the cluster. */
    replicate: (cluster: string, record: WindowRecord | undefined): void => {
      if (record === undefined) read.delete(cluster);
      else read.set(cluster, record);
    },
    /** The store may lack what it had of these windows. `isRecent`: the window of the guards covers the step. */
    storeLost: (own: Records, isRecent: (step: Step) => boolean): void => {
      const known = joinWindows(joinWindows(read, own), lost);
      lost = new Map([...known].map(([cluster, steps]) => [cluster, steps.filter(isRecent)]));
    },
    /** This process judges from now on: returns the windows in the store together with what the store has lost of them. */
    take: (stored: Records): Records => {
      const all = joinWindows(stored, lost);
      lost = new Map();
      read.clear();
      return all;
    },
  };
}

/** The steps of both. */
function joinWindows(a: Records, b: Records): Records {
  return new Map(
    [...a.keys(), ...b.keys()].map((cluster) => [cluster, join(a.get(cluster) ?? [], b.get(cluster) ?? [])]),
  );
}

/**
 * Of one step the later state counts: keys leave `open` and never enter it. A key counts in one step only, the last one that
 * names it.
 */
function join(a: WindowRecord, b: WindowRecord): WindowRecord {
  const others = Map.groupBy(b, idOf);
  const paired = a.map((step) => {
    const other = others.get(idOf(step))?.shift() ?? step;
    return other.open.length < step.open.length ? other : step;
  });
  const steps = [...paired, ...[...others.values()].flat()].sort((one, two) => one.at - two.at);
  const named = new Set<string>();
  const latestFirst = steps.reverse().map((step) => {
    const open = step.open.filter((key) => !named.has(key));
    for (const key of open) named.add(key);
    return { ...step, open };
  });
  return latestFirst.reverse();
}

/** Equal for two states of one step. */
function idOf({ at, unproven }: Step): string {
  return `${at} ${unproven === true}`;
}
