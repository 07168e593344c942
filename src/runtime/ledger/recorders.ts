import type { Change } from '../../engine/collections/types.ts';
import type { Declared } from '../../engine/fleet/declared.ts';
import { provesAbsence } from '../../engine/fleet/sources.ts';
import type { Engine } from '../../engine/graph.ts';
import { EMPTIED } from '../../engine/output/guards.ts';
import type { Output } from '../../engine/output/outputs.ts';
import type { Candidate } from '../../engine/placement/wants.ts';
import { engineKinds, isEngineKind } from '../../model/fleet/engine-kinds.ts';
import type { Contenders, LastKnownGood } from '../../model/fleet/ledger.ts';
import type { ObjectMeta, Origin } from '../../model/fleet/output.ts';
import { compareText, type JsonValue, jsonEquals } from '../../model/text/json.ts';
import type { ServerCore } from '../core.ts';
import type { History } from '../history/history.ts';
import { type Approvals, needsNoRemoval } from '../removals/approvals.ts';
import type { RecordWriter } from '../stored/group.ts';
import type { AssumedWarmRecovery } from './assumed-warm.ts';
import type { Ledger } from './ledger.ts';
import { type LedgerRecords, recordedInputs, recordKey } from './records.ts';

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
export function createContenderRecorder(engine: Engine, fleet: RecordWriter): () => Generator<undefined, boolean> {
  const { inputs } = engine;
  const takeDue = followDue(engine);
  const note = ({ cluster, key, lost }: Due): boolean => {
    const before = inputs.contenders.get(cluster, key);
    const after = contendersOf(engine, cluster, key, lost);
    if (isSame(before, after)) return false;
    if (after === undefined) inputs.contenders.delete(cluster, key);
    else inputs.contenders.set(cluster, key, after);
    // The next leader joins the records of the store with its own.
    if (inputs.fleet.get('', '')?.role === 'leader') fleet.put(recordKey.contenders(cluster, key), after ?? null);
    return true;
  };
  return function* () {
    let hasStaged = false;
    for (const due of yield* takeDue()) {
      if (note(due)) hasStaged = true;
      yield;
    }
    return hasStaged;
  };
}

function isSame(a: unknown, b: unknown): boolean {
  return jsonEquals(a as JsonValue | undefined, b as JsonValue | undefined);
}

/** Keys whose contenders may have changed since the last call. Yields after each piece of work. */
function followDue(engine: Engine): () => Generator<undefined, Iterable<Due>> {
  const { inputs, graph } = engine;
  const candidates = graph.watch(engine.candidates);
  const entries = graph.watch(inputs.ledger);
  const records = graph.watch(inputs.contenders);
  const proofs = graph.watch(engine.sourceProofs);
  const unseen = graph.watch(engine.safeMode.unseen);

  return function* () {
    const due = new Map<string, Due>();
    const add = (cluster: string, key: string, lost: readonly ObjectMeta[]): void => {
      if (isPlain(engine, cluster, key, lost)) return;
      const address = `${cluster}\u0000${key}`;
      const known = due.get(address);
      if (known === undefined) due.set(address, { cluster, key, lost: [...lost] });
      else known.lost.push(...lost);
    };
    for (const { partition, key, before } of entries.drain()) {
      yield;
      // A removed object has no contenders any more; an object that was lost in flight still has them.
      const isGone = inputs.ledger.get(partition, key) === undefined && before?.phase !== 'inFlight';
      add(partition, key, before === undefined || isGone ? [] : [before]);
    }
    for (const { partition, key, before = NO_CANDIDATES } of candidates.drain()) {
      yield;
      add(partition, key, before.map(metaOfCandidate));
    }
    for (const { partition, key } of records.drain()) {
      yield;
      add(partition, key, []);
    }
    const mayBeProven = proofs.take().length + unseen.take().length > 0;
    for (const cluster of mayBeProven ? inputs.contenders.partitions() : []) {
      for (const { key } of inputs.contenders.entries(cluster)) add(cluster, key, []);
    }
    return due.values();
  };
}

const NO_CANDIDATES: readonly { readonly value: Candidate }[] = [];

