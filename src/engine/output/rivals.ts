import type { LiveObject } from '../../model/agent.ts';
import { compareText } from '../../model/json.ts';
import type { LedgerEntry } from '../../model/ledger.ts';
import type { Origin } from '../../model/output.ts';
import type { Collection, Contribution, Index, Reader } from '../collections/types.ts';
import { type Claim, type Election, elect } from '../fleet/elect.ts';
import { proofOf, provesAbsence, type SourceProof } from '../fleet/sources.ts';
import type { SourceValue } from '../inputs.ts';
import type { Candidate } from '../placement/candidates.ts';
import type { Hold } from './decision.ts';

/** A candidate for a key that others may want as well. */
type Rival = Claim<Candidate>;

/** What an election reads. */
export interface Electorate {
  readonly candidates: Collection<readonly Contribution<Candidate>[]>;
  readonly ledger: Collection<LedgerEntry>;
  readonly sources: Collection<SourceValue>;
  readonly proofs: Collection<SourceProof>;
  readonly doubts: Index<SourceProof>;
  /** What is ours because it was mirrored is not in it. */
  readonly live: Collection<LiveObject>;
}

/** `contested`: the document that has the key wants several things under it, and it cannot be told which one it was. */
export type Standing = Election<Candidate> | { readonly type: 'contested' };

/** Who has a key that is wanted, by what the cluster holds under it. */
export function electCandidate(
  read: Reader,
  { sources, proofs, doubts }: Electorate,
  contributions: readonly Contribution<Candidate>[],
  entry: LedgerEntry | undefined,
): Standing {
  const rivals = incumbentFirst(
    contributions.map(({ value }) => ({ origin: value.origin, identity: value.identity, value })),
    entry,
  );
  const election = elect(
    rivals.claims,
    entry?.origins[0],
    (source) => read.get(sources, '', source)?.order ?? Number.MAX_SAFE_INTEGER,
    ({ source }) => provesAbsence(proofOf(read, proofs, doubts, source)),
  );
  const isContested = election.type === 'won' && entry !== undefined && rivals.isOpen && isFrom(election.winner, entry);
  return isContested ? { type: 'contested' } : election;
}

/**
 * Everybody whose silence a removal needs: whoever has the key, then each other source that wants it as well, by its first
 * file. One that was among them and cannot be read whole just now may still want it.
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
 * Whether the name under which addresses would be known is that of their own service. Two services can have one name where
 * they are mirrored, while their slices have several: those of the other one must not be taken for its own.
 */
export function hasNameOfItsService(
  read: Reader,
  electorate: Electorate,
  cluster: string,
  { addressesOf, scope }: Candidate,
): 'yes' | 'no' | 'unclear' {
  if (addressesOf === undefined) return 'yes';
  const { candidates, ledger, live } = electorate;
  // Somebody else has a Service of that name there: whoever calls it would be led here.
  if (read.get(live, cluster, addressesOf.key) !== undefined) return 'no';
  const wanted = read.get(candidates, cluster, addressesOf.key) ?? [];
  const standing = electCandidate(read, electorate, wanted, read.get(ledger, cluster, addressesOf.key));
  if (standing.type !== 'won') return 'unclear';
  const { mirrors, scope: theirs } = standing.winner.value;
  return mirrors === addressesOf.of && sameTexts(theirs, scope) ? 'yes' : 'no';
}

/**
 * Of several that one document wants under one key, as a ServiceMirror can of services whose names join to the same, the
 * one that the cluster holds comes first: it was computed from the same clusters, and has the same content. `isOpen`: that
 * cannot be told, because the content has changed as well.
 */
function incumbentFirst(
  claims: readonly Rival[],
  entry: LedgerEntry | undefined,
): { readonly claims: readonly Rival[]; readonly isOpen: boolean } {
  if (entry === undefined || entry.scope.length === 0 || claims.length < 2) return { claims, isOpen: false };
  const near = claims.filter((claim) => isFrom(claim, entry) && sameTexts(claim.value.scope, entry.scope));
  const same = near.find(({ value }) => value.digest === entry.digest);
  const [first] = same === undefined ? near : [same];
  if (first === undefined) return { claims, isOpen: false };
  return {
    claims: [first, ...claims.filter((claim) => claim !== first)],
    // Several mirrors may take one service: they want the same.
    isOpen: same === undefined && near.some(({ value }) => value.mirrors !== first.value.mirrors),
  };
}

/** Does the document that the entry came from want it? */
function isFrom({ origin }: Rival, { origins: [incumbent] }: LedgerEntry): boolean {
  return incumbent !== undefined && origin.source === incumbent.source && origin.path === incumbent.path;
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}

/** Said of what is there and {@link electCandidate} cannot tell. */
export const contested: Hold = {
  reason: 'NameCollision',
  message:
    'several services of one cluster have this name when they are mirrored, and it cannot be told which one it is',
};

/** Said of addresses whose service may not be the one of that name. */
export const unclearName: Hold = {
  reason: 'NameCollision',
  message: 'the Service of this name may stand for another one, and its addresses are not mixed with those of others',
};
