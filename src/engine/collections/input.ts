import { changed } from './computation.ts';
import { absent, type Cell, type Store } from './state.ts';
import { obtainCell, presentCells, releaseCell, sameValue, scopeOfCell, writeValue } from './storage.ts';

/** An input: its entries, and the writes that the next commit applies. */
export interface InputNode {
  readonly kind: 'input';
  readonly name: string;
  readonly store: Store;
  readonly staged: Map<string, StagedPartition>;
}

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
  return { kind: 'input', name: store.name, store, staged: new Map() };
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
  stagedPartition(input, partition).writes.set(key, { value, provenance });
}

/** Stages the removal of one entry. */
export function stageRemoval(input: InputNode, partition: string, key: string): void {
  stagedPartition(input, partition).writes.set(key, removal);
}

/** Stages the removal of all entries of a partition, and discards its staged writes. */
export function stageDrop(input: InputNode, partition: string): void {
  const staged = stagedPartition(input, partition);
  staged.dropped = true;
  staged.writes.clear();
}

/** The number of staged writes. */
export function stagedWrites({ staged }: InputNode): number {
  let count = 0;
  for (const { writes, dropped } of staged.values()) count += writes.size + Number(dropped);
  return count;
}

function stagedPartition(input: InputNode, name: string): StagedPartition {
  let staged = input.staged.get(name);
  if (staged === undefined) {
    staged = { dropped: false, writes: new Map() };
    input.staged.set(name, staged);
  }
  return staged;
}

/** Applies the staged writes. */
export function applyStaged(input: InputNode): void {
  if (input.staged.size === 0) return;
  for (const [partition, { dropped, writes }] of input.staged) {
    if (dropped) {
      for (const cell of [...presentCells(input.store, partition)]) {
        if (!writes.has(cell.key)) writeInput(cell, removal);
      }
    }
    for (const [key, write] of writes) writeInput(obtainCell(input.store, partition, key), write);
  }
  input.staged.clear();
}

function writeInput(cell: Cell, { value, provenance }: Write): void {
  const before = cell.value;
  const scopeBefore = scopeOfCell(cell);
  cell.origin = provenance;
  // Of equal values the old object stays, so that comparisons by identity see no change.
  if (!sameValue(cell.partition.store, before, value)) {
    writeValue(cell, value);
    changed(cell, before, scopeBefore, scopeOfCell(cell) !== scopeBefore);
  }
  releaseCell(cell);
}
