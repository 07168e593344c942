import type { EntryAddress } from '../../engine/collections/types.ts';
import { provesAbsence } from '../../engine/fleet/sources.ts';
import type { Engine } from '../../engine/graph.ts';
import type { Candidate } from '../../engine/placement/candidates.ts';
import { compareText, type JsonValue, jsonEquals } from '../../model/json.ts';
import type { LedgerEntry, Rivals } from '../../model/ledger.ts';
import type { ObjectMeta } from '../../model/output.ts';
import type { RecordWriter } from '../stored/write-group.ts';
import { recordKey } from './records.ts';

/**
 * Remembers who else wants a key, as long as its ledger entry does not name them: because the cluster's agent is away,
 * because what named them was lost on its way or in the cluster, or because the object is merely kept. Whoever has been
 * read without it, and whoever the entry names, is forgotten. Returns true if it has staged something.
 */
export function createRivalKeeper(engine: Engine, journal: RecordWriter): () => boolean {
  const { inputs, graph } = engine;
  const candidates = graph.watch(engine.candidates);
  const entries = graph.watch(inputs.ledger);
  const records = graph.watch(inputs.rivals);
  const proofs = graph.watch(engine.sourceProofs);
  const unseen = graph.watch(engine.safeMode.unseen);

  const note = (cluster: string, key: string, lost?: LedgerEntry): boolean => {
    const before = inputs.rivals.get(cluster, key);
    const after = rivalsOf(engine, cluster, key, lost);
    if (jsonEquals(before as unknown as JsonValue | undefined, after as unknown as JsonValue | undefined)) return false;
    if (after === undefined) inputs.rivals.delete(cluster, key);
    else inputs.rivals.set(cluster, key, after);
    journal.put(recordKey.rivals(cluster, key), after ?? null);
    return true;
  };
  return () => {
    let staged = false;
    const due: EntryAddress[] = [...candidates.take(), ...records.take()];
    const mayBeProven = proofs.take().length + unseen.take().length > 0;
    if (mayBeProven && inputs.rivals.size() > 0) {
      for (const cluster of inputs.rivals.partitions()) due.push(...inputs.rivals.entries(cluster));
    }
    for (const { partition, key, before } of entries.take()) staged = note(partition, key, before) || staged;
    for (const { partition, key } of due) staged = note(partition, key) || staged;
    return staged;
  };
}

/** Both of two accounts of who wants a key. */
export function joinRivals(a: Rivals | undefined, b: Rivals): Rivals {
  return a === undefined
    ? b
    : { origins: bySource([...a.origins, ...b.origins]), scope: sorted([...a.scope, ...b.scope]) };
}

/** `lost`: what the entry was until now; whom it named is not forgotten with it. Undefined: there is nothing to note. */
function rivalsOf(engine: Engine, cluster: string, key: string, lost: LedgerEntry | undefined): Rivals | undefined {
  const { inputs } = engine;
  const wanting = engine.candidates.get(cluster, key) ?? [];
  const entry = inputs.ledger.get(cluster, key);
  const known = inputs.rivals.get(cluster, key);
  if (known === undefined && isPlain([entry, lost], wanting)) return undefined;
  const remembered: readonly ObjectMeta[] = [known, entry === undefined ? undefined : lost].filter(
    (meta) => meta !== undefined,
  );
  const origins = bySource([
    ...wanting.map(({ value }) => value.origin),
    ...remembered.flatMap((meta) => meta.origins).filter(({ source }) => !isReadWhole(engine, source)),
  ]);
  const scope = sorted([
    ...wanting.flatMap(({ value }) => value.scope),
    ...remembered.flatMap((meta) => meta.scope).filter((of) => engine.safeMode.unseen.get('', of) !== undefined),
  ]);
  // Whoever is the only one to want what is not there yet will be named with it.
  if (entry === undefined) return origins.length > 1 || wanting.length === 0 ? rivals(origins, scope) : undefined;
  const named = new Set<string>(entry.origins.map(({ source }) => source));
  return rivals(
    origins.filter(({ source }) => !named.has(source)),
    scope.filter((of) => !entry.scope.includes(of)),
  );
}

function rivals(origins: Rivals['origins'], scope: Rivals['scope']): Rivals | undefined {
  return origins.length + scope.length === 0 ? undefined : { origins, scope };
}

/** The common case: all is of one source, and computed from no cluster. */
function isPlain(
  metas: readonly (ObjectMeta | undefined)[],
  wanting: readonly { readonly value: Candidate }[],
): boolean {
  const source = metas.find((meta) => meta !== undefined)?.origins[0]?.source ?? wanting[0]?.value.origin.source;
  return (
    metas.every(
      (meta) => meta === undefined || (meta.scope.length === 0 && meta.origins.every((of) => of.source === source)),
    ) && wanting.every(({ value }) => value.scope.length === 0 && value.origin.source === source)
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
