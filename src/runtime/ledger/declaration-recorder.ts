import type { Declared } from '../../engine/fleet/declared.ts';
import type { Engine } from '../../engine/graph.ts';
import { type EngineKind, engineKinds } from '../../model/engine-kinds.ts';
import { type JsonValue, jsonEquals } from '../../model/json.ts';
import type { LastKnownGood } from '../../model/ledger.ts';
import type { RecordWriter } from '../stored/write-group.ts';
import { recordKey } from './records.ts';

/**
 * Records each declaration in force as last known good, and deletes the record when the declaration is proven absent. The
 * returned function runs after each commit; it returns true if it has staged a change.
 */
export function createDeclarationRecorder(engine: Engine, journal: RecordWriter): () => boolean {
  const { declarations } = engine;
  const { lastKnownGood } = engine.inputs;
  const changes = engine.graph.watch(declarations);
  const recorded = engine.graph.watch(lastKnownGood);
  const record = (kind: EngineKind, key: string): boolean => {
    const declared = declarations.get(kind, key);
    if (!engineKinds[kind].holdsAsLastKnownGood || declared?.isLastKnownGood === true) return false;
    const before = lastKnownGood.get(kind, key);
    const next = declared && lastKnownGoodOf(declared);
    if (jsonEquals(before as JsonValue | undefined, next as JsonValue | undefined)) return false;
    if (next === undefined) lastKnownGood.delete(kind, key);
    else lastKnownGood.set(kind, key, next);
    journal.put(recordKey.declared(kind, key), next ?? null);
    return true;
  };
  return () => {
    // A record and the proof of its absence can be staged in one commit: then `declarations` does not change.
    const kinds = new Map<string, Set<string>>();
    for (const { partition, key } of [...changes.take(), ...recorded.take()]) {
      kinds.set(partition, (kinds.get(partition) ?? new Set()).add(key));
    }
    // The partitions of both collections are the ids of kinds.
    const all = [...kinds].flatMap(([kind, keys]) => [...keys].map((key) => [kind as EngineKind, key] as const));
    return all.map(([kind, key]) => record(kind, key)).includes(true);
  };
}

function lastKnownGoodOf({ kind, namespace, name, value, origin }: Declared): LastKnownGood {
  return { kind, namespace, name, value, origin } as LastKnownGood;
}
