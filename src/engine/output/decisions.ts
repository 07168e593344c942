import { refusedInOwnNamespace } from '../../model/agent/own-namespace.ts';
import type { Digest } from '../../model/fleet/ids.ts';
import type { Hold, LedgerEntry } from '../../model/fleet/ledger.ts';
import type { ObjectMeta, Origin } from '../../model/fleet/output.ts';
import { refusedAsLasting } from '../../model/objects/lasting-objects.ts';
import { isStatusKey, type ObjectKey } from '../../model/objects/object-key.ts';
import { compareText, isSameList, type JsonObject, type JsonValue, jsonEquals } from '../../model/text/json.ts';
import type { Collection, Contribution, Derived, Graph } from '../collections/types.ts';
import type { TargetValue } from '../fleet/clusters.ts';
import { isSameOrigin } from '../fleet/elect.ts';
import { type Maker, type Visibility, whyUnseen } from '../fleet/safe-mode.ts';
import { declares, provesAbsence, type SourceProof } from '../fleet/sources.ts';
import type { Candidate } from '../placement/wants.ts';
import { type Electorate, electCandidate, meetsRequirement, originsOf, type Subject } from './election.ts';
import { onlyPlaces, type RefusedReads, whyMoved, whyNotAllowed } from './not-allowed.ts';
import { whyNoStatus, whyNotTaken } from './not-taken.ts';
import { whyTooLarge } from './too-large.ts';

/** An object that a cluster should hold. */
export interface ObjectDecision extends ObjectMeta {
  readonly type: 'object';
  readonly value: JsonObject;
  readonly digest: Digest;
  /** A domain wants it. */
  readonly isDerived?: true;
  /** The name of the domain that makes it; absent: a document declares it. */
  readonly madeBy?: string;
}

/** The object stays as it is in the cluster. */
export interface KeepDecision extends ObjectMeta, Hold {
  readonly type: 'keep';
  readonly digest: Digest;
  /** From the ledger entry. */
  readonly serves?: string;
  /** A domain wants it. */
  readonly isDerived?: true;
}

/** The object is to be removed: all its origins prove its absence. */
export interface Removal extends ObjectMeta {
  readonly type: 'remove';
  readonly digest: Digest;
  /** From the ledger entry. */
  readonly unproven?: true;
  /** Why the agent never removes the object, but only ends to manage it; absent: it removes it. */
  readonly stays?: Hold;
}

/**
 * What to do with one key of one cluster, before the guards. `absent`: the object is wanted, cannot be made, and is not in
 * the cluster. `removing`: the agent has accepted the removal. `left`: the cluster is not registered any more; the object
 * stays and is not counted.
 */
export type Decision =
  | ObjectDecision
  | KeepDecision
  | (Hold & { readonly type: 'absent'; readonly origins: readonly Origin[] })
  | Removal
  | (ObjectMeta & { readonly type: 'removing'; readonly digest: Digest })
  | (ObjectMeta & { readonly type: 'left'; readonly digest: Digest });

/** Messages for two wants of one domain with one key in a cluster. */
export interface Collisions {
  /** One document wants several objects with the key, and it is unknown which one the cluster has. */
  readonly contested: Hold;
  /** The object that a want requires may stand for another live object. */
  readonly requirementUnclear: Hold;
  /** Advice for people: "so rename the other". */
  readonly advice: string;
}

interface DecisionInputs extends Electorate, Visibility {
  readonly targets: Collection<TargetValue>;
  readonly refused: RefusedReads;
  /** By the name of the domain. */
  readonly collisions: ReadonlyMap<string, Collisions>;
}

/**
 * Decides for each key that is wanted or owned: a removal needs proof, otherwise the object is kept. Reads without a scope,
 * because the guards judge all decisions together; `scope` of a decision lists the clusters that it can depend on.
 */
