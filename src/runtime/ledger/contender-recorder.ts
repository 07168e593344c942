import { provesAbsence } from '../../engine/fleet/sources.ts';
import type { Engine } from '../../engine/graph.ts';
import type { Candidate } from '../../engine/placement/candidates.ts';
import { compareText, type JsonValue, jsonEquals } from '../../model/json.ts';
import type { Contenders } from '../../model/ledger.ts';
import type { ObjectMeta } from '../../model/output.ts';
import type { RecordWriter } from '../stored/write-group.ts';
import { type LedgerRecords, recordKey } from './records.ts';

/** A key to check; `lost`: origins and scopes that no candidate or entry names any more. */
interface Due {
  readonly cluster: string;
  readonly key: string;
  readonly lost: ObjectMeta[];
}

/**
 * Records contenders: other sources that declare a key, and that its ledger entry does not name, because the agent is
 * disconnected, because a delta or an inventory entry was lost, or because the object is only kept. A contender is deleted when
 * a complete read of its source omits the key, or when the entry names it. The returned function runs after each commit; it
 * returns true if it has staged a change.
 */
export function createContenderRecorder(engine: Engine, journal: RecordWriter): () => boolean {
  const { inputs } = engine;
  const takeDue = followDue(engine);

  const note = ({ cluster, key, lost }: Due): boolean => {
    const before = inputs.contenders.get(cluster, key);
    const after = contendersOf(engine, cluster, key, lost);
    if (jsonEquals(before as unknown as JsonValue | undefined, after as unknown as JsonValue | undefined)) return false;
    if (after === undefined) inputs.contenders.delete(cluster, key);
    else inputs.contenders.set(cluster, key, after);
    // The next leader joins the records of the store with its own.
    if (inputs.fleet.get('', '')?.role === 'leader') journal.put(recordKey.contenders(cluster, key), after ?? null);
    return true;
  };
  return () => {
    let staged = false;
    for (const due of takeDue()) staged = note(due) || staged;
    return staged;
  };
}

/** Keys whose contenders may have changed since the last call. */
function followDue(engine: Engine): () => Iterable<Due> {
  const { inputs, graph } = engine;
  const candidates = graph.watch(engine.candidates);
  const entries = graph.watch(inputs.ledger);
  const records = graph.watch(inputs.contenders);
  const proofs = graph.watch(engine.sourceProofs);
  const unseen = graph.watch(engine.safeMode.unseen);

  return () => {
    const due = new Map<string, Due>();
    const add = (cluster: string, key: string, lost: readonly ObjectMeta[]): void => {
      if (isPlain(engine, cluster, key, lost)) return;
      const address = `${cluster}\u0000${key}`;
      const known = due.get(address);
      if (known === undefined) due.set(address, { cluster, key, lost: [...lost] });
      else known.lost.push(...lost);
    };
    for (const { partition, key, before } of entries.take()) {
      // A removed object has no contenders any more; an object that was lost in flight still has them.
      const isGone = inputs.ledger.get(partition, key) === undefined && before?.phase !== 'inFlight';
      add(partition, key, before === undefined || isGone ? NOTHING : [before]);
    }
    for (const { partition, key, before = NO_CANDIDATES } of candidates.take()) {
      add(partition, key, before.length === 0 ? NOTHING : before.map(metaOfCandidate));
    }
    for (const { partition, key } of records.take()) add(partition, key, NOTHING);
    const mayBeProven = proofs.take().length + unseen.take().length > 0;
    for (const cluster of mayBeProven ? inputs.contenders.partitions() : []) {
      for (const { key } of inputs.contenders.entries(cluster)) add(cluster, key, NOTHING);
    }
    return due.values();
  };
}

const NOTHING: readonly ObjectMeta[] = [];
const NO_CANDIDATES: readonly { readonly value: Candidate }[] = [];

function metaOfCandidate({ value: { origin, scope } }: { readonly value: Candidate }): ObjectMeta {
  return { origins: [origin], scope };
}

/**
 * Joins the contenders in the store with those of this replica: an earlier leader may have seen more, and so may this replica.
 * Records that the store lacks are written to it.
 */
