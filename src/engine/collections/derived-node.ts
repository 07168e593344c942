import { packed, unpacked } from './bag.ts';
import { changed, duplicateOf, endCall, isOrphan } from './computation.ts';
import { addEmission, hasFailed, messageOf, settleEmissions, settleFailures, withdrawEmissions } from './emissions.ts';
import { relink, unlink } from './reads.ts';
import { emptyScope, isSameList, type Scope, wholeScope } from './scopes.ts';
import { absent, type Cell, type Computation, type DerivedNode, type Emission, type Slices } from './state.ts';
import { sameValue, scopeOfCell, writeValue } from './storage.ts';
import type { EntryAddress } from './types.ts';
import { describeAddress } from './values.ts';

/**
 * Runs the computations in the node's queue, then decides the touched cells, then writes the failures. Yields where a slice of
 * the commit ends.
 */
export function* refreshNode(node: DerivedNode): Slices {
  const { queue, kernel } = node;
  node.queue = new Set();
  for (const computation of queue) {
    if (isOrphan(computation)) closeComputation(node, computation);
    else recompute(node, computation);
    if (kernel.isUp()) yield;
  }
  if (node.touched.length > 0) yield* settleEmissions(node);
  if (node.unsettled.size > 0) yield* settleFailures(node);
}

/** Removes a computation whose primary is absent, with its emissions and links. */
function closeComputation(node: DerivedNode, computation: Computation): void {
  for (const cell of unpacked(computation.outputs)) withdrawEmissions(node, cell, computation);
  computation.outputs = undefined;
  relink(computation, []);
  unlink(computation.primary, computation);
  if (computation.right !== undefined) unlink(computation.right, computation);
  node.kernel.scopes.release(computation.scope);
  computation.scope = emptyScope;
  if (hasFailed(computation)) node.unsettled.set(computation, undefined);
  node.computations -= 1;
  if (node.recent === computation) node.recent = undefined;
}

/** Calls the node's functions for one primary entry. What they throw becomes a failure of this entry. */
function recompute(node: DerivedNode, computation: Computation): void {
  const { kernel, functions } = node;
  const { call } = kernel;
  kernel.computed += 1;
  call.computation = computation;
  let thrown: string | undefined;
  let scope: Scope | undefined;
  try {
    const entry = entryOf(node, computation);
    scope = holdScope(node, computation, declaredScope(node, entry));
    call.scope = scope;
    functions.compute(entry, functions.read, functions.emit);
    thrown = node.store.gathers ? undefined : doubleEmission(call.cells);
  } catch (error) {
    thrown = messageOf(error);
  }
  scope ??= holdScope(node, computation, noClusters);
  relink(computation, call.reads);
  if (thrown === undefined) replaceEmissions(node, computation, scope);
  else withdrawAll(node, computation);
  kernel.scopes.release(computation.scope);
  computation.scope = scope;
  if (thrown !== undefined || hasFailed(computation)) node.unsettled.set(computation, thrown);
  endCall(call);
}

function entryOf({ kind }: DerivedNode, { primary, right }: Computation): EntryAddress {
  const partition = primary.partition.name;
  if (kind !== 'joined') return { partition, key: primary.key, value: primary.value } as EntryAddress;
  return { partition, key: primary.key, left: presentValue(primary), right: presentValue(right) } as EntryAddress;
}

function presentValue(cell: Cell | undefined): unknown {
  return cell === undefined || cell.value === absent ? undefined : cell.value;
}

const noClusters: readonly string[] = [];

function declaredScope({ functions }: DerivedNode, entry: EntryAddress): readonly string[] {
  return functions.scope === undefined ? noClusters : [...functions.scope(entry, functions.read)];
}

/** The union of the declared scope and the scope of the primary. An unchanged set stays the same object. */
function holdScope(
  { kernel: { scopes }, store, seesAll }: DerivedNode,
  computation: Computation,
  declared: readonly string[],
): Scope {
  if (seesAll) return wholeScope;
  if (!store.scoped) return emptyScope;
  const { primary, right, scope: current } = computation;
  const inherited = primaryScope(primary);
  const other = right === undefined ? emptyScope : primaryScope(right);
  if (declared.length === 0 && other === emptyScope) return scopes.retain(inherited);
  if (inherited === emptyScope && other === emptyScope && isSameList(declared, current.clusters))
    return scopes.retain(current);
  return scopes.hold([...declared, ...inherited.clusters, ...other.clusters]);
}

/** The scope of one side. An absent entry of a live input has a scope too: the cluster of its address. */
function primaryScope(cell: Cell): Scope {
  return cell.partition.store.live ? cell.partition.scope : scopeOfCell(cell);
}

function doubleEmission(cells: readonly Cell[]): string | undefined {
  const twice = duplicateOf(cells);
  return twice === undefined ? undefined : `${describeAddress(twice.partition.name, twice.key)} was emitted twice`;
}

/** Replaces the previous emissions of a computation by the new ones. */
function replaceEmissions(node: DerivedNode, computation: Computation, scope: Scope): void {
  const { cells, values, aligned } = node.kernel.call;
  const before = unpacked(computation.outputs);
  const isFirst = before.length === 0 && cells.length < 2;
  const stays = isFirst || (aligned && cells.length === before.length) ? undefined : new Set(cells);
  // A cell with this computation as its only emitter, before and now, needs no decision: see `renew`.
  const isSole = (cell: Cell): boolean => cell.origin === computation && !node.store.gathers;
  for (const cell of before) {
    if (isSole(cell) && (stays === undefined || stays.has(cell))) continue;
    withdrawEmissions(node, cell, computation);
  }
  const rescoped = scope !== computation.scope;
  let emission: Emission | undefined;
  for (let place = 0; place < cells.length; place += 1) {
    const cell = cells[place] as Cell;
    const value = values[place];
    if (isSole(cell)) {
      renew(cell, value, computation.scope, rescoped);
      continue;
    }
    if (cell.origin === undefined && !node.store.gathers) {
      appear(cell, value, computation, scope);
      continue;
    }
    // One value often goes to many partitions.
    if (emission === undefined || emission.value !== value) emission = { by: computation, value, scope };
    addEmission(node, cell, emission);
  }
  if (isFirst) computation.outputs = cells[0];
  else if (stays !== undefined) computation.outputs = packed(stays.size === cells.length ? cells : [...stays]);
}

function withdrawAll(node: DerivedNode, computation: Computation): void {
  for (const cell of unpacked(computation.outputs)) withdrawEmissions(node, cell, computation);
  computation.outputs = undefined;
}

/** A cell without an emitter gets its value at once. If another computation emits to it too, it is decided after the queue. */
function appear(cell: Cell, value: unknown, by: Computation, scope: Scope): void {
  cell.origin = by;
  writeValue(cell, value);
  changed(cell, absent, emptyScope, cell.partition.store.scoped && scope !== emptyScope);
}

/** The common case: a cell with one emitter gets its new value at once. */
function renew(cell: Cell, value: unknown, scopeBefore: Scope, rescoped: boolean): void {
  const before = cell.value;
  const same = sameValue(cell.partition.store, before, value);
  if (!same) writeValue(cell, value);
  if (!same || rescoped) changed(cell, before, scopeBefore, rescoped);
}
