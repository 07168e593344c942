import type { Digest } from '../../model/fleet/ids.ts';
import type { Hold, LedgerEntry } from '../../model/fleet/ledger.ts';
import { metaOf, type ObjectMeta } from '../../model/fleet/output.ts';
import { carriesEndpoints } from '../../model/objects/endpoints.ts';
import { displayKey, isStatusKey, type ObjectKey, objectRefOf } from '../../model/objects/object-key.ts';
import { type JsonValue, jsonEquals } from '../../model/text/json.ts';
import type { Collection, Derived, Graph, Index } from '../collections/types.ts';
import {
  type Decision,
  hasMaker,
  type KeepDecision,
  type ObjectDecision,
  type Removal,
  sameMeta,
} from './decisions.ts';
import {
  contentsOf,
  type GuardReader,
  type Guards,
  holdOnRemoval,
  isPassed,
  unlessPassed,
  whyEmptied,
} from './guards.ts';
import type { Tries } from './tries.ts';

/**
 * The output snapshot: what each cluster should hold, after the guards. Partition: the cluster. Key: the object's.
 * `held`: a removal, or an update that takes the last addresses of a service, waits for an approval; the object stays.
 */
export type Output =
  | (ObjectDecision & {
      /** The guards let an update pass that takes the last addresses of a service. Until the cluster has accepted it. */
      readonly empties?: true;
    })
  | KeepDecision
  | Extract<Decision, { readonly type: 'absent' | 'remove' | 'removing' | 'left' }>
  | (ObjectMeta & Hold & { readonly type: 'held'; readonly digest: Digest });

/**
 * Applies the guards to the decisions: they hold only removals, and updates that take the last addresses of a service. Marks how agents
 * try the objects.
 */
export function deriveOutputs(
  graph: Graph,
  decisions: Collection<Decision>,
  guards: Guards,
  tries: readonly Collection<Tries>[],
): Derived<Output> {
  const staying = graph.index('containerContents', decisions, ({ partition, key, value: { type } }) =>
    type === 'object' || type === 'keep' || type === 'removing' ? containersOf(partition, key as ObjectKey) : [],
  );
  const removed = graph.index('goingContents', decisions, ({ partition, key, value: { type } }) =>
    type === 'remove' ? containersOf(partition, key as ObjectKey) : [],
  );
  const contents = { staying, removed };
  const marking = tries.map((each) => ({ marks: each, places: derivePlaces(graph, each) }));
  return graph.derive<Decision, Output>({
    name: 'outputs',
    from: decisions,
    reads: [staying, removed, ...guards.reads, ...marking.flatMap(({ marks, places }) => [marks, places])],
    // An object is the same value as its decision; all others are short.
    equals: (a, b) => a === b || (a.type === b.type && a.type !== 'object' && JSON.stringify(a) === JSON.stringify(b)),
    compute: ({ partition: cluster, key: text, value }, read, emit) => {
      const key = text as ObjectKey;
      const at = { read, guards, cluster };
      if (value.type === 'remove') return emit(cluster, key, guardedRemoval(at, key, value, contents));
      const output = value.type === 'object' ? guardedUpdate(at, key, value) : value;
      if (output.type !== 'object' && output.type !== 'removing') return emit(cluster, key, output);
      // Other content is another attempt.
      const marks = marking.flatMap(({ marks: each, places }) => {
        const found = read.get(places, '', placeOf(cluster, key)) && read.get(each, cluster, key);
        return found?.digest === output.digest ? [found] : [];
      });
      emit(cluster, key, marks.length === 0 ? output : withMarks(output, marks));
    },
  });
}

/** A removal that the agent has accepted is never stopped. */
function withMarks<Marked extends Output & ObjectMeta>(output: Marked, marks: readonly Tries[]): Marked {
  const attempt = Math.max(0, ...marks.map((each) => each.attempt ?? 0));
  const isStopped = output.type === 'object' && marks.some(({ stopped }) => stopped === true);
  return { ...output, ...(isStopped ? { stopped: true } : {}), ...(attempt === 0 ? {} : { attempt }) };
}

/** The namespaces with an entry, so that an object of another one needs no look-up of its own. Partition empty. */
function derivePlaces(graph: Graph, entries: Collection<unknown>): Derived<true> {
  const { name } = entries;
  const byPlace = graph.index(`${name}ByPlace`, entries, ({ partition, key }) => [
    placeOf(partition, key as ObjectKey),
  ]);
  return graph.derive<number, true>({
    name: `${name}Places`,
    from: graph.counts(`${name}Counts`, byPlace),
    compute: ({ key }, _read, emit) => emit('', key, true),
  });
}

function placeOf(cluster: string, key: ObjectKey): string {
  return `${cluster}/${objectRefOf(key).namespace}`;
}