function metaOfCandidate({ value: { origin, scope } }: { readonly value: Candidate }): ObjectMeta {
  return { origins: [origin], scope };
}

/**
 * Joins the contenders in the store and in this replica: each may have seen contenders that the other lacks. Writes to the store what
 * it lacks.
 */
export function joinContenders(engine: Engine, fleet: RecordWriter, stored: LedgerRecords['contenders']): void {
  const { contenders } = engine.inputs;
  for (const cluster of [...contenders.partitions()]) {
    for (const { key, value } of contenders.entries(cluster)) {
      if (stored.get(cluster)?.has(key) !== true) fleet.put(recordKey.contenders(cluster, key), value);
    }
  }
  for (const [cluster, records] of stored) {
    for (const [key, record] of records) {
      fleet.noted(recordKey.contenders(cluster, key), record);
      const known = contenders.get(cluster, key);
      const both = known === undefined ? record : joined(known, record);
      if (!isSame(both, record)) fleet.put(recordKey.contenders(cluster, key), both);
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
  const before = remembered.flatMap((meta) => meta.origins);
  const unread = before.filter((origin) => isNotRead(engine, origin));
  const origins = bySource([
    ...candidates.map(({ value }) => value.origin),
    ...before.filter(({ source }) => !isReadCompletely(engine, source)),
    ...unread,
  ]);
  const scope = sorted([
    ...candidates.flatMap(({ value }) => value.scope),
    ...remembered.flatMap((meta) => meta.scope).filter((of) => engine.safeMode.unseen.get('', of) !== undefined),
  ]);
  // The only source of a new object will be named in its entry.
  if (entry === undefined) return origins.length > 1 || candidates.length === 0 ? recordOf(origins, scope) : undefined;
  const named = new Set<string>(entry.origins.map(({ source }) => source));
  // A source that the entry names may declare the key in another file now, which is not read.
  const hidden = bySource(unread).filter(({ source }) => named.has(source));
  return recordOf(
    bySource([...origins.filter(({ source }) => !named.has(source)), ...hidden]),
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
    scope.length === 0 && origins.every((origin) => origin.source === source && !isNotRead(engine, origin));
  if (entry !== undefined && !isOfSource(entry)) return false;
  return (
    candidates.every(({ value }) => value.scope.length === 0 && value.origin.source === source) &&
    lost.every(isOfSource)
  );
}

/** One origin per source, with its first path, as in a ledger entry. */
function bySource(origins: ObjectMeta['origins']): ObjectMeta['origins'] {
  const byPath = origins.toSorted((a, b) => compareText(b.path, a.path));
  return [...new Map(byPath.map((origin) => [origin.source, origin])).values()].sort((a, b) =>
    compareText(a.source, b.source),
  );
}

function sorted<Name extends string>(names: readonly Name[]): readonly Name[] {
  return [...new Set(names)].sort(compareText);
}

/** Whether a file is one of another tool, or claimed by one. */
function isNotRead({ inputs: { files } }: Engine, { source, path }: Origin): boolean {
  return files.get(source, path)?.notRead !== undefined;
}

/** True if the source is proven read completely. A source that is not configured counts as read when every configured one was. */
function isReadCompletely({ sourceProofs }: Engine, source: string): boolean {
  const proof = sourceProofs.get('', source);
  if (proof !== undefined) return provesAbsence(proof);
  return ![...sourceProofs.entries('')].some(({ value }) => value === 'unread');
}

/**
 * Records held removals, so that they stay held. A hold ends when its object is wanted again, is removed, or is being removed;
 * an approval ends when its object is wanted again or is removed. A source that cannot be read ends neither. The returned
 * function runs after each commit; it returns true if it has staged a change.
 */
export function createHoldRecorder(
  engine: Engine,
  fleet: RecordWriter,
  approvals: Approvals,
): () => Generator<undefined, boolean> {
  const outputs = engine.graph.watch(engine.outputs);
  const { held } = recordedInputs(engine, fleet);
  const note = ({ partition: cluster, key, after }: Change<Output>): boolean => {
    const recorded = engine.inputs.heldRemovals.get(cluster, key)?.reason;
    const isEmptied = after?.type === 'object' && after.empties === true;
    const isOver = needsNoRemoval(after);
    const begins =
      after?.type === 'held' && (recorded === undefined || (recorded === EMPTIED && after.reason !== EMPTIED));
    const ends = recorded !== undefined && (isOver || isEmptied || after?.type === 'removing');
    if (begins) held.set(cluster, key, { reason: after.reason, message: after.message });
    if (ends) held.set(cluster, key, null);
    // The approval lasts until the object is removed, so a removal that was lost needs no second approval.
    const endsApproval = isOver && approvals.isApproved(cluster, key);
    if (endsApproval && after === undefined) approvals.used(cluster, key);
    else if (endsApproval) approvals.end(cluster, key);
    return begins || ends || endsApproval;
  };
  return function* () {
    let hasStaged = false;
    for (const change of outputs.drain()) {
      if (note(change)) hasStaged = true;
      yield;
    }
    return hasStaged;
  };
}

/**
 * Records each declaration in force as last known good, and deletes the record when the declaration is proven absent. The
 * returned function runs after each commit; it returns true if it has staged a change.
 */
export function createDeclarationRecorder(engine: Engine, fleet: RecordWriter): () => boolean {
  const { declarations } = engine;
  const { lastKnownGood } = engine.inputs;
  const changes = engine.graph.watch(declarations);
  const recorded = engine.graph.watch(lastKnownGood);
  const inputs = recordedInputs(engine, fleet);
  const record = (kind: string, key: string): boolean => {
    if (!isEngineKind(kind) || !engineKinds[kind].holdsAsLastKnownGood) return false;
    const declared = declarations.get(kind, key);
    if (declared?.isLastKnownGood === true) return false;
    const next = declared && lastKnownGoodOf(declared);
    if (isSame(lastKnownGood.get(kind, key), next)) return false;
    inputs.lastKnownGood.set(kind, key, next ?? null);
    return true;
  };
  return () => {
    // A record and the proof of its absence can be staged in one commit: then `declarations` does not change.
    const kinds = Map.groupBy([...changes.take(), ...recorded.take()], ({ partition }) => partition);
    return [...kinds]
      .flatMap(([kind, of]) => [...new Set(of.map(({ key }) => key))].map((key) => record(kind, key)))
      .includes(true);
  };
}

function lastKnownGoodOf({ kind, namespace, name, value, origin }: Declared): LastKnownGood {
  return { kind, namespace, name, value, origin } as LastKnownGood;
}

/**
 * Ends the registration of each cluster that is not declared any more (the engine drops a cluster only with proof). `knowsAll`: every
 * configured source was read completely. The returned function runs after each commit; it returns true if it has staged a change.
 */
export function createDeregistration(
  { engine, log }: ServerCore,
  parts: { readonly ledger: Ledger; readonly approvals: Approvals; readonly history: Pick<History, 'end'> },
  recovery: AssumedWarmRecovery,
  knowsAll: () => boolean,
): () => boolean {
  const { ledger, approvals, history } = parts;
  const clusters = engine.graph.watch(engine.clusters);
  let sawAll = false;

  const end = (cluster: string): boolean => {
    const wasAssumedWarm = recovery.end(cluster);
    const registration = ledger.registration(cluster);
    if (registration === undefined) {
      if (wasAssumedWarm) engine.inputs.agents.delete('', cluster);
      return wasAssumedWarm;
    }
    log.warn(
      'a cluster is deregistered: its name is free and its certificates are void; its objects stay in the cluster',
      { cluster, id: registration.id, owned: engine.inputs.ledger.size(cluster) },
    );
    ledger.endRegistration(cluster);
    approvals.endAll(cluster);
    history.end(cluster);
    return true;
  };
  return () => {
    const removed = clusters.take().flatMap(({ key, after }) => (after === undefined ? [key] : []));
    if (!sawAll && knowsAll()) {
      sawAll = true;
      // Clusters whose declarations were removed while no server of the fleet ran.
      for (const { cluster } of ledger.registrations()) {
        if (engine.clusters.get('', cluster) === undefined) removed.push(cluster);
      }
    }
    return [...new Set(removed)].map(end).includes(true);
  };
}