export function joinContenders(engine: Engine, journal: RecordWriter, stored: LedgerRecords['contenders']): void {
  const { contenders } = engine.inputs;
  for (const cluster of [...contenders.partitions()]) {
    for (const { key, value } of contenders.entries(cluster)) {
      if (stored.get(cluster)?.has(key) !== true) journal.put(recordKey.contenders(cluster, key), value);
    }
  }
  for (const [cluster, records] of stored) {
    for (const [key, record] of records) {
      journal.noted(recordKey.contenders(cluster, key), record);
      const known = contenders.get(cluster, key);
      const both = known === undefined ? record : joined(known, record);
      if (!jsonEquals(both as unknown as JsonValue, record as unknown as JsonValue)) {
        journal.put(recordKey.contenders(cluster, key), both);
      }
      contenders.set(cluster, key, both);
    }
  }
}

function joined(a: Contenders, b: Contenders): Contenders {
  return { origins: bySource([...a.origins, ...b.origins]), scope: sorted([...a.scope, ...b.scope]) };
}

/** Undefined: the key has no contenders. */
function contendersOf(
  engine: Engine,
  cluster: string,
  key: string,
  lost: readonly ObjectMeta[],
): Contenders | undefined {
  const { inputs } = engine;
  const candidates = engine.candidates.get(cluster, key) ?? NO_CANDIDATES;
  const entry = inputs.ledger.get(cluster, key);
  const known = inputs.contenders.get(cluster, key);
  const remembered = known === undefined ? lost : [known, ...lost];
  const origins = bySource([
    ...candidates.map(({ value }) => value.origin),
    ...remembered.flatMap((meta) => meta.origins).filter(({ source }) => !isReadCompletely(engine, source)),
  ]);
  const scope = sorted([
    ...candidates.flatMap(({ value }) => value.scope),
    ...remembered.flatMap((meta) => meta.scope).filter((of) => engine.safeMode.unseen.get('', of) !== undefined),
  ]);
  // The only source of a new object will be named in its entry.
  if (entry === undefined) return origins.length > 1 || candidates.length === 0 ? recordOf(origins, scope) : undefined;
  const named = new Set<string>(entry.origins.map(({ source }) => source));
  return recordOf(
    origins.filter(({ source }) => !named.has(source)),
    scope.filter((of) => !entry.scope.includes(of)),
  );
}

function recordOf(origins: Contenders['origins'], scope: Contenders['scope']): Contenders | undefined {
  return origins.length + scope.length === 0 ? undefined : { origins, scope };
}

/** True in the common case without contenders: one source, and no scope. */
function isPlain(engine: Engine, cluster: string, key: string, lost: readonly ObjectMeta[]): boolean {
  const { inputs } = engine;
  if (inputs.contenders.get(cluster, key) !== undefined) return false;
  const candidates = engine.candidates.get(cluster, key) ?? NO_CANDIDATES;
  const entry = inputs.ledger.get(cluster, key);
  const source = entry?.origins[0]?.source ?? candidates[0]?.value.origin.source;
  const isOfSource = ({ origins, scope }: ObjectMeta): boolean =>
    scope.length === 0 && origins.every((origin) => origin.source === source);
  return (
    (entry === undefined || isOfSource(entry)) &&
    lost.every(isOfSource) &&
    candidates.every(({ value }) => value.scope.length === 0 && value.origin.source === source)
  );
}

/** One origin per source, with its first path, as in a ledger entry. */
function bySource(origins: ObjectMeta['origins']): ObjectMeta['origins'] {
  const sources = new Map<string, ObjectMeta['origins'][number]>();
  for (const origin of origins) {
    const known = sources.get(origin.source);
    if (known === undefined || compareText(origin.path, known.path) < 0) sources.set(origin.source, origin);
  }
  return [...sources.values()].sort((a, b) => compareText(a.source, b.source));
}

function sorted<Name extends string>(names: readonly Name[]): readonly Name[] {
  return [...new Set(names)].sort(compareText);
}

/** True if the source is proven read completely. A source that is not configured counts as read when every configured one was. */
function isReadCompletely({ sourceProofs }: Engine, source: string): boolean {
  const proof = sourceProofs.get('', source);
  if (proof !== undefined) return provesAbsence(proof);
  return ![...sourceProofs.entries('')].some(({ value }) => value === 'unread');
}
