import type { Derived, Input } from '../../engine/collections/types.ts';
import type { Declared } from '../../engine/fleet/declared.ts';
import type { Engine } from '../../engine/graph.ts';
import { type JsonValue, jsonEquals } from '../../model/json.ts';
import type { LastRead } from '../../model/ledger.ts';
import type { RecordWriter } from '../stored/write-group.ts';
import { recordKey } from './records.ts';

/**
 * Remembers declarations as they were last read, so that they hold while they cannot be; forgets those that are proven
 * gone. Returns true if it has staged something.
 */
export function createDeclarationKeeper(engine: Engine, journal: RecordWriter): () => boolean {
  const { inputs } = engine;
  const keepers = [
    keep(engine, engine.clusters, inputs.lastReadClusters, journal, recordKey.cluster),
    keep(engine, engine.placementDeclarations, inputs.lastReadPlacements, journal, recordKey.placement),
    keep(engine, engine.mirrorDeclarations, inputs.lastReadMirrors, journal, recordKey.mirror),
    keep(engine, engine.policy, inputs.lastReadPolicy, journal, () => recordKey.policy),
  ];
  return () => keepers.map((keeper) => keeper()).some((staged) => staged);
}

function keep<Value>(
  engine: Engine,
  declared: Derived<Declared<Value>>,
  lastRead: Input<LastRead<Value>>,
  journal: RecordWriter,
  recordOf: (name: string) => string,
): () => boolean {
  const changes = engine.graph.watch(declared);
  const records = engine.graph.watch(lastRead);
  const note = (key: string, after: Declared<Value> | undefined): boolean => {
    const before = lastRead.get('', key);
    const next = after === undefined ? undefined : { value: after.value, origin: after.origin };
    if (jsonEquals(before as JsonValue | undefined, next as JsonValue | undefined)) return false;
    if (next === undefined) lastRead.delete('', key);
    else lastRead.set('', key, next);
    journal.put(recordOf(key), next ?? null);
    return true;
  };
  return () => {
    // What is remembered may come together with the proof that it is gone: then nothing was ever declared.
    const keys = new Set([...changes.take(), ...records.take()].map(({ key }) => key));
    const news = [...keys].map((key) => [key, declared.get('', key)] as const);
    return news
      .filter(([, now]) => now?.asLastRead !== true)
      .map(([key, now]) => note(key, now))
      .includes(true);
  };
}
