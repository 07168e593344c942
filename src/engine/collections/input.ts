import { changed } from './computation.ts';
import { absent, type Cell, type Kernel, type Slices, type Store } from './state.ts';
import { findCell, obtainCell, presentCells, releaseCell, sameValue, scopeOfCell, writeValue } from './storage.ts';
import type { Entry } from './types.ts';

/** An input: its entries, and the writes that the next commit applies. */
export interface InputNode {
  readonly kind: 'input';
  readonly name: string;
  readonly store: Store;
  /** For the next commit. */
  staged: Staged;
  /** Of the commit that is under way. */
  applying: Staged | undefined;
  /** Staged from outside while a commit was under way: for the first commit after its barrier. */
  waiting: Staged | undefined;
}

type Staged = Map<string, StagedPartition>;

interface StagedPartition {
  /** The entries of the partition are removed before `writes` are applied. */
  dropped: boolean;
  readonly writes: Map<string, Write>;
}

interface Write {
  /** `absent` deletes. */
  readonly value: unknown;
  readonly provenance: unknown;
}

const removal: Write = { value: absent, provenance: undefined };

/** Creates an input over its store. */
export function createInputNode(store: Store): InputNode {
  return { kind: 'input', name: store.name, store, staged: new Map(), applying: undefined, waiting: undefined };
}

/** Stages a value. */
export function stageValue(
  input: InputNode,
  partition: string,
  key: string,
  value: unknown,
  provenance: unknown,
): void {
  if (value === undefined) throw new TypeError(`${JSON.stringify(key)} of "${input.name}" was set without a value`);
  stageWrite(input, partition, key, { value, provenance });
}

/** Stages the removal of one entry. */
export function stageRemoval(input: InputNode, partition: string, key: string): void {
  stageWrite(input, partition, key, removal);
}

/** Stages the removal of all entries of a partition, and discards its staged writes. */
export function stageDrop(input: InputNode, partition: string): void {
  for (const staged of [stagedPartition(input, partition), overruled(input, partition)]) {
    if (staged === undefined) continue;
    staged.dropped = true;
    staged.writes.clear();
  }
}

function stageWrite(input: InputNode, partition: string, key: string, write: Write): void {
  stagedPartition(input, partition).writes.set(key, write);
  const waiting = overruled(input, partition);
  if (waiting !== undefined && (waiting.dropped || waiting.writes.has(key))) waiting.writes.set(key, write);
}

/** What waits for the next commit, and is older than a write of the commit that is under way. */
function overruled({ store, waiting }: InputNode, partition: string): StagedPartition | undefined {
  return store.past.isShown() ? undefined : waiting?.get(partition);
}

/** The number of staged writes. */
export function stagedWrites({ staged, waiting }: InputNode): number {
  let count = 0;
  for (const { writes, dropped } of [...staged.values(), ...(waiting?.values() ?? [])])
    count += writes.size + Number(dropped);
  return count;
}

/** The value that an address has when everything staged is committed; undefined: there will be no entry. */
export function latestOf({ store, staged, applying, waiting }: InputNode, partition: string, key: string): unknown {
  for (const writes of [waiting, staged, applying]) {
    const of = writes?.get(partition);
    if (of === undefined) continue;
    const write = of.writes.get(key) ?? (of.dropped ? removal : undefined);
    if (write !== undefined) return write.value === absent ? undefined : write.value;
  }
  const value = findCell(store, partition, key)?.value;
  return value === absent ? undefined : value;
}

/** The entries that a partition has when everything staged is committed, in no particular order. */
export function* latestEntries(input: InputNode, partition: string): Iterable<Entry<unknown>> {
  const layers = [input.waiting, input.staged, input.applying].flatMap((staged) => staged?.get(partition) ?? []);
  const written = new Set<string>();
  for (const { dropped, writes } of layers) {
    for (const [key, { value }] of writes) {
      if (written.has(key)) continue;
      written.add(key);
      if (value !== absent) yield { partition, key, value };
    }
    if (dropped) return;
  }
  for (const { key, value } of presentCells(input.store, partition)) {
    if (!written.has(key)) yield { partition, key, value };
  }
}

function stagedPartition(input: InputNode, name: string): StagedPartition {
  if (!input.store.past.isShown()) return obtainStaged(input.staged, name);
  input.waiting ??= new Map();
  return obtainStaged(input.waiting, name);
}

function obtainStaged(all: Staged, name: string): StagedPartition {
  let staged = all.get(name);
  if (staged === undefined) {
    staged = { dropped: false, writes: new Map() };
    all.set(name, staged);
  }
  return staged;
}

/** At the barrier: what was staged meanwhile is for the next commit. */
export function admitWaiting(input: InputNode): void {
  const { waiting } = input;
  if (waiting === undefined) return;
  input.waiting = undefined;
  for (const [partition, later] of waiting) {
    const staged = input.staged.get(partition);
    if (staged === undefined || later.dropped) {
      input.staged.set(partition, later);
      continue;
    }
    for (const [key, write] of later.writes) staged.writes.set(key, write);
  }
}

/** Applies the staged writes. Yields where a slice of the commit ends. */
export function* applyStaged(input: InputNode, kernel: Kernel): Slices {
  const { store, staged } = input;
  input.staged = new Map();
  input.applying = staged;
  for (const [partition, { dropped, writes }] of staged) {
    if (dropped) {
      for (const cell of presentCells(store, partition)) {
        if (!writes.has(cell.key)) writeInput(cell, removal);
        if (kernel.isUp()) yield;
      }
    }
    for (const [key, write] of writes) {
      writeInput(obtainCell(store, partition, key), write);
      if (kernel.isUp()) yield;
    }
  }
  input.applying = undefined;
}

function writeInput(cell: Cell, { value, provenance }: Write): void {
  const before = cell.value;
  const scopeBefore = scopeOfCell(cell);
  cell.origin = provenance;
  // The old object stays if the new one is equal, so that comparisons by identity see no change.
  if (!sameValue(cell.partition.store, before, value)) {
    writeValue(cell, value);
    changed(cell, before, scopeBefore, scopeOfCell(cell) !== scopeBefore);
  }
  releaseCell(cell);
}