/** The removal, or a keep or hold. A container stays while objects in it stay, also while their removals are held. */
function guardedRemoval(
  at: GuardReader,
  key: ObjectKey,
  value: Removal,
  { staying, removed }: Readonly<Record<'staying' | 'removed', Index<Decision>>>,
): Output {
  const { read, cluster } = at;
  const container = contentsOf(cluster, key);
  const message = `${displayKey(key)} stays while objects in it are meant to be there`;
  const inUse: Output = { ...value, type: 'keep', reason: 'ContainerInUse', message };
  if (container !== undefined && read.count(staying, container) > 0) return inUse;
  const hold = holdOnRemoval(at, key, value);
  if (hold !== undefined) return { ...value, ...hold };
  const contents = container === undefined ? [] : read.members(removed, container);
  const isHeld = contents.some(
    ({ key: inside, value: decision }) =>
      decision.type === 'remove' && holdOnRemoval(at, inside as ObjectKey, decision) !== undefined,
  );
  return isHeld ? inUse : value;
}

/** The update, or the accepted object if the update would take the last addresses of a service. */
function guardedUpdate(at: GuardReader, key: ObjectKey, value: ObjectDecision): Output {
  if (!carriesEndpoints(key)) return value;
  const emptied = whyEmptied(at, key, value);
  const entry = at.read.get(at.guards.ledger, at.cluster, key);
  if (emptied === undefined) {
    // A delta can be lost in flight, so the permit lasts until the agent has accepted the update.
    return entry?.phase === 'inFlight' && isPassed(at, key) ? { ...value, empties: true } : value;
  }
  const hold = unlessPassed(at, key, () => emptied);
  if (hold === undefined || entry === undefined) return { ...value, empties: true };
  const { digest, origins, scope } = entry;
  return { digest, origins, scope, ...hold };
}

/** The groups of {@link contentsOf} for the Namespace and the CustomResourceDefinitions that contain an object; none of a status. */
function containersOf(cluster: string, key: ObjectKey): readonly string[] {
  if (isStatusKey(key)) return [];
  const { group, namespace } = objectRefOf(key);
  return [
    ...(namespace === '' ? [] : [`${cluster}/namespace/${namespace}`]),
    ...(group === '' ? [] : [`${cluster}/group/${group}`]),
  ];
}

/** Whether an output removes something that the guards of the leader let pass: a follower needs a permit for it. No status is removed. */
export function isPassedRemoval(key: string, output: Output | undefined): boolean {
  return (
    (output?.type === 'remove' && output.stays === undefined && !isStatusKey(key)) ||
    (output?.type === 'object' && output.empties === true)
  );
}

/**
 * A change that is still to be sent: the difference between output snapshot and ledger. Partition: the cluster. The next
 * delta of a cluster consists of its partition; a cluster without entries is in sync.
 */
export type PendingChange =
  | { readonly type: 'upsert'; readonly object: ObjectDecision }
  | (ObjectMeta & Pick<LedgerEntry, 'madeBy'> & { readonly type: 'touch' })
  | { readonly type: 'remove' };

/** Whether the cluster has the object of a ledger entry, as far as the server knows. */
export function isInCluster(entry: LedgerEntry | undefined): entry is LedgerEntry {
  return entry !== undefined && entry.phase !== 'removing' && entry.lost !== true;
}

/** Compares the output snapshot with the ledger, key by key. */
export function derivePending(
  graph: Graph,
  outputs: Collection<Output>,
  ledger: Collection<LedgerEntry>,
): Derived<PendingChange> {
  return graph.join<Output, LedgerEntry, PendingChange>({
    name: 'pending',
    left: outputs,
    right: ledger,
    equals: (a, b) =>
      a.type === 'upsert' && b.type === 'upsert'
        ? a.object === b.object
        : jsonEquals(a as unknown as JsonValue, b as unknown as JsonValue),
    compute: ({ partition, key, left: output, right: entry }, _read, emit) => {
      if (output?.type === 'remove') emit(partition, key, { type: 'remove' });
      if (output?.type === 'removing' && entry !== undefined && hasNewAttempt(entry, output)) {
        emit(partition, key, { type: 'touch', ...metaOf(output), ...makerOf(entry) });
      }
      if (output?.type !== 'object') return;
      if (!isInCluster(entry) || entry.digest !== output.digest) {
        emit(partition, key, { type: 'upsert', object: output });
      } else if (isTouched(entry, output)) {
        emit(partition, key, { type: 'touch', ...metaOf(output), ...makerOf(output) });
      }
    },
  });
}

/** Whether something of the entry changes besides the content of the object. */
function isTouched(entry: LedgerEntry, output: ObjectDecision): boolean {
  if (!sameMeta(entry, output) || !hasMaker(entry, output) || hasNewAttempt(entry, output)) return true;
  // The touch of an unproven entry proves it: this server sends the object, too.
  return entry.unproven === true;
}

function makerOf({ madeBy }: Pick<LedgerEntry, 'madeBy'>): Pick<LedgerEntry, 'madeBy'> {
  return madeBy === undefined ? {} : { madeBy };
}

/** An attempt that has ended is no change. */
function hasNewAttempt(entry: LedgerEntry, { attempt }: ObjectMeta): boolean {
  return attempt !== undefined && attempt !== entry.attempt;
}
