import { compareComputations } from './computation.ts';
import { changed } from './propagate.ts';
import {
  absent,
  type Cell,
  type Claim,
  type Claims,
  type Computation,
  type DerivedNode,
  type DerivedOrigin,
  type Touch,
} from './state.ts';
import { releaseCell, sameValue, scopeOfCell, writeValue } from './storage.ts';
import type { Contribution } from './types.ts';

/** Gives a value for a cell. Takes effect in {@link settleClaims}. */
export function addClaim(node: DerivedNode, cell: Cell, claim: Claim): void {
  touch(node, cell).added.push(claim);
}

/** Takes back what a computation gave for a cell. Takes effect in {@link settleClaims}. */
export function withdrawClaims(node: DerivedNode, cell: Cell, by: Computation): void {
  touch(node, cell).withdrawn.push(by);
}

function touch(node: DerivedNode, cell: Cell): Touch {
  const origin = cell.origin as DerivedOrigin;
  if (origin?.kind === 'touch') return origin;
  const before = origin as Computation | Claims | undefined;
  const made: Touch = { kind: 'touch', cell, origin: before, scope: scopeOfCell(cell), withdrawn: [], added: [] };
  cell.origin = made;
  node.touched.push(made);
  return made;
}

/** Decides every touched cell, once, and tells of those whose value or scope is another than before. */
export function settleClaims(node: DerivedNode): void {
  const { touched } = node;
  if (touched.length === 0) return;
  node.touched = [];
  for (const one of touched) settle(node, one);
}

function settle(node: DerivedNode, touched: Touch): void {
  const { cell, origin, scope: scopeBefore } = touched;
  const { scopes } = node.kernel;
  const claims = claimsAfter(touched);
  const [first] = claims;
  const before = cell.value;
  const next = first === undefined ? absent : node.store.gathers ? listOf(cell, origin, claims) : first.value;
  if (first !== undefined && (node.store.gathers || claims.length > 1)) {
    // Held before the old scope is let go, so that the same set stays the same object.
    const scope = scopes.holdJoined(claims.map((claim) => claim.scope));
    cell.origin = { kind: 'claims', list: claims, scope } satisfies Claims;
  } else cell.origin = first?.by;
  if (!node.store.gathers) noteLosers(node, cell, origin, claims);
  const same = sameValue(node.store, before, next);
  if (!same) writeValue(cell, next);
  const rescoped = scopeOfCell(cell) !== scopeBefore || (node.store.scoped && !sameForAll(node, touched, claims));
  if (!same || rescoped) changed(cell, before, scopeBefore, rescoped);
  if (origin?.kind === 'claims') scopes.release(origin.scope);
  releaseCell(cell);
}

/** The claims that count from now on, in canonical order; several of one computation in the order it gave them. */
function claimsAfter(touched: Touch): readonly Claim[] {
  const { origin, withdrawn, added } = touched;
  if (origin === undefined) return added.length > 1 ? added.sort(compareClaims) : added;
  const gone = new Set(withdrawn);
  const before: readonly Claim[] = origin.kind === 'claims' ? origin.list : [soleClaim(touched)];
  const claims = before.filter(({ by }) => !gone.has(by));
  if (added.length === 0) return claims;
  return [...claims, ...added].sort(compareClaims);
}

/** The claim of a cell that had one giver, which takes no object while nothing is decided. */
function soleClaim({ cell, origin, scope }: Touch): Claim {
  return { by: origin as Computation, value: cell.value, scope };
}

/**
 * Whether also those who see only some of the claims, because of their scope, see the same as before; said of a cell
 * whose value as a whole is the same.
 */
function sameForAll({ store }: DerivedNode, { origin }: Touch, claims: readonly Claim[]): boolean {
  const before = origin?.kind === 'claims' ? origin.list : [];
  const after = store.gathers || claims.length > 1 ? claims : [];
  if (before.length !== after.length) return false;
  return before.every(({ by, value, scope }, place) => {
    const other = after[place] as Claim;
    return by === other.by && scope === other.scope && (store.gathers || sameValue(store, value, other.value));
  });
}

function compareClaims(a: Claim, b: Claim): number {
  return compareComputations(a.by, b.by);
}

/** A gathered value. Contributions that stay are the same objects as before: both lists are in the same order. */
function listOf(cell: Cell, origin: Touch['origin'], claims: readonly Claim[]): readonly Contribution<unknown>[] {
  const claimsBefore = origin?.kind === 'claims' ? origin.list : [];
  const listBefore = origin === undefined ? [] : (cell.value as readonly Contribution<unknown>[]);
  const places = new Map(claimsBefore.map((claim, place) => [claim, place]));
  return Object.freeze(claims.map((claim) => listBefore[places.get(claim) ?? -1] ?? contributionOf(claim)));
}

function contributionOf({ by: { primary }, value }: Claim): Contribution<unknown> {
  return { from: { partition: primary.partition.name, key: primary.key }, value };
}

/** Keeps, per computation, the keys that another one has won; `settleFailures` makes failures of them. */
function noteLosers(node: DerivedNode, cell: Cell, origin: Touch['origin'], claims: readonly Claim[]): void {
  const losersBefore = origin?.kind === 'claims' ? origin.list.slice(1) : [];
  for (const { by } of losersBefore) {
    const lost = node.lost.get(by);
    lost?.delete(cell);
    if (lost?.size === 0) node.lost.delete(by);
    unsettle(node, by);
  }
  for (let place = 1; place < claims.length; place += 1) {
    const { by } = claims[place] as Claim;
    const lost = node.lost.get(by);
    if (lost === undefined) node.lost.set(by, new Set([cell]));
    else lost.add(cell);
    unsettle(node, by);
  }
}

function unsettle(node: DerivedNode, computation: Computation): void {
  if (!node.unsettled.has(computation)) node.unsettled.set(computation, undefined);
}
