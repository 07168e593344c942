import { changed, compareComputations } from './computation.ts';
import { emptyScope, type Scope } from './scopes.ts';
import {
  absent,
  type Blame,
  type Cell,
  type Computation,
  type DerivedNode,
  type DerivedOrigin,
  type Emission,
  type Emissions,
  type Slices,
  type Store,
  type Touch,
} from './state.ts';
import { compareCells, findCell, obtainCell, releaseCell, sameValue, scopeOfCell, writeValue } from './storage.ts';
import type { Contribution, Failure } from './types.ts';
import { describeAddress } from './values.ts';

/** Adds an emission for a cell. Takes effect in {@link settleEmissions}. */
export function addEmission(node: DerivedNode, cell: Cell, emission: Emission): void {
  const touched = touch(node, cell);
  // Most cells get one emission, and a list reserves memory for more when it grows.
  if (touched.added.length === 0) touched.added = [emission];
  else touched.added.push(emission);
}

/** Removes the emissions of a computation for a cell. Takes effect in {@link settleEmissions}. */
export function withdrawEmissions(node: DerivedNode, cell: Cell, by: Computation): void {
  const touched = touch(node, cell);
  if (touched.withdrawn.length === 0) touched.withdrawn = [by];
  else touched.withdrawn.push(by);
}

/** Shared by all touches: never changed, only replaced. */
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

/** Decides every touched cell once, and notifies the dependents of those whose value or scope has changed. */
export function* settleEmissions(node: DerivedNode): Slices {
  const { touched, kernel } = node;
  node.touched = [];
  let last: Sole | undefined;
  for (const one of touched) {
    last = settle(node, one, last);
    if (kernel.isUp()) yield;
  }
}

/** The emission and the value of a gathered cell with one emission. The next cells often have the same emission. */
interface Sole {
  readonly emission: Emission;
  readonly value: readonly Contribution<unknown>[];
}

/** Decides a cell. `last`: the result for the cell before. */
function settle(node: DerivedNode, touched: Touch, last: Sole | undefined): Sole | undefined {
  const { cell, origin, scope: scopeBefore } = touched;
  const { scopes } = node.kernel;
  const earlier = emissionsBefore(node, touched);
  const emissions = emissionsAfter(touched, earlier);
  const [first] = emissions;
  const before = cell.value;
  const isSole = node.store.gathers && emissions.length === 1 && origin === undefined;
  const shared = isSole && last?.emission === first ? last : undefined;
  const next =
    shared?.value ??
    (first === undefined ? absent : node.store.gathers ? listOf(cell, earlier, emissions) : first.value);
  if (emissions.length > 1) {
    // Held before the old scope is released, so that an equal set stays the same object.
    const scope = scopes.holdJoined(emissions.map((emission) => emission.scope));
    cell.origin = { kind: 'emissions', list: emissions, scope } satisfies Emissions;
  } else cell.origin = first?.by;
  if (!node.store.gathers) noteLosers(node, cell, origin, emissions);
  const same = sameValue(node.store, before, next);
  if (!same) writeValue(cell, next);
  const rescoped =
    scopeOfCell(cell) !== scopeBefore || (node.store.scoped && !hasSameEmissions(node, earlier, emissions));
  if (!same || rescoped) changed(cell, before, scopeBefore, rescoped);
  if (origin?.kind === 'emissions') scopes.release(origin.scope);
  const sole = isSole && first !== undefined ? { emission: first, value: next as Sole['value'] } : undefined;
  releaseCell(cell);
  return shared ?? sole;
}

/** The emissions of a cell before the visit. For one emission no object is stored. */
function emissionsBefore({ store }: DerivedNode, { cell, origin, scope }: Touch): readonly Emission[] {
  if (origin === undefined) return none;
  if (origin.kind === 'emissions') return origin.list;
  const value = store.gathers ? (cell.value as readonly Contribution<unknown>[])[0]?.value : cell.value;
  return [{ by: origin, value, scope }];
}

/** The emissions of a cell after the visit, in canonical order; several of one computation in the order of emission. */
function emissionsAfter({ origin, withdrawn, added }: Touch, earlier: readonly Emission[]): readonly Emission[] {
  if (origin === undefined) return added.length > 1 ? added.sort(compareEmissions) : added;
  const gone = new Set(withdrawn);
  const emissions = earlier.filter(({ by }) => !gone.has(by));
  if (added.length === 0) return emissions;
  return [...emissions, ...added].sort(compareEmissions);
}

