import { describeAddress } from './order.ts';
import { changed } from './propagate.ts';
import { emptyScope, type Scope } from './scopes.ts';
import {
  absent,
  type Blame,
  type Cell,
  type Computation,
  type DerivedNode,
  type Emissions,
  type Store,
} from './state.ts';
import { compareCells, findCell, obtainCell, releaseCell, scopeOfCell, writeValue } from './storage.ts';
import type { Failure } from './types.ts';

/** What a thrown value says; never throws itself, whatever it is given. */
export function messageOf(error: unknown): string {
  try {
    const message = String(error instanceof Error ? error.message : error);
    return message === '' ? 'failed without a message' : message;
  } catch {
    return 'failed with something that cannot be shown';
  }
}

/**
 * Writes or removes (`message` undefined) the failure of a primary entry. Takes over the hold on `scope`.
 * Every failure has one writer: the computation of its primary, or the index of its entry.
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

/** Whether there is a failure of this computation. */
export function hasFailed({ node: { failures }, primary }: Computation): boolean {
  if (failures.size === 0) return false;
  return (findCell(failures, primary.partition.name, primary.key)?.value ?? absent) !== absent;
}

/** Writes, changes or removes the failures of the computations whose standing may have changed. */
export function settleFailures(node: DerivedNode): void {
  if (node.unsettled.size === 0) return;
  for (const [computation, thrown] of node.unsettled) settleFailure(node, computation, thrown);
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
