import type { LedgerEntry } from '../../model/fleet/ledger.ts';
import type { Origin } from '../../model/fleet/output.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import { compareText, isSameList } from '../../model/text/json.ts';
import type { Collection, Contribution, Reader } from '../collections/types.ts';
import { type Contender, type Election, elect, isSameOrigin } from '../fleet/elect.ts';
import { provesAbsence, type SourceProofs } from '../fleet/sources.ts';
import type { EngineInputs } from '../inputs.ts';
import { type Candidate, sameOriginal } from '../placement/wants.ts';

/** What elections of candidates read. */
export interface Electorate extends EngineInputs {
  readonly candidates: Collection<readonly Contribution<Candidate>[]>;
  readonly proofs: SourceProofs;
  /** The names of the domains, in their order. */
  readonly domainOrder: readonly string[];
}

/** One key of one cluster, and what its election reads. */
export interface Subject {
  readonly read: Reader;
  readonly inputs: Electorate;
  readonly cluster: string;
  readonly entry: LedgerEntry | undefined;
}

/** `contested`: the document of the owned object wants several objects with the key; it is unknown which one is owned. */
export type Standing = Election<Candidate> | { readonly type: 'contested' };

/** Elects the candidate of a key. The ledger entry identifies the incumbent. */
export function electCandidate({ read, inputs, entry }: Subject, candidates: readonly Candidate[]): Standing {
  const { contenders, isOpen } = incumbentFirst(candidates.map(contenderOf), entry);
  const election = elect(
    contenders,
    entry?.origins[0],
    (source) => read.get(inputs.sources, '', source)?.order ?? Number.MAX_SAFE_INTEGER,
    ({ source }) => provesAbsence(inputs.proofs.of(read, source)),
    (all) => withoutLaterDomains(all, inputs.domainOrder, entry?.madeBy),
  );
  return election.type === 'won' && isOpen && isFrom(election.winner, entry) ? { type: 'contested' } : election;
}

/** Leaves contenders of one domain: the domain that has the object, else the first. Contenders that no domain has made stay. */
function withoutLaterDomains(
  contenders: readonly Contender<Candidate>[],
  order: readonly string[],
  incumbent: string | undefined,
): readonly Contender<Candidate>[] {
  if (contenders.length < 2) return contenders;
  const rankOf = ({ value: { derived } }: Contender<Candidate>): number =>
    derived?.domain === incumbent ? -1 : order.indexOf(derived?.domain ?? '');
  const first = Math.min(...contenders.filter(({ value }) => value.derived !== undefined).map(rankOf));
  return contenders.filter((each) => each.value.derived === undefined || rankOf(each) === first);
}

function contenderOf(value: Candidate): Contender<Candidate> {
  return { origin: value.origin, identity: value.identity, value };
}

/**
 * The origins of an elected object, which must all prove its absence before it is removed: the winner's, then one (the first
 * file) of each other source that declares the key, what its content is computed from, or the Placement that places it here. A
 * source of the ledger entry that cannot be read completely may still declare it.
 */
export function originsOf(
  { read, inputs, entry }: Subject,
  { origin: winner }: Candidate,
  candidates: readonly Candidate[],
): readonly Origin[] {
  const only = entry?.origins.length === 1 ? entry.origins : undefined;
  const isSole =
    candidates.length === 1 &&
    candidates[0]?.derived?.declaredIn === undefined &&
    candidates[0]?.placedBy === undefined;
  // The common case. The list of the entry is taken, which clusters share.
  if (isSole && only !== undefined && isSameOrigin(winner, only[0])) return only;
  if (isSole && entry === undefined) return aloneOf(winner);
  const others = new Map<string, Origin>();
  const named = candidates.flatMap(({ origin, derived, placedBy }) => [
    origin,
    ...(derived?.declaredIn ?? []),
    ...(placedBy === undefined ? [] : [placedBy]),
  ]);
  for (const origin of named) {
    const known = others.get(origin.source);
    if (known === undefined || compareText(origin.path, known.path) < 0) others.set(origin.source, origin);
  }
  for (const origin of entry?.origins ?? []) {
    const isKnown = others.has(origin.source);
    if (!isKnown && !provesAbsence(inputs.proofs.of(read, origin.source))) others.set(origin.source, origin);
  }
  others.delete(winner.source);
  return [winner, ...[...others.values()].sort((a, b) => compareText(a.source, b.source))];
}

