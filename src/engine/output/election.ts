import type { LiveObject } from '../../model/agent.ts';
import { compareText } from '../../model/json.ts';
import type { LedgerEntry } from '../../model/ledger.ts';
import type { Origin } from '../../model/output.ts';
import type { Collection, Contribution, Index, Reader } from '../collections/types.ts';
import { type Contender, type Election, elect } from '../fleet/elect.ts';
import { proofOf, provesAbsence, type SourceProof } from '../fleet/sources.ts';
import type { SourceValue } from '../inputs.ts';
import type { Candidate } from '../placement/candidates.ts';
import { sameLive } from '../placement/want.ts';

/** A candidate for a key that others may want as well. */
type KeyContender = Contender<Candidate>;

/** What an election reads. */
export interface Electorate {
  readonly candidates: Collection<readonly Contribution<Candidate>[]>;
  readonly ledger: Collection<LedgerEntry>;
  readonly sources: Collection<SourceValue>;
  readonly proofs: Collection<SourceProof>;
  readonly doubts: Index<SourceProof>;
  /** Derived objects of ours are not in it. */
  readonly live: Collection<LiveObject>;
}

/** `contested`: the document that has the key wants several things under it; which one the cluster holds is unknown. */
export type Standing = Election<Candidate> | { readonly type: 'contested' };

/** Elects the candidate of a key; the entry of the ledger says which one the cluster holds. */
export function electCandidate(
  read: Reader,
  { sources, proofs, doubts }: Electorate,
  contributions: readonly Contribution<Candidate>[],
  entry: LedgerEntry | undefined,
): Standing {
  const contenders = incumbentFirst(
    contributions.map(({ value }) => ({ origin: value.origin, identity: value.identity, value })),
    entry,
  );
  const election = elect(
    contenders.claims,
    entry?.origins[0],
    (source) => read.get(sources, '', source)?.order ?? Number.MAX_SAFE_INTEGER,
    ({ source }) => provesAbsence(proofOf(read, proofs, doubts, source)),
  );
  const isContested =
    election.type === 'won' && entry !== undefined && contenders.isOpen && isFrom(election.winner, entry);
  return isContested ? { type: 'contested' } : election;
}

/**
 * The origins that must all prove absence before the key is removed: the winner's, then one of each other source that
 * declares the key (its first file). A source of the ledger entry that cannot be read completely may still declare it.
 */
export function claimsOf(
  { origin: winner }: Candidate,
  contributions: readonly Contribution<Candidate>[],
  entry: LedgerEntry | undefined,
  proves: (origin: Origin) => SourceProof,
): readonly Origin[] {
  const claims = new Map<string, Origin>();
  const note = (origin: Origin): void => {
    if (origin.source === winner.source) return;
    const known = claims.get(origin.source);
    if (known === undefined || compareText(origin.path, known.path) < 0) claims.set(origin.source, origin);
  };
  for (const { value } of contributions) note(value.origin);
  for (const origin of entry?.origins ?? []) {
    const mayStill = origin.source !== winner.source && !claims.has(origin.source) && !provesAbsence(proves(origin));
    if (mayStill) claims.set(origin.source, origin);
  }
  return [winner, ...[...claims.values()].sort((a, b) => compareText(a.source, b.source))];
}

/**
 * Whether the object that a candidate requires is the right one. Two live objects can get one name in another cluster: an
 * EndpointSlice of the one must not be taken for an address of the other one's Service.
 */
export function meetsRequirement(
  read: Reader,
  electorate: Electorate,
  cluster: string,
  { derived }: Candidate,
): 'yes' | 'no' | 'unclear' {
  const requires = derived?.requires;
  if (requires === undefined) return 'yes';
  const { candidates, ledger, live } = electorate;
  // Another owner has an object of that name in the cluster: its clients would be led here.
  if (read.get(live, cluster, requires.key) !== undefined) return 'no';
  const wanted = read.get(candidates, cluster, requires.key) ?? [];
  const standing = electCandidate(read, electorate, wanted, read.get(ledger, cluster, requires.key));
  if (standing.type !== 'won') return 'unclear';
  return sameLive(standing.winner.value.derived?.standsFor, requires.standsFor) ? 'yes' : 'no';
}

/**
 * One declaration can derive several objects with the same key, if the names of two live objects are translated to one. The
 * one that the cluster holds comes first: it was computed from the same clusters and has the same content. `isOpen`: which
 * one it is cannot be told, because the content has changed as well.
 */
function incumbentFirst(
  claims: readonly KeyContender[],
  entry: LedgerEntry | undefined,
): { readonly claims: readonly KeyContender[]; readonly isOpen: boolean } {
  if (entry === undefined || entry.scope.length === 0 || claims.length < 2) return { claims, isOpen: false };
  const near = claims.filter((claim) => isFrom(claim, entry) && sameTexts(claim.value.scope, entry.scope));
  const same = near.find(({ value }) => value.digest === entry.digest);
  const [first] = same === undefined ? near : [same];
  if (first === undefined) return { claims, isOpen: false };
  return {
    claims: [first, ...claims.filter((claim) => claim !== first)],
    // Several declarations may derive the same object: then they want the same.
    isOpen:
      same === undefined &&
      near.some(({ value }) => !sameLive(value.derived?.standsFor, first.value.derived?.standsFor)),
  };
}

/** Does the document that the entry came from want it? */
function isFrom({ origin }: KeyContender, { origins: [incumbent] }: LedgerEntry): boolean {
  return incumbent !== undefined && origin.source === incumbent.source && origin.path === incumbent.path;
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}
