import type { Digest } from '../../model/ids.ts';
import { type JsonObject, type JsonValue, jsonEquals } from '../../model/json.ts';
import type { LedgerEntry } from '../../model/ledger.ts';
import { type ObjectKey, objectRefOf } from '../../model/object-key.ts';
import type { ObjectMeta, Origin } from '../../model/output.ts';
import type { Collection, Contribution, Derived, Graph, Index, Reader } from '../collections/types.ts';
import type { ClusterValue } from '../fleet/clusters.ts';
import { elect } from '../fleet/elect.ts';
import { anyDoubt, type DocumentValue, fileGroup, proofOf, provesAbsence, type SourceProof } from '../fleet/sources.ts';
import type { SourceValue } from '../inputs.ts';
import type { Candidate } from '../placement/candidates.ts';

/** Why something is deliberately not changed: a constant word, and a sentence for people. */
export interface Hold {
  readonly reason: string;
  readonly message: string;
}

/** An object as a cluster should hold it. */
export interface ObjectDecision extends ObjectMeta {
  readonly type: 'object';
  readonly value: JsonObject;
  readonly digest: Digest;
}

/** What is there stays as it is. */
export interface KeepDecision extends ObjectMeta, Hold {
  readonly type: 'keep';
  readonly digest: Digest;
}

/**
 * What to do with one key of one cluster, before the guards. `absent`: it is wanted but cannot be made, and nothing is
 * there. `remove`: proven gone from everything that it came from. `removing`: the agent is at it already. `left`: its
 * cluster is not registered any more; it stays as it is, and nobody counts it.
 */
export type Decision =
  | ObjectDecision
  | KeepDecision
  | (Hold & { readonly type: 'absent'; readonly origins: readonly Origin[] })
  | (ObjectMeta & { readonly type: 'remove'; readonly digest: Digest })
  | (ObjectMeta & { readonly type: 'removing'; readonly digest: Digest })
  | (ObjectMeta & { readonly type: 'left'; readonly digest: Digest });

interface DecisionInputs {
  readonly candidates: Collection<readonly Contribution<Candidate>[]>;
  readonly ledger: Collection<LedgerEntry>;
  readonly clusters: Collection<ClusterValue>;
  readonly sources: Collection<SourceValue>;
  readonly proofs: Collection<SourceProof>;
  readonly doubts: Index<SourceProof>;
  readonly documentsByFile: Index<DocumentValue>;
}

/** Decides for each key that is wanted or owned: a removal needs proof, anything less is a keep. */
export function deriveDecisions(graph: Graph, inputs: DecisionInputs): Derived<Decision> {
  const { candidates, ledger, clusters, sources, proofs, doubts, documentsByFile } = inputs;
  return graph.join<readonly Contribution<Candidate>[], LedgerEntry, Decision>({
    name: 'decisions',
    left: candidates,
    right: ledger,
    reads: [clusters, sources, proofs, doubts, documentsByFile],
    equals: sameDecision,
    compute: ({ partition: cluster, key, left = [], right: entry }, read, emit) => {
      if (read.get(clusters, '', cluster) === undefined) {
        if (entry !== undefined) emit(cluster, key, { type: 'left', ...metaOf(entry) });
        return;
      }
      const proves = (origin: Origin): SourceProof => proofOf(read, proofs, doubts, origin.source);
      const election = elect(
        left.map(({ value }) => ({ origin: value.origin, identity: value.identity, value })),
        entry?.origins[0],
        (source) => read.get(sources, '', source)?.order ?? Number.MAX_SAFE_INTEGER,
        (origin) => provesAbsence(proves(origin)),
      );
      if (election.type === 'won') emit(cluster, key, wanted(election.winner.value, entry));
      else if (entry !== undefined) {
        // Still declared, and yet nothing gives it: a rule that placed it is gone, and any source may have declared that.
        const placedBefore = entry.origins.some((origin) => declares(read, documentsByFile, origin, key as ObjectKey));
        emit(cluster, key, unwanted(entry, proves, placedBefore && anyDoubt(read, doubts)));
      }
    },
  });
}

function wanted(candidate: Candidate, entry: LedgerEntry | undefined): Decision {
  const origins = [candidate.origin];
  if (candidate.scopeUnknown) {
    const hold = {
      reason: 'KindUnknown',
      message: 'nobody knows whether this kind is namespaced: name a namespace, or bring its CustomResourceDefinition',
    };
    return entry === undefined ? { type: 'absent', origins, ...hold } : keep(entry, hold);
  }
  return { type: 'object', value: candidate.value, digest: candidate.digest, origins, scope: [] };
}

/** Nothing gives this key: it goes if everything that it came from proves that, and stays as it is otherwise. */
function unwanted(entry: LedgerEntry, proves: (origin: Origin) => SourceProof, isRuleInDoubt: boolean): Decision {
  if (entry.phase === 'removing') return { type: 'removing', ...metaOf(entry) };
  const doubtful = entry.origins.find((origin) => !provesAbsence(proves(origin)));
  if (doubtful !== undefined) return keep(entry, whyDoubtful(doubtful, proves(doubtful)));
  return isRuleInDoubt ? keep(entry, ruleInDoubt) : { type: 'remove', ...metaOf(entry) };
}

const ruleInDoubt: Hold = {
  reason: 'PlacementInDoubt',
  message: 'it is still declared, and a source that cannot be read whole may hold the rule that placed it',
};

/** Does the file still declare the object, whatever namespace the key has been given? */
function declares(read: Reader, byFile: Index<DocumentValue>, origin: Origin, key: ObjectKey): boolean {
  const { group, kind, name } = objectRefOf(key);
  return read.members(byFile, fileGroup(origin)).some(({ value: { content } }) => {
    if (content.type !== 'object') return false;
    const { ref } = content;
    return ref.group === group && ref.kind === kind && ref.name === name;
  });
}

function whyDoubtful({ source, path }: Origin, proof: SourceProof): Hold {
  return proof === 'unread'
    ? { reason: 'SourceNotRead', message: `source ${source} has not been read yet` }
    : {
        reason: 'SourcePartial',
        message: `source ${source} has files that cannot be read, so it removes nothing (declared in ${path})`,
      };
}

function keep(entry: LedgerEntry, hold: Hold): KeepDecision {
  return { type: 'keep', ...metaOf(entry), ...hold };
}

function metaOf({ digest, origins, scope }: LedgerEntry): ObjectMeta & { readonly digest: Digest } {
  return { digest, origins, scope };
}

/** Equality by value; shared manifests make the common case one comparison of references. */
function sameDecision(a: Decision, b: Decision): boolean {
  if (a.type !== b.type) return false;
  if (a.type === 'object' && b.type === 'object' && a.value !== b.value && !jsonEquals(a.value, b.value)) return false;
  return jsonEquals(withoutValue(a), withoutValue(b));
}

function withoutValue(decision: Decision): JsonValue {
  const { value: _value, ...rest } = decision as Decision & { value?: JsonObject };
  return rest as unknown as JsonValue;
}
