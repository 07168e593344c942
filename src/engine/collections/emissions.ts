import { compareComputations } from './computation.ts';
import { changed } from './propagate.ts';
import {
  absent,
  type Cell,
  type Computation,
  type DerivedNode,
  type DerivedOrigin,
  type Emission,
  type Emissions,
  type Touch,
} from './state.ts';
import { releaseCell, sameValue, scopeOfCell, writeValue } from './storage.ts';
import type { Contribution } from './types.ts';

/** Gives a value for a cell. Takes effect in {@link settleEmissions}. */
export function addEmission(node: DerivedNode, cell: Cell, emission: Emission): void {
  const touched = touch(node, cell);
  // Most cells get one: a list that is pushed to reserves room for many more.
  if (touched.added.length === 0) touched.added = [emission];
  else touched.added.push(emission);
}

/** Takes back what a computation gave for a cell. Takes effect in {@link settleEmissions}. */
export function withdrawEmissions(node: DerivedNode, cell: Cell, by: Computation): void {
  const touched = touch(node, cell);
  if (touched.withdrawn.length === 0) touched.withdrawn = [by];
  else touched.withdrawn.push(by);
}

/** Shared, so it is replaced and never changed. */
const none: never[] = [];

function touch(node: DerivedNode, cell: Cell): Touch {
  const origin = cell.origin as DerivedOrigin;
  if (origin?.kind === 'touch') return origin;
  const before = origin as Computation | Emissions | undefined;
  const made: Touch = { kind: 'touch', cell, origin: before, scope: scopeOfCell(cell), withdrawn: none, added: none };
  cell.origin = made;
  node.touched.push(made);
  return made;
}

/** Decides every touched cell, once, and tells of those whose value or scope is another than before. */
export function settleEmissions(node: DerivedNode): void {
  const { touched } = node;
  if (touched.length === 0) return;
  node.touched = [];
  for (const one of touched) settle(node, one);
}

function settle(node: DerivedNode, touched: Touch): void {
  const { cell, origin, scope: scopeBefore } = touched;
  const { scopes } = node.kernel;
  const emissions = emissionsAfter(touched);
  const [first] = emissions;
  const before = cell.value;
  const next = first === undefined ? absent : node.store.gathers ? listOf(cell, origin, emissions) : first.value;
  if (first !== undefined && (node.store.gathers || emissions.length > 1)) {
    // Held before the old scope is let go, so that the same set stays the same object.
    const scope = scopes.holdJoined(emissions.map((emission) => emission.scope));
    cell.origin = { kind: 'emissions', list: emissions, scope } satisfies Emissions;
  } else cell.origin = first?.by;
  if (!node.store.gathers) noteLosers(node, cell, origin, emissions);
  const same = sameValue(node.store, before, next);
  if (!same) writeValue(cell, next);
  const rescoped = scopeOfCell(cell) !== scopeBefore || (node.store.scoped && !sameForAll(node, touched, emissions));
  if (!same || rescoped) changed(cell, before, scopeBefore, rescoped);
  if (origin?.kind === 'emissions') scopes.release(origin.scope);
  releaseCell(cell);
}

/** The emissions that count from now on, in canonical order; several of one computation in the order it gave them. */
function emissionsAfter(touched: Touch): readonly Emission[] {
  const { origin, withdrawn, added } = touched;
  if (origin === undefined) return added.length > 1 ? added.sort(compareEmissions) : added;
  const gone = new Set(withdrawn);
  const before: readonly Emission[] = origin.kind === 'emissions' ? origin.list : [soleEmission(touched)];
  const emissions = before.filter(({ by }) => !gone.has(by));
  if (added.length === 0) return emissions;
  return [...emissions, ...added].sort(compareEmissions);
}

/** The emission of a cell that had one giver, which takes no object while nothing is decided. */
function soleEmission({ cell, origin, scope }: Touch): Emission {
  return { by: origin as Computation, value: cell.value, scope };
}

/**
 * Whether also those who see only some of the emissions, because of their scope, see the same as before; said of a cell
 * whose value as a whole is the same.
 */
function sameForAll({ store }: DerivedNode, { origin }: Touch, emissions: readonly Emission[]): boolean {
  const before = origin?.kind === 'emissions' ? origin.list : [];
  const after = store.gathers || emissions.length > 1 ? emissions : [];
  if (before.length !== after.length) return false;
  return before.every(({ by, value, scope }, place) => {
    const other = after[place] as Emission;
    return by === other.by && scope === other.scope && (store.gathers || sameValue(store, value, other.value));
  });
}

function compareEmissions(a: Emission, b: Emission): number {
  return compareComputations(a.by, b.by);
}

/** A gathered value. Contributions that stay are the same objects as before: both lists are in the same order. */
function listOf(cell: Cell, origin: Touch['origin'], emissions: readonly Emission[]): readonly Contribution<unknown>[] {
  const emissionsBefore = origin?.kind === 'emissions' ? origin.list : [];
  if (emissionsBefore.length === 0) return Object.freeze(emissions.map(contributionOf));
  const listBefore = origin === undefined ? [] : (cell.value as readonly Contribution<unknown>[]);
  const places = new Map(emissionsBefore.map((emission, place) => [emission, place]));
  return Object.freeze(emissions.map((emission) => listBefore[places.get(emission) ?? -1] ?? contributionOf(emission)));
}

function contributionOf({ by: { primary }, value }: Emission): Contribution<unknown> {
  return { from: { partition: primary.partition.name, key: primary.key }, value };
}

/** Keeps, per computation, the keys that another one has won; `settleFailures` makes failures of them. */
function noteLosers(node: DerivedNode, cell: Cell, origin: Touch['origin'], emissions: readonly Emission[]): void {
  const losersBefore = origin?.kind === 'emissions' ? origin.list.slice(1) : [];
  for (const { by } of losersBefore) {
    const lost = node.lost.get(by);
    lost?.delete(cell);
    if (lost?.size === 0) node.lost.delete(by);
    unsettle(node, by);
  }
  for (let place = 1; place < emissions.length; place += 1) {
    const { by } = emissions[place] as Emission;
    const lost = node.lost.get(by);
    if (lost === undefined) node.lost.set(by, new Set([cell]));
    else lost.add(cell);
    unsettle(node, by);
  }
}

function unsettle(node: DerivedNode, computation: Computation): void {
  if (!node.unsettled.has(computation)) node.unsettled.set(computation, undefined);
}
