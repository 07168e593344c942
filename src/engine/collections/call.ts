import { type Few, packed, samePacked, unpacked } from './bag.ts';
import { link, unlink } from './computation.ts';
import type { Call, Cell, Computation, Source, Store } from './state.ts';
import { obtainCell, releaseCell } from './storage.ts';

/** Longer lists are searched by a set. */
const longestSearchedList = 16;

/** Creates the record of the running computation, idle. */
export function createCall(): Call {
  return {
    computation: undefined,
    scope: undefined,
    reads: [],
    seen: undefined,
    cells: [],
    values: [],
    aligned: true,
  };
}

/** Notes a read; reading twice is one dependency. */
export function noteRead(call: Call, source: Source): void {
  const { computation, reads } = call;
  if (source === computation?.primary || source === computation?.right) return;
  if (call.seen !== undefined) {
    if (call.seen.has(source)) return;
    call.seen.add(source);
  } else {
    if (reads.includes(source)) return;
    if (reads.length === longestSearchedList) call.seen = new Set(reads).add(source);
  }
  reads.push(source);
}

/** Notes an emitted value. Nothing is written before the computation has ended. */
export function noteEmit(call: Call, store: Store, partition: string, key: string, value: unknown): void {
  const { computation, cells } = call;
  if (computation?.node.store !== store || call.scope === undefined) {
    throw new Error(`an emitter of "${store.name}" was used outside its computation`);
  }
  if (value === undefined) throw new TypeError(`${JSON.stringify(key)} was emitted without a value`);
  const last = call.aligned ? unpacked(computation.outputs)[cells.length] : undefined;
  if (last !== undefined && last.key === key && last.partition.name === partition) cells.push(last);
  else {
    call.aligned = false;
    cells.push(obtainCell(store, partition, key));
  }
  call.values.push(value);
}

/** Links a computation to what it has read now instead of what it had read before. */
export function relink(computation: Computation, reads: readonly Source[]): void {
  if (samePacked(computation.reads, reads)) return;
  const before = unpacked(computation.reads);
  computation.reads = packed(reads) as Few<Source>;
  const known = new Set(before);
  for (const source of reads) if (!known.delete(source)) link(source, computation);
  for (const source of known) unlink(source, computation);
}

/** Makes the record ready for the next computation; drops cells that were made for nothing. */
export function endCall(call: Call): void {
  if (!call.aligned) for (const cell of call.cells) releaseCell(cell);
  call.computation = undefined;
  call.scope = undefined;
  call.reads.length = 0;
  call.seen = undefined;
  call.cells.length = 0;
  call.values.length = 0;
  call.aligned = true;
}

/** A cell that comes twice, if there is one. */
export function duplicateOf(cells: readonly Cell[]): Cell | undefined {
  if (cells.length <= longestSearchedList) {
    return cells.find((cell, place) => cells.indexOf(cell) !== place);
  }
  const seen = new Set<Cell>();
  for (const cell of cells) {
    if (seen.has(cell)) return cell;
    seen.add(cell);
  }
  return undefined;
}
