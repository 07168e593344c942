import { carriesEndpoints } from '../../model/endpoints.ts';
import type { Digest } from '../../model/ids.ts';
import type { LedgerEntry } from '../../model/ledger.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { ObjectMeta } from '../../model/output.ts';
import type { Collection, Derived, Entry, Graph, Reader } from '../collections/types.ts';
import type { FleetSettings } from '../inputs.ts';
import { contentsOf, indexContents, indexGoingContents, stillHolding } from './containers.ts';
import type { Decision, Hold, KeepDecision, ObjectDecision } from './decision.ts';
import { EMPTIED, indexServing, whyEmptied } from './emptied.ts';
import { type Guards, guardedKind } from './guards.ts';

/**
 * The output snapshot: what each cluster should hold, after the guards. Partition: the cluster. Key: the object's.
 * `held`: a removal, or what is like one, that waits for a person; the object stays as it is meanwhile.
 */
export type Output =
  | (ObjectDecision & {
      /** It takes the last addresses of a service away, and was let go; until the cluster has accepted it. */
      readonly empties?: true;
    })
  | KeepDecision
  | Extract<Decision, { readonly type: 'absent' | 'remove' | 'removing' | 'left' }>
  | (ObjectMeta & Hold & { readonly type: 'held'; readonly digest: Digest });

interface OutputInputs {
  readonly decisions: Collection<Decision>;
  readonly ledger: Collection<LedgerEntry>;
  readonly guards: Guards;
  readonly approvals: Collection<true>;
  readonly heldRemovals: Collection<Hold>;
  readonly fleet: Collection<FleetSettings>;
  readonly removalPermits: Collection<true>;
}

/** Applies the guards to the decisions. They hold removals, and what empties a service, and nothing else. */
export function deriveOutputs(graph: Graph, inputs: OutputInputs): Derived<Output> {
  const { decisions, ledger, guards, approvals, heldRemovals, fleet, removalPermits } = inputs;
  const contents = indexContents(graph, decisions);
  const goingContents = indexGoingContents(graph, decisions);
  const endpoints = { ledger, serving: indexServing(graph, decisions) };
  return graph.derive<Decision, Output>({
    name: 'outputs',
    from: decisions,
    reads: [
      ...[contents, goingContents, endpoints.serving, ledger, guards.perCluster, guards.perFleet],
      ...[approvals, heldRemovals, fleet, removalPermits],
    ],
    // What is sent is one object with its decision; the rest is short.
    equals: (a, b) => a === b || (a.type === b.type && a.type !== 'object' && JSON.stringify(a) === JSON.stringify(b)),
    compute: ({ partition: cluster, key: text, value }, read, emit) => {
      const key = text as ObjectKey;
      if (value.type !== 'remove' && value.type !== 'object') return emit(cluster, key, value);
      if (value.type === 'object' && !carriesEndpoints(key)) return emit(cluster, key, value);
      // A Service that is held here is called as long as it is: its addresses are not taken away before it.
      const goes = (service: ObjectKey): boolean => {
        const fate = read.get(decisions, cluster, service)?.type;
        return (
          fate === 'removing' ||
          (fate === 'remove' && removalVerdict(cluster, service, undefined, read, inputs) === undefined)
        );
      };
      const emptied = whyEmptied(read, endpoints, cluster, key, value, goes);
      if (value.type === 'object') return emit(cluster, key, passedUpdate(cluster, key, value, emptied, read, inputs));
      const container = contentsOf(cluster, key);
      if (container !== undefined && read.count(contents, container) > 0) {
        return emit(cluster, key, { ...value, type: 'keep', ...stillHolding(key) });
      }
      const verdict = removalVerdict(cluster, key, emptied, read, inputs);
      if (verdict !== undefined) return emit(cluster, key, { ...value, ...verdict });
      // What lies in it and goes as well has its own verdict: it must not be taken along.
      const isHeldInside = (inside: Entry<Decision>): boolean => {
        if (inside.value.type !== 'remove') return false;
        const inner = inside.key as ObjectKey;
        const why = whyEmptied(read, endpoints, cluster, inner, inside.value, goes);
        return removalVerdict(cluster, inner, why, read, inputs) !== undefined;
      };
      const holds = container !== undefined && read.members(goingContents, container).some(isHeldInside);
      emit(cluster, key, holds ? { ...value, type: 'keep', ...stillHolding(key) } : value);
    },
  });
}

/** Whether an output removes something that the guards of the leader let pass: followers need a permit for it. */
export function isPassedRemoval(output: Output | undefined): boolean {
  return output?.type === 'remove' || (output?.type === 'object' && output.empties === true);
}

/** An update passes, unless it empties a service: then the accepted object stays until the guards let the update pass. */
function passedUpdate(
  cluster: string,
  key: ObjectKey,
  value: ObjectDecision,
  emptied: Hold | undefined,
  read: Reader,
  inputs: OutputInputs,
): Output {
  if (emptied === undefined && !isPassed(cluster, key, read, inputs)) return value;
  const entry = read.get(inputs.ledger, cluster, key);
  // A delta can be lost in flight, so the permit lasts until the agent has accepted it.
  if (emptied === undefined) return entry?.phase === 'inFlight' ? { ...value, empties: true } : value;
  const verdict = verdictOn(cluster, key, () => emptied, read, inputs);
  if (verdict === undefined || entry === undefined) return { ...value, empties: true };
  const { digest, origins, scope } = entry;
  return { digest, origins, scope, ...verdict };
}

function isPassed(cluster: string, key: ObjectKey, read: Reader, { fleet, removalPermits, approvals }: OutputInputs) {
  const from = read.get(fleet, '', '')?.role === 'follower' ? removalPermits : approvals;
  return read.get(from, cluster, key) === true;
}

/** Only the leader knows windows and approvals: a removal without its permit stays. */
const waitsForLeader: Hold = {
  reason: 'WaitsForLeader',
  message: 'the replica that judges removals has not let this one pass yet',
};

/** A hold of the guards lasts until it is approved; a hold of an emptied service only while the service is empty. Hence the order. */
function removalVerdict(
  cluster: string,
  key: ObjectKey,
  emptied: Hold | undefined,
  read: Reader,
  inputs: OutputInputs,
): ReturnType<typeof verdictOn> {
  return verdictOn(cluster, key, () => holdOf(cluster, key, read, inputs) ?? emptied, read, inputs);
}

function verdictOn(
  cluster: string,
  key: ObjectKey,
  why: () => Hold | undefined,
  read: Reader,
  inputs: OutputInputs,
): (Hold & { readonly type: 'held' | 'keep' }) | undefined {
  if (isPassed(cluster, key, read, inputs)) return undefined;
  if (read.get(inputs.fleet, '', '')?.role === 'follower') return { type: 'keep', ...waitsForLeader };
  const hold = why();
  return hold === undefined ? undefined : { type: 'held', ...hold };
}

function holdOf(cluster: string, key: ObjectKey, read: Reader, inputs: OutputInputs): Hold | undefined {
  const verdict =
    read.get(inputs.guards.perFleet, '', '') ?? read.get(inputs.guards.perCluster, '', cluster) ?? guardedKind(key);
  if (verdict !== undefined) return verdict;
  // What was held stays held until a person approves it or it is undone, also when the guards have been loosened since.
  const before = read.get(inputs.heldRemovals, cluster, key);
  // That a service would be left without addresses is undone when it has others.
  return before?.reason === EMPTIED ? undefined : before;
}
