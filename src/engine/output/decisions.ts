import type { KindState, LiveObject } from '../../model/agent.ts';
import type { Digest } from '../../model/ids.ts';
import { compareText, type JsonObject, type JsonValue, jsonEquals } from '../../model/json.ts';
import type { Contenders, LedgerEntry } from '../../model/ledger.ts';
import { type ObjectKey, objectRefOf } from '../../model/object-key.ts';
import type { ObjectMeta, Origin } from '../../model/output.ts';
import type { Collection, Contribution, Derived, Graph, Index, Reader } from '../collections/types.ts';
import type { ClusterValue } from '../fleet/clusters.ts';
import type { LiveReads } from '../fleet/live-reads.ts';
import type { SafeMode } from '../fleet/safe-mode.ts';
import { anyDoubt, type DocumentValue, fileGroup, proofOf, provesAbsence, type SourceProof } from '../fleet/sources.ts';
import type { SnapshotValue, SourceValue } from '../inputs.ts';
import type { Candidate } from '../placement/candidates.ts';
import type { Collisions, CollisionsByDomain } from './collisions.ts';
import type { Decision, Hold, KeepDecision } from './decision.ts';
import { claimsOf, electCandidate, meetsRequirement } from './election.ts';
import { whyUnseen } from './safe-hold.ts';
import { sameMeta } from './same-meta.ts';

interface DecisionInputs {
  readonly candidates: Collection<readonly Contribution<Candidate>[]>;
  readonly ledger: Collection<LedgerEntry>;
  readonly contenders: Collection<Contenders>;
  readonly clusters: Collection<ClusterValue>;
  readonly sources: Collection<SourceValue>;
  readonly proofs: Collection<SourceProof>;
  readonly doubts: Index<SourceProof>;
  readonly documentsByFile: Index<DocumentValue>;
  readonly safeMode: SafeMode;
  readonly snapshots: Collection<SnapshotValue>;
  readonly kinds: Collection<KindState>;
  readonly live: Collection<LiveObject>;
  readonly liveReads: LiveReads;
  readonly collisions: CollisionsByDomain;
}

/**
 * Decides for each key that is wanted or owned: a removal needs proof, anything less is a keep. Sees everything, since
 * what is decided here is judged as a whole; what a decision could have been computed from is its `scope`.
 */
export function deriveDecisions(graph: Graph, inputs: DecisionInputs): Derived<Decision> {
  const { candidates, ledger, contenders, clusters, sources, proofs, doubts, documentsByFile } = inputs;
  const { safeMode, snapshots, kinds, live } = inputs;
  return graph.join<readonly Contribution<Candidate>[], LedgerEntry, Decision>({
    name: 'decisions',
    left: candidates,
    right: ledger,
    reads: [
      ...[contenders, clusters, sources, proofs, doubts, documentsByFile],
      ...[safeMode.mode, safeMode.unseen, safeMode.bySnapshot, snapshots, kinds, live],
    ],
    seesAll: true,
    equals: sameDecision,
    compute: ({ partition: cluster, key, left = [], right: entry }, read, emit) => {
      if (read.get(clusters, '', cluster) === undefined) {
        if (entry !== undefined) emit(cluster, key, { type: 'left', ...metaOf(entry) });
        return;
      }
      const wanting = left.filter(({ value }) => meetsRequirement(read, inputs, cluster, value) !== 'no');
      const decision = decide({ cluster, key: key as ObjectKey }, wanting, entry, read, inputs);
      if (decision === undefined) return;
      const held = left.flatMap(({ value: { derived } }) =>
        derived?.requires === undefined ? [] : (read.get(ledger, cluster, derived.requires.key)?.scope ?? []),
      );
      emit(cluster, key, whileSeen(key as ObjectKey, decision, { entry, besides: held }, read, inputs));
    },
  });
}

/** Decides by what is wanted and what is owned. Visibility of the clusters is checked afterwards. */
function decide(
  { cluster, key }: { readonly cluster: string; readonly key: ObjectKey },
  contributions: readonly Contribution<Candidate>[],
  entry: LedgerEntry | undefined,
  read: Reader,
  inputs: DecisionInputs,
): Decision | undefined {
  const { proofs, doubts } = inputs;
  const proves = (origin: Origin): SourceProof => proofOf(read, proofs, doubts, origin.source);
  const standing = electCandidate(read, inputs, contributions, entry);
  if (standing.type === 'won') {
    const { value } = standing.winner;
    if (meetsRequirement(read, inputs, cluster, value) === 'yes') {
      return wanted(value, entry, claimsOf(value, contributions, entry, proves));
    }
    const { requirementUnclear } = collisionsOf(inputs, [value]);
    if (entry !== undefined) return keep(entry, requirementUnclear);
    return { type: 'absent', origins: [value.origin], ...requirementUnclear };
  }
  if (entry === undefined) return undefined;
  if (standing.type === 'contested') {
    return keep(
      entry,
      collisionsOf(
        inputs,
        contributions.map(({ value }) => value),
      ).contested,
    );
  }
  return unwanted({ cluster, key }, entry, proves, read, inputs);
}