/** Whether the emissions are the same as before. A reader with a smaller scope sees only some of them. */
function hasSameEmissions(
  { store }: DerivedNode,
  earlier: readonly Emission[],
  emissions: readonly Emission[],
): boolean {
  // The value and the scope tell a change of an entry with one emitter.
  const isKnown = (list: readonly Emission[]): readonly Emission[] => (store.gathers || list.length > 1 ? list : none);
  const [before, after] = [isKnown(earlier), isKnown(emissions)];
  if (before.length !== after.length) return false;
  return before.every(({ by, value, scope }, place) => {
    const other = after[place] as Emission;
    return by === other.by && scope === other.scope && (store.gathers || sameValue(store, value, other.value));
  });
}

function compareEmissions(a: Emission, b: Emission): number {
  return compareComputations(a.by, b.by);
}

/** The value of a gathered cell. Unchanged contributions stay the same objects: both lists have the same order. */
function listOf(
  cell: Cell,
  earlier: readonly Emission[],
  emissions: readonly Emission[],
): readonly Contribution<unknown>[] {
  if (earlier.length === 0) return Object.freeze(emissions.map(contributionOf));
  const listBefore = cell.value as readonly Contribution<unknown>[];
  const places = new Map(earlier.map((emission, place) => [emission, place]));
  return Object.freeze(emissions.map((emission) => listBefore[places.get(emission) ?? -1] ?? contributionOf(emission)));
}

function contributionOf({ by: { primary }, value }: Emission): Contribution<unknown> {
  return { from: { partition: primary.partition.name, key: primary.key }, value };
}

/** Records for each computation the keys that another one has won; `settleFailures` makes failures of them. */
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

/** The message of a thrown value. Never throws. */
export function messageOf(error: unknown): string {
  try {
    const message = String(error instanceof Error ? error.message : error);
    return message === '' ? 'failed without a message' : message;
  } catch {
    return 'failed with something that cannot be shown';
  }
}

/**
 * Writes the failure of a primary entry, or removes it (`message` undefined). Takes over the caller's hold on `scope`. Every
 * failure has one writer: the computation of its primary, or the index of its entry.
 */
export function writeFailure(
  failures: Store,
  primary: Cell,
  message: string | undefined,
  of: Blame['of'],
  scope: Scope,
): void {
  const cell = obtainCell(failures, primary.partition.name, primary.key);
  const before = cell.value as Failure | typeof absent;
  const scopeBefore = scopeOfCell(cell);
  const origin = cell.origin as Blame | undefined;
  cell.origin = message === undefined ? undefined : ({ kind: 'blame', of, scope } satisfies Blame);
  if (message === undefined) writeValue(cell, absent);
  else if (before === absent || before.message !== message) writeValue(cell, Object.freeze({ message }));
  const rescoped = scopeOfCell(cell) !== scopeBefore;
  if (cell.value !== before || rescoped) changed(cell, before, scopeBefore, rescoped);
  if (origin !== undefined) failures.scopes.release(origin.scope);
  releaseCell(cell);
}

/** Whether the computation has a failure. */
export function hasFailed({ node: { failures }, primary }: Computation): boolean {
  if (failures.size === 0) return false;
  return (findCell(failures, primary.partition.name, primary.key)?.value ?? absent) !== absent;
}

/** Writes or removes the failures of the computations in `unsettled`. */
export function* settleFailures(node: DerivedNode): Slices {
  for (const [computation, thrown] of node.unsettled) {
    settleFailure(node, computation, thrown);
    if (node.kernel.isUp()) yield;
  }
  node.unsettled.clear();
}

function settleFailure(node: DerivedNode, computation: Computation, thrown: string | undefined): void {
  const lost = [...(node.lost.get(computation) ?? [])].sort(compareCells);
  const message = thrown ?? conflictMessage(lost);
  if (message === undefined && !hasFailed(computation)) return;
  const scope =
    message === undefined
      ? emptyScope
      : node.kernel.scopes.holdJoined([computation.scope, ...lost.map((cell) => scopeOfCell(cell))]);
  writeFailure(node.failures, computation.primary, message, [computation, ...lost], scope);
}

function conflictMessage([first, ...others]: readonly Cell[]): string | undefined {
  if (first === undefined) return undefined;
  const winner = (first.origin as Emissions).list[0]?.by.primary;
  const by = winner === undefined ? 'another' : describeAddress(winner.partition.name, winner.key);
  const more = others.length === 0 ? '' : `, and ${others.length} more`;
  return `${describeAddress(first.partition.name, first.key)} is already given by ${by}${more}`;
}
