import { provesAbsence } from '../../engine/fleet/sources.ts';
import type { Engine } from '../../engine/graph.ts';
import type { Candidate } from '../../engine/placement/candidates.ts';
import { compareText, type JsonValue, jsonEquals } from '../../model/json.ts';
import type { Contenders } from '../../model/ledger.ts';
import type { ObjectMeta } from '../../model/output.ts';
import type { RecordWriter } from '../stored/write-group.ts';
import { type LedgerRecords, recordKey } from './records.ts';

/** A key that is looked at, and what is not said of it any more. */
interface Due {
  readonly cluster: string;
  readonly key: string;
  readonly lost: ObjectMeta[];
}

/**
 * Remembers who else wants a key, as long as its ledger entry does not name them: because the cluster's agent is away,
 * because what named them was lost on its way or in the cluster, or because the object is merely kept. Whoever has been
 * read without it, and whoever the entry names, is forgotten. Returns true if it has staged something.
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
    // Who judges next joins the store's word with its own.
    if (inputs.fleet.get('', '')?.role === 'leader') journal.put(recordKey.contenders(cluster, key), after ?? null);
    return true;
  };
  return () => {
    let staged = false;
    for (const due of takeDue()) staged = note(due) || staged;
    return staged;
  };
}

/** Keys of which something may have to be noted or forgotten since the last call. */
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
      // What has left the cluster needs nobody's leave any more; what was lost on its way there is wanted as before.
      const isGone = inputs.ledger.get(partition, key) === undefined && before?.phase !== 'inFlight';
      add(partition, key, before === undefined || isGone ? NOTHING : [before]);
    }
    for (const { partition, key, before = NOBODY } of candidates.take()) {
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
const NOBODY: readonly { readonly value: Candidate }[] = [];

function metaOfCandidate({ value: { origin, scope } }: { readonly value: Candidate }): ObjectMeta {
  return { origins: [origin], scope };
}

/**
 * Stages what the store remembers beside what is remembered here: another replica that has led may have seen more, and so
 * may this one. What the store has not is written to it.
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

/** Undefined: there is nothing to note. */
function contendersOf(
  engine: Engine,
  cluster: string,
  key: string,
  lost: readonly ObjectMeta[],
): Contenders | undefined {
  const { inputs } = engine;
  const wanting = engine.candidates.get(cluster, key) ?? NOBODY;
  const entry = inputs.ledger.get(cluster, key);
  const known = inputs.contenders.get(cluster, key);
  const remembered = known === undefined ? lost : [known, ...lost];
  const origins = bySource([
    ...wanting.map(({ value }) => value.origin),
    ...remembered.flatMap((meta) => meta.origins).filter(({ source }) => !isReadWhole(engine, source)),
  ]);
  const scope = sorted([
    ...wanting.flatMap(({ value }) => value.scope),
    ...remembered.flatMap((meta) => meta.scope).filter((of) => engine.safeMode.unseen.get('', of) !== undefined),
  ]);
  // Whoever is the only one to want what is not there yet will be named with it.
  if (entry === undefined) return origins.length > 1 || wanting.length === 0 ? recordOf(origins, scope) : undefined;
  const named = new Set<string>(entry.origins.map(({ source }) => source));
  return recordOf(
    origins.filter(({ source }) => !named.has(source)),
    scope.filter((of) => !entry.scope.includes(of)),
  );
}

function recordOf(origins: Contenders['origins'], scope: Contenders['scope']): Contenders | undefined {
  return origins.length + scope.length === 0 ? undefined : { origins, scope };
}

/** The common case, in which there is nothing to note: all is of one source, and computed from no cluster. */
function isPlain(engine: Engine, cluster: string, key: string, lost: readonly ObjectMeta[]): boolean {
  const { inputs } = engine;
  if (inputs.contenders.get(cluster, key) !== undefined) return false;
  const wanting = engine.candidates.get(cluster, key) ?? NOBODY;
  const entry = inputs.ledger.get(cluster, key);
  const source = entry?.origins[0]?.source ?? wanting[0]?.value.origin.source;
  const isOfSource = ({ origins, scope }: ObjectMeta): boolean =>
    scope.length === 0 && origins.every((origin) => origin.source === source);
  return (
    (entry === undefined || isOfSource(entry)) &&
    lost.every(isOfSource) &&
    wanting.every(({ value }) => value.scope.length === 0 && value.origin.source === source)
  );
}

/** By its first path each, as in a ledger entry. */
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

/** As the engine has it: one that is not configured counts as read, but not before every configured one was. */
function isReadWhole({ sourceProofs }: Engine, source: string): boolean {
  const proof = sourceProofs.get('', source);
  if (proof !== undefined) return provesAbsence(proof);
  return ![...sourceProofs.entries('')].some(({ value }) => value === 'unread');
}