export function deriveDecisions(graph: Graph, inputs: DecisionInputs): Derived<Decision> {
  const { candidates, ledger, contenders, clusters, targets, sources, results, proofs, refused } = inputs;
  const { safeMode, snapshots, kinds, live } = inputs;
  return graph.join<readonly Contribution<Candidate>[], LedgerEntry, Decision>({
    name: 'decisions',
    left: candidates,
    right: ledger,
    reads: [
      contenders,
      clusters,
      targets,
      sources,
      results,
      ...proofs.reads,
      refused.rights,
      refused.documentsByFile,
      refused.sharedByKey,
      refused.refusedPlacementsByFolder,
      ...Object.values(refused.placementIndexes),
      inputs.files,
      refused.placementsByFile,
      ...refused.barred,
      safeMode.mode,
      safeMode.unseen,
      safeMode.bySnapshot,
      snapshots,
      kinds,
      live,
    ],
    seesAll: true,
    equals: sameDecision,
    compute: ({ partition: cluster, key: text, left = [], right: entry }, read, emit) => {
      const key = text as ObjectKey;
      const target = read.get(targets, '', cluster);
      if (target === undefined) {
        if (entry !== undefined) emit(cluster, key, { type: 'left', ...entryMeta(entry) });
        return;
      }
      const wanting = left.map(({ value }) => value);
      const isDerived = wanting.some(({ derived }) => derived !== undefined);
      const at = { read, inputs, cluster, key, entry, target, isDerived };
      const possible = wanting.filter((candidate) => meetsRequirement(at, candidate) !== 'no');
      const decision = decide(at, possible);
      if (decision === undefined) return;
      const required = wanting.flatMap(({ derived }) => derived?.requires?.key ?? []);
      const besides = required.flatMap((each) => read.get(ledger, cluster, each)?.scope ?? []);
      const seen = whileSeen(at, decision, besides);
      emit(cluster, key, isDerived && seen.type === 'keep' ? { ...seen, isDerived } : seen);
    },
  });
}

/** One key of one cluster, and what its decision reads. */
interface DecisionSubject extends Subject {
  readonly inputs: DecisionInputs;
  readonly key: ObjectKey;
  readonly target: TargetValue;
  /** A domain wants the object: the domain's status counts it. */
  readonly isDerived: boolean;
}

/** Decides by wants and ownership. {@link whileSeen} checks the visibility of clusters afterwards. */
function decide(at: DecisionSubject, candidates: readonly Candidate[]): Decision | undefined {
  const { inputs, entry, key, target, isDerived } = at;
  const standing = electCandidate(at, candidates);
  if (standing.type === 'won') {
    const { value } = standing.winner;
    const origins = originsOf(at, value, candidates);
    if (value.scopeUnknown) return stay(entry, origins, kindUnknown);
    const refusal =
      refusedInOwnNamespace(key, target.ownNamespace) ?? whyNotTaken(key, target) ?? whyNoStatus(key, value.value);
    if (refusal !== undefined) return waiting(entry, origins, refusal);
    const { derived } = value;
    const decision = objectDecision(value, origins, isDerived);
    const isUnclear = meetsRequirement(at, value) !== 'yes';
    const unclearWhich = isUnclear ? collisionsOf(inputs, [value]).requirementUnclear : undefined;
    // What the cluster has is not sent again.
    const tooLarge = hasContent(entry, value.digest) ? undefined : whyTooLarge(key, value, decision, target);
    if (tooLarge !== undefined) return waiting(entry, origins, tooLarge);
    const wait = unclearWhich ?? derived?.waits ?? whyIncomplete(at, value);
    if (wait === undefined || isInForce(decision, entry)) return decision;
    return waiting(entry, origins, wait);
  }
  if (entry === undefined) return undefined;
  if (standing.type === 'contested') return keep(entry, collisionsOf(inputs, candidates).contested);
  return unwanted(at, entry);
}

function objectDecision(candidate: Candidate, origins: readonly Origin[], isDerived: boolean): ObjectDecision {
  const { value, digest, scope, derived, driftMode } = candidate;
  // There are many, and an object that is written member by member is the smallest.
  const decision: ObjectDecision =
    derived !== undefined
      ? { type: 'object', value, digest, origins, scope, isDerived: true, madeBy: derived.domain }
      : isDerived
        ? { type: 'object', value, digest, origins, scope, isDerived }
        : { type: 'object', value, digest, origins, scope };
  return driftMode === undefined ? decision : { ...decision, driftMode };
}

/** Whether the cluster has an object of this content, and its agent has not lost it. */
function hasContent(entry: LedgerEntry | undefined, digest: Digest): boolean {
  return entry !== undefined && entry.digest === digest && entry.phase === 'accepted' && entry.lost !== true;
}

/**
 * Why the content of an object in the cluster stays that was computed from declarations of several files. Declarations hold as
 * last known good, unless the ledger was lost: then one in a file that cannot be read is missing, and what it gave would be
 * removed without proof. The content of an entry with `serves` was sent after that.
 */
