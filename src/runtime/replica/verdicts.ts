import type { Engine } from '../../engine/graph.ts';
import { isPassedRemoval } from '../../engine/output/outputs.ts';
import { compareText, type JsonValue, objectOf, parseJsonBytes, textsOf } from '../../model/json.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import type { Loop } from '../loop.ts';
import type { Windows } from '../removals/windows.ts';
import type { RecordWriter } from '../stored/group.ts';
import type { AdmissionCounter } from './admission-counter.ts';
import { isSameAdmission, positionJson } from './admission-record.ts';
import { readAdmission, readJson } from './records.ts';
import { createSingleFlight } from './single-flight.ts';

/**
 * Removals are judged once, by the leader, for all clusters: what its guards let pass in a cluster that another replica
 * serves is written down for that replica, with the admission that it was judged from.
 */
export interface Verdicts {
  /** After each commit of the leader: `writer` writes on condition that it leads. */
  write(writer: RecordWriter): void;
  /** A turn begins: what earlier leaders have written is not the word of this one. Rejects if the store cannot be asked. */
  begin(): Promise<void>;
  /** Within a transaction: nothing may be removed at the word of a leader, until it has been read anew. */
  stageNone(): void;
  /** At a replica that does not judge: the store has changed there, or what it is compared with has. */
  wake(cluster: string): void;
  stop(): Promise<void>;
}

const PREFIX = 'verdicts/';

export const judgedCluster = (key: string): string | undefined =>
  key.startsWith(PREFIX) ? key.slice(PREFIX.length) : undefined;

/**
 * Removals that other replicas may have sent at the word of a leader, by cluster, as they are in the store. Rejects if the
 * store cannot be asked.
 */
export async function readVerdicts(store: SnapshotStore): Promise<ReadonlyMap<string, readonly string[]>> {
  const verdicts = new Map<string, readonly string[]>();
  for await (const { key, value } of store.list(PREFIX)) {
    const { removals, withdrawn } = objectOf(parseJsonBytes(value));
    verdicts.set(key.slice(PREFIX.length), [...textsOf(removals), ...textsOf(withdrawn)]);
  }
  return verdicts;
}

export function createVerdicts(deps: {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly store: SnapshotStore;
  readonly counter: AdmissionCounter;
  readonly judges: () => boolean;
  /** This replica serves the cluster itself. */
  readonly isOwn: (cluster: string) => boolean;
  readonly mayLeave: Windows['mayLeave'];
  readonly clock: Clock;
  readonly log: Log;
}): Verdicts {
  const { engine, loop, store, counter } = deps;
  const changes = engine.graph.watch(engine.outputs);
  const passed = new Map<string, Set<string>>();
  const written = new Map<string, string>();
  const due = new Set<string>();

  const note = (): void => {
    for (const { partition: cluster, key, after } of changes.take()) {
      const keys = passed.get(cluster) ?? new Set<string>();
      if (isPassedRemoval(after)) keys.add(key);
      else keys.delete(key);
      if (keys.size === 0) passed.delete(cluster);
      else passed.set(cluster, keys);
    }
  };
  loop.addSink(note);

  const take = async (cluster: string): Promise<void> => {
    const { value } = await readJson(store, PREFIX + cluster);
    const { admission, removals } = objectOf(value);
    if (deps.judges()) return;
    const holds = isSameAdmission(readAdmission(admission), counter.current());
    stageRemovalPermits(engine, loop, cluster, holds ? textsOf(removals) : []);
  };
  const task = createSingleFlight(deps, 'reading which removals the leader lets pass', async () => {
    for (const cluster of due) {
      due.delete(cluster);
      try {
        await take(cluster);
      } catch (error) {
        due.add(cluster);
        throw error;
      }
    }
    return false;
  });

  return {
    write: (writer) => {
      for (const cluster of new Set([...passed.keys(), ...written.keys()])) {
        const removals = deps.isOwn(cluster) ? [] : [...(passed.get(cluster) ?? [])].sort(compareText);
        const isRemoval = (key: string): boolean => engine.outputs.get(cluster, key)?.type === 'remove';
        const named = new Set(removals);
        const withdrawn = deps.mayLeave(cluster, removals.filter(isRemoval)).filter((key) => !named.has(key));
        const verdict = verdictOf(positionJson(counter.current()), removals, withdrawn);
        const text = JSON.stringify(verdict);
        if (written.get(cluster) === text) continue;
        if (verdict === null) written.delete(cluster);
        else written.set(cluster, text);
        writer.put(PREFIX + cluster, verdict);
      }
    },
    begin: async () => {
      written.clear();
      for await (const { key } of store.list(PREFIX)) written.set(key.slice(PREFIX.length), 'of an earlier leader');
    },
    stageNone: () => {
      const { removalPermits } = engine.inputs;
      for (const cluster of [...removalPermits.partitions()]) removalPermits.drop(cluster);
    },
    wake: (cluster) => {
      due.add(cluster);
      task.wake();
    },
    stop: task.stop,
  };
}

/**
 * `withdrawn`: what was let pass and is not any more, as long as it is not known to be gone. The replica that serves the
 * cluster may have sent it before it read that, and whoever leads next must count it then.
 */
function verdictOf(admission: JsonValue, removals: readonly string[], withdrawn: readonly string[]): JsonValue {
  const earlier = withdrawn.length === 0 ? {} : { withdrawn: [...withdrawn].sort(compareText) };
  if (removals.length > 0) return { admission, removals: [...removals], ...earlier };
  return withdrawn.length === 0 ? null : earlier;
}

function stageRemovalPermits(engine: Engine, loop: Loop, cluster: string, removals: readonly string[]): void {
  const { removalPermits } = engine.inputs;
  const passed = new Set(removals);
  loop.settle();
  const gone = [...removalPermits.entries(cluster)].filter(({ key }) => !passed.has(key));
  const fresh = removals.filter((key) => removalPermits.get(cluster, key) !== true);
  if (gone.length === 0 && fresh.length === 0) return;
  loop.transact(() => {
    for (const { key } of gone) removalPermits.delete(cluster, key);
    for (const key of fresh) removalPermits.set(cluster, key, true);
  });
}