const alone = new WeakMap<Origin, readonly Origin[]>();

/** The list of one origin. It is the same list each time, which objects share. */
function aloneOf(origin: Origin): readonly Origin[] {
  const known = alone.get(origin) ?? [origin];
  alone.set(origin, known);
  return known;
}

/**
 * Whether the object that a candidate requires is the right one. Two Services can have one name when they are mirrored: an
 * EndpointSlice of one must not add addresses to the Service of the other.
 */
export function meetsRequirement(at: Subject, { derived, scope }: Candidate): 'yes' | 'no' | 'unclear' {
  const requires = derived?.requires;
  if (requires === undefined) return 'yes';
  const { read, inputs, cluster } = at;
  if (read.get(inputs.live, cluster, requires.key) !== undefined) {
    // Another owner may have an object of that name in the cluster, whose clients would get these addresses.
    const isOwn = scope.length > 0 ? 'no' : isOwned(at, requires.key);
    if (isOwn !== 'yes') return isOwn;
  }
  const wanting = (read.get(inputs.candidates, cluster, requires.key) ?? []).map(({ value }) => value);
  const entry = read.get(inputs.ledger, cluster, requires.key);
  const standing = electCandidate({ read, inputs, cluster, entry }, wanting);
  if (standing.type !== 'won') return 'unclear';
  return sameOriginal(standing.winner.value.derived?.standsFor, requires.standsFor) ? 'yes' : 'no';
}

/** Whether fleetrelay owns a live object. Agents report those that no live state could change, such as a person has edited. */
function isOwned({ read, inputs, cluster }: Subject, key: ObjectKey): 'yes' | 'no' | 'unclear' {
  if (read.get(inputs.ledger, cluster, key) === undefined) return 'no';
  const result = read.get(inputs.results, cluster, key);
  return result === undefined ? 'unclear' : result.state === 'conflict' ? 'no' : 'yes';
}

/**
 * Puts the contender first that the cluster has. One declaration can derive several objects with one key, if the names of
 * two originals are translated to one; the owned one has the scope and the content of the ledger entry. `isOpen`: the
 * content has changed too, so it is unknown which one is owned.
 */
function incumbentFirst(
  contenders: readonly Contender<Candidate>[],
  entry: LedgerEntry | undefined,
): { readonly contenders: readonly Contender<Candidate>[]; readonly isOpen: boolean } {
  const isDeclared = contenders.every(({ value }) => value.derived === undefined);
  if (entry === undefined || isDeclared || contenders.length < 2) return { contenders, isOpen: false };
  const isMadeSo = ({ value: { derived } }: Contender<Candidate>): boolean =>
    entry.madeBy === undefined || derived?.domain === entry.madeBy;
  const near = contenders.filter(
    (each) => isFrom(each, entry) && isMadeSo(each) && isSameList(each.value.scope, entry.scope),
  );
  const same = near.find(({ value }) => value.digest === entry.digest);
  const first = same ?? near[0];
  if (first === undefined) {
    const own = contenders.filter((each) => isFrom(each, entry) && isMadeSo(each));
    return { contenders: [...own, ...contenders.filter((each) => !own.includes(each))], isOpen: false };
  }
  return {
    contenders: [first, ...contenders.filter((each) => each !== first)],
    // Several contenders that stand for the same original want the same.
    isOpen:
      same === undefined &&
      near.some(({ value }) => !sameOriginal(value.derived?.standsFor, first.value.derived?.standsFor)),
  };
}

/** Whether the document of the ledger entry declares the contender. */
function isFrom({ origin }: Contender<Candidate>, entry: LedgerEntry | undefined): boolean {
  return isSameOrigin(origin, entry?.origins[0]);
}