/** What the domain says that the first derived candidate comes from. */
function collisionsOf({ collisions }: DecisionInputs, candidates: readonly Candidate[]): Collisions {
  const domain = candidates.find(({ derived }) => derived !== undefined)?.derived?.domain;
  return collisions.get(domain ?? '') ?? nameCollision;
}

const unclear: Hold = { reason: 'NameCollision', message: 'several objects have this name here' };
const nameCollision: Collisions = { contested: unclear, requirementUnclear: unclear, advice: 'so rename the other' };

/** Lets a change pass only while every cluster that it could have been computed from is visible. */
function whileSeen(
  key: ObjectKey,
  decision: Decision,
  { entry, besides }: { readonly entry: LedgerEntry | undefined; readonly besides: readonly string[] },
  read: Reader,
  inputs: DecisionInputs,
): Decision {
  const { type } = decision;
  if ((type !== 'object' && type !== 'remove') || isAsHeld(decision, entry)) return decision;
  const scope = [...new Set([...decision.scope, ...(entry?.scope ?? []), ...besides])];
  const hold = whyUnseen(read, inputs, { key, type, scope, entry });
  if (hold === undefined) return decision;
  if (entry === undefined) return { type: 'absent', origins: decision.origins, ...hold };
  return entry.phase === 'removing' ? { type: 'removing', ...metaOf(entry) } : keep(entry, hold);
}

function isAsHeld(decision: ObjectMeta & { readonly type: string; readonly digest: Digest }, entry?: LedgerEntry) {
  if (decision.type !== 'object' || entry === undefined || entry.phase === 'removing') return false;
  return entry.digest === decision.digest && sameMeta(entry, decision);
}

function wanted(candidate: Candidate, entry: LedgerEntry | undefined, origins: readonly Origin[]): Decision {
  if (candidate.scopeUnknown) {
    const hold = {
      reason: 'KindUnknown',
      message: 'nobody knows whether this kind is namespaced: name a namespace, or bring its CustomResourceDefinition',
    };
    return entry === undefined ? { type: 'absent', origins, ...hold } : keep(entry, hold);
  }
  return { type: 'object', value: candidate.value, digest: candidate.digest, origins, scope: candidate.scope };
}

/** No candidate: remove only if every origin and every contender is read completely and omits the key. */
function unwanted(
  { cluster, key }: { readonly cluster: string; readonly key: ObjectKey },
  entry: LedgerEntry,
  proves: (origin: Origin) => SourceProof,
  read: Reader,
  { doubts, documentsByFile, contenders }: DecisionInputs,
): Decision {
  if (entry.phase === 'removing') return { type: 'removing', ...metaOf(entry) };
  const isDoubtful = (origin: Origin): boolean => !provesAbsence(proves(origin));
  // Contenders are read last: most keys that are kept need not ask for them.
  const own = entry.origins.find(isDoubtful);
  const others = own === undefined ? read.get(contenders, cluster, key) : undefined;
  const doubtful = own ?? others?.origins.find(isDoubtful);
  if (doubtful !== undefined) return keep(entry, whyDoubtful(doubtful, proves(doubtful)));
  // A document still declares it, and no rule places it: any source may have declared the rule.
  const wanting = [...entry.origins, ...(others?.origins ?? [])];
  const placedBefore = wanting.some((origin) => declares(read, documentsByFile, origin, key));
  if (placedBefore && anyDoubt(read, doubts)) return keep(entry, ruleInDoubt);
  const scope = others === undefined ? entry.scope : [...new Set([...entry.scope, ...others.scope])].sort(compareText);
  return { type: 'remove', ...metaOf(entry), scope };
}

const ruleInDoubt: Hold = {
  reason: 'PlacementInDoubt',
  message: 'it is still declared, and a source that cannot be read whole may hold the rule that placed it',
};

/** Does the file still declare the object? Its namespace may have been filled in. */
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
  const { serves } = entry;
  return { type: 'keep', ...metaOf(entry), ...(serves === undefined ? {} : { serves }), ...hold };
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