function whyIncomplete({ read, inputs, entry }: DecisionSubject, { derived, digest }: Candidate): Hold | undefined {
  if (derived?.declaredIn === undefined || entry === undefined) return undefined;
  if (entry.serves !== undefined || entry.digest === digest || !inputs.proofs.hasDoubt(read)) return undefined;
  return {
    reason: 'SourcePartial',
    message: 'a source that cannot be read completely may declare more of its content',
  };
}

/** The messages of the domain of the first derived candidate. */
function collisionsOf({ collisions }: DecisionInputs, candidates: readonly Candidate[]): Omit<Collisions, 'advice'> {
  const domain = candidates.find(({ derived }) => derived !== undefined)?.derived?.domain;
  return collisions.get(domain ?? '') ?? { contested: unclear, requirementUnclear: unclear };
}

const unclear: Hold = { reason: 'NameCollision', message: 'several objects have this name here' };
const kindUnknown: Hold = {
  reason: 'KindUnknown',
  message: 'nobody knows whether this kind is namespaced: name a namespace, or bring its CustomResourceDefinition',
};
const originUnknown: Hold = {
  reason: 'OriginUnknown',
  message: 'nothing proves that this fleet has sent it, and its agent does not say which file it comes from',
};
const ruleInDoubt: Hold = {
  reason: 'PlacementInDoubt',
  message: 'it is still declared, and a source that cannot be read whole may hold the rule that placed it',
};

/**
 * Replaces a change by a keep while a cluster that it can depend on is not visible. `besides`: clusters that a required object
 * can depend on.
 */
function whileSeen(
  { read, inputs, key, entry }: DecisionSubject,
  decision: Decision,
  besides: readonly string[],
): Decision {
  const { type } = decision;
  if ((type !== 'object' && type !== 'remove') || isInForce(decision, entry)) return decision;
  const scope = [...new Set([...decision.scope, ...(entry?.scope ?? []), ...besides])];
  const makers = makersOf(decision, entry, scope);
  // What another domain makes instead removes what the former one has made.
  const isReplaced = type === 'object' && ![undefined, decision.madeBy].includes(entry?.madeBy) && makers.length > 1;
  const hold = whyUnseen(read, inputs, { key, type: isReplaced ? 'remove' : type, scope, entry, makers });
  if (hold === undefined) return decision;
  return waiting(entry, decision.origins, hold);
}

/**
 * The makers of the object and of the one that the cluster has. An unknown maker is added if the change can depend on clusters of
 * contenders or required objects.
 */
function makersOf(
  decision: ObjectDecision | Removal,
  entry: LedgerEntry | undefined,
  scope: readonly string[],
): readonly Maker[] {
  if (scope.length === 0) return [];
  const made = decision.type === 'object' && decision.madeBy !== undefined ? [decision.madeBy] : [];
  const before = entry !== undefined && entry.scope.length > 0 ? [entry.madeBy] : [];
  const known = new Set<string>([...(made.length > 0 ? decision.scope : []), ...(entry?.scope ?? [])]);
  return [...made, ...before, ...(scope.every((cluster) => known.has(cluster)) ? [] : [undefined])];
}

/** Whether the cluster already has the object with this content, these origins and this scope. */
function isInForce(decision: Decision, entry: LedgerEntry | undefined): boolean {
  if (decision.type !== 'object' || entry === undefined || entry.phase === 'removing') return false;
  return entry.digest === decision.digest && hasMaker(entry, decision) && sameMeta(entry, decision);
}

/** Whether the ledger names the maker of the object, as far as it is known. */
export function hasMaker(entry: LedgerEntry, { madeBy }: ObjectDecision): boolean {
  return entry.madeBy === undefined || entry.madeBy === madeBy;
}

