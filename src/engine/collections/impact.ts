import { itemsOf, unpacked } from './bag.ts';
import { absent, type Cell, type Computation } from './state.ts';
import { findCell } from './storage.ts';
import { compareAcrossCollections } from './why.ts';

/** Every entry that would be looked at again if this cell changed, in canonical order. */
export function impactOf(start: Cell): readonly { collection: string; partition: string; key: string }[] {
  const reached = new Set<Cell>();
  const pending = [start];
  for (let cell = pending.pop(); cell !== undefined; cell = pending.pop()) {
    for (const computation of wokenBy(cell)) {
      for (const output of outputsOf(computation)) {
        if (reached.has(output)) continue;
        reached.add(output);
        pending.push(output);
      }
    }
  }
  reached.delete(start);
  return [...reached]
    .sort(compareAcrossCollections)
    .map(({ partition, key }) => ({ collection: partition.store.name, partition: partition.name, key }));
}

/** Computations that read the cell: directly, or through a group of an index. */
function* wokenBy(cell: Cell): Iterable<Computation> {
  for (const dependent of itemsOf(cell.dependents)) {
    if (dependent.kind === 'computation') yield dependent;
    else {
      yield* itemsOf(dependent.dependents);
      yield* itemsOf(dependent.counter?.dependents);
    }
  }
}

function* outputsOf(computation: Computation): Iterable<Cell> {
  for (const output of unpacked(computation.outputs)) if (output.value !== absent) yield output;
  const { partition, key } = computation.primary;
  const failure = findCell(computation.node.failures, partition.name, key);
  if (failure !== undefined && failure.value !== absent) yield failure;
}
