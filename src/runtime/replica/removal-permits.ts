import { isPassedRemoval } from '../../engine/output/outputs.ts';
import { compareText, type JsonValue, objectOf, parseJsonBytes, textsOf } from '../../model/text/json.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import type { ServerCore } from '../core.ts';
import type { Windows } from '../removals/windows.ts';
import { createKeyedTask } from '../single-flight.ts';
import type { RecordWriter } from '../stored/group.ts';
import { readJson } from '../stored/json-record.ts';
import { type AdmissionCounter, isSamePosition, parsePosition, positionJson } from './admission.ts';
import type { Replica } from './replica.ts';

const PREFIX = 'removal-permits/';

/**
 * The removals, by cluster, that followers may have sent with the permits in the store. Rejects if the store does not
 * answer.
 */
export async function readRemovalPermits(
  store: SnapshotStore,
): Promise<ReadonlyMap<string, Readonly<Record<'removals' | 'withdrawn', readonly string[]>>>> {
  const permits = new Map<string, Readonly<Record<'removals' | 'withdrawn', readonly string[]>>>();
  for await (const { key, value } of store.list(PREFIX)) {
    const { removals, withdrawn } = objectOf(parseJsonBytes(value));
    permits.set(key.slice(PREFIX.length), { removals: textsOf(removals), withdrawn: textsOf(withdrawn) });
  }
  return permits;
}

interface PermitDeps extends Pick<ServerCore, 'engine' | 'loop' | 'store' | 'clock' | 'log'> {
  readonly counter: AdmissionCounter;
  readonly role: Pick<Replica, 'leads'>;
  /** This replica serves the cluster itself. */
  readonly isOwn: (cluster: string) => boolean;
  readonly mayLeave: Windows['mayLeave'];
}

export type RemovalPermits = ReturnType<typeof createRemovalPermits>;

/**
 * The leader judges the removals of all clusters. For the clusters of other replicas it writes which removals passed the
 * guards, with the admission that it judged from; a follower removes nothing else.
 */
export function createRemovalPermits(deps: PermitDeps) {
  const { engine, loop, store, counter } = deps;
  const changes = engine.graph.watch(engine.outputs);
  /** Removals that passed the guards, by cluster. */
  const passed = new Map<string, Set<string>>();
  /** The JSON of the records in the store, by cluster. */
  const written = new Map<string, string>();

  loop.addSink('permits', () => {
    for (const { partition: cluster, key, after } of changes.take()) {
      const keys = passed.get(cluster) ?? new Set<string>();
      if (isPassedRemoval(key, after)) keys.add(key);
      else keys.delete(key);
      if (keys.size === 0) passed.delete(cluster);
      else passed.set(cluster, keys);
    }
  });
  const recordOf = (cluster: string): JsonValue => {
    const removals = deps.isOwn(cluster) ? [] : [...(passed.get(cluster) ?? [])].sort(compareText);
    const isRemoval = (key: string): boolean => engine.outputs.get(cluster, key)?.type === 'remove';
    const named = new Set(removals);
    /**
     * Permitted before, and not known to be removed: the follower may have sent them before it read the withdrawal, and a
     * later leader must count them.
     */
    const withdrawn = deps.mayLeave(cluster, removals.filter(isRemoval)).filter((key) => !named.has(key));
    const earlier = withdrawn.length === 0 ? {} : { withdrawn: [...withdrawn].sort(compareText) };
    if (removals.length > 0) return { admission: positionJson(counter.current()), removals, ...earlier };
    return withdrawn.length === 0 ? null : earlier;
  };
  const task = createKeyedTask(deps, 'reading which removals the leader permits', {
    each: async (cluster) => {
      const { value } = await readJson(store, PREFIX + cluster);
      const { admission, removals } = objectOf(value);
      if (deps.role.leads()) return;
      const counts = isSamePosition(parsePosition(admission), counter.current());
      stageRemovalPermits(deps, cluster, counts ? textsOf(removals) : []);
    },
  });

  return {
    /** After each commit of the leader. `writer`: writes only while this replica leads. */
    write: (writer: RecordWriter): void => {
      for (const cluster of new Set([...passed.keys(), ...written.keys()])) {
        const record = recordOf(cluster);
        const text = JSON.stringify(record);
        if (written.get(cluster) === text) continue;
        if (record === null) written.delete(cluster);
        else written.set(cluster, text);
        writer.put(PREFIX + cluster, record);
      }
    },
    /** A turn begins: the permits of earlier leaders do not count. Rejects if the store does not answer. */
    begin: async (): Promise<void> => {
      written.clear();
      for await (const { key } of store.list(PREFIX)) written.set(key.slice(PREFIX.length), 'of an earlier leader');
    },
    /** Stages, within a transaction, that no removal is permitted before the permits were read again. */
    stageNone: (): void => {
      const { removalPermits } = engine.inputs;
      for (const cluster of [...removalPermits.partitions()]) removalPermits.drop(cluster);
    },
    /** At a follower: the permits of the cluster, or the admission, may have changed. */
    wake: (cluster: string): void => task.wake(cluster),
    stop: task.stop,
  };
}

function stageRemovalPermits({ engine, loop }: PermitDeps, cluster: string, removals: readonly string[]): void {
  const { removalPermits } = engine.inputs;
  const permitted = new Set(removals);
  const ended = [...removalPermits.latestEntries(cluster)].filter(({ key }) => !permitted.has(key));
  const added = removals.filter((key) => removalPermits.latest(cluster, key) !== true);
  if (ended.length === 0 && added.length === 0) return;
  loop.transact(() => {
    for (const { key } of ended) removalPermits.delete(cluster, key);
    for (const key of added) removalPermits.set(cluster, key, true);
  });
}