/** No candidate: removes only if every origin and every contender was read completely and omits the key. */
function unwanted({ read, inputs, cluster, key, target }: DecisionSubject, entry: LedgerEntry): Decision {
  const { proofs, refused, contenders } = inputs;
  if (entry.phase === 'removing') return { type: 'removing', ...entryMeta(entry) };
  if (entry.unproven === true && entry.origins.length === 0) return keep(entry, originUnknown);
  const isDoubtful = (origin: Origin): boolean =>
    !provesAbsence(proofs.of(read, origin.source)) &&
    (origin === entry.origins[0] || !onlyPlaces(read, refused, origin, key));
  // Most keeps need not read the contenders.
  const own = entry.origins.find(isDoubtful);
  const others = own === undefined ? read.get(contenders, cluster, key) : undefined;
  const doubtful = own ?? others?.origins.find(isDoubtful);
  if (doubtful !== undefined) {
    const why = read.get(inputs.files, doubtful.source, doubtful.path)?.notRead;
    return keep(entry, whyDoubtful(doubtful, proofs.of(read, doubtful.source), why));
  }
  // A document still declares the object and no rule places it: the rule may be in any source.
  const declaring = [...entry.origins, ...(others?.origins ?? [])];
  const isDeclared = (origin: Origin): boolean => declares(read, refused.documentsByFile, origin, key).length > 0;
  if (declaring.some(isDeclared) && proofs.hasDoubt(read)) return keep(entry, ruleInDoubt);
  const mayDeclare = (source: string): boolean => !provesAbsence(proofs.of(read, source));
  const moved = whyMoved(read, refused, { cluster, key, entry }, { declaring, isDoubtful: mayDeclare });
  if (moved !== undefined) return keep(entry, moved);
  const notAllowed = whyNotAllowed(read, refused, { cluster, key, entry });
  if (notAllowed !== undefined) return keep(entry, { reason: notAllowed.reason, message: notAllowed.message });
  const notTaken = whyNotTaken(key, target);
  if (notTaken !== undefined) return keep(entry, notTaken);
  const scope = others === undefined ? entry.scope : [...new Set([...entry.scope, ...others.scope])].sort(compareText);
  const stays = whyNeverRemoved(key, target);
  return {
    type: 'remove',
    ...entryMeta(entry),
    scope,
    ...(entry.unproven === true ? { unproven: true } : {}),
    ...(stays === undefined ? {} : { stays }),
  };
}

function whyNeverRemoved(key: ObjectKey, { ownNamespace, hasApiServer }: TargetValue): Hold | undefined {
  // The end of a status removes no object.
  if (isStatusKey(key)) return undefined;
  return refusedInOwnNamespace(key, ownNamespace) ?? (hasApiServer ? refusedAsLasting(key) : undefined);
}

/** @param why its file is of another tool, or claimed by one */
function whyDoubtful({ source, path }: Origin, proof: SourceProof, why: string | undefined): Hold {
  if (proof === 'unread') return { reason: 'SourceNotRead', message: `source ${source} has not been read yet` };
  if (why !== undefined) return { reason: 'FileNotRead', message: `its file ${path} is not read any more: ${why}` };
  const message = `source ${source} has files that cannot be read, so it removes nothing (declared in ${path})`;
  return { reason: 'SourcePartial', message };
}

/** As {@link stay}, but a removal that the agent has accepted goes on. */
function waiting(entry: LedgerEntry | undefined, origins: readonly Origin[], hold: Hold): Decision {
  return entry?.phase === 'removing' ? { type: 'removing', ...entryMeta(entry) } : stay(entry, origins, hold);
}

/** The object stays as it is: kept if the cluster has it, absent if not. */
function stay(entry: LedgerEntry | undefined, origins: readonly Origin[], hold: Hold): Decision {
  return entry === undefined ? { type: 'absent', origins, ...hold } : keep(entry, hold);
}

function keep(entry: LedgerEntry, hold: Hold): KeepDecision {
  const { serves } = entry;
  return { type: 'keep', ...entryMeta(entry), ...(serves === undefined ? {} : { serves }), ...hold };
}

function entryMeta({ digest, origins, scope }: LedgerEntry): ObjectMeta & { readonly digest: Digest } {
  return { digest, origins, scope };
}

/** Whether both have the same metadata. */
export function sameMeta(a: ObjectMeta, b: ObjectMeta): boolean {
  if (!isSameList(a.scope, b.scope) || a.stopped !== b.stopped || a.driftMode !== b.driftMode) return false;
  if (a.origins === b.origins) return true;
  return a.origins.length === b.origins.length && a.origins.every((origin, at) => isSameOrigin(origin, b.origins[at]));
}

/** Equality by value. Most equal decisions share the object of the manifest. */
function sameDecision(a: Decision, b: Decision): boolean {
  if (a.type !== b.type) return false;
  if (a.type === 'object' && b.type === 'object' && a.value !== b.value && !jsonEquals(a.value, b.value)) return false;
  return jsonEquals(withoutValue(a), withoutValue(b));
}

function withoutValue(decision: Decision): JsonValue {
  const { value: _value, ...rest } = decision as Decision & { value?: JsonObject };
  return rest as unknown as JsonValue;
}
