import { declareCounts, declareDerived, declareIndex, declareInput, declareJoin } from './declare.ts';
import { refreshNode } from './derived-node.ts';
import { refreshIndex } from './indexing.ts';
import { admitWaiting, applyStaged } from './input.ts';
import { explainCell, impactOf, sizesOf } from './inspect.ts';
import { checkIdle, checkReadable, createRegistry, type Registry, storeOf } from './registry.ts';
import { absent, type Slices } from './state.ts';
import { findCell } from './storage.ts';
import type { Collection, CommitReport, Graph } from './types.ts';
import { createWatch } from './watch.ts';

/** Creates a graph without collections. */
export function createGraph(): Graph {
  const registry = createRegistry();
  const { kernel } = registry;
  let revision = 0;
  /** The rest of the commit that is under way. */
  let underWay: Slices | undefined;

  const advance = (isUp: () => boolean): CommitReport | undefined => {
    checkReadable(registry);
    underWay ??= visitNodes(registry);
    if (!runSlice(registry, underWay, isUp)) return undefined;
    underWay = undefined;
    revision += 1;
    return { revision, computed: kernel.computed };
  };
  const cellOf = (collection: Collection<unknown>, partition: string, key: string) => {
    checkIdle(registry);
    return findCell(storeOf(registry, collection), partition, key);
  };

  return {
    input: (name, options = {}) => declareInput(registry, name, options.live ?? false, options.equals),
    derive: (derivation) => declareDerived(registry, 'derived', derivation),
    gather: (derivation) => declareDerived(registry, 'gathered', derivation),
    join: (derivation) => declareJoin(registry, derivation),
    index: (name, from, groups, { partitions } = {}) =>
      declareIndex(registry, name, from, groups as Parameters<typeof declareIndex>[3], partitions),
    counts: (name, index) => declareCounts(registry, name, index),
    watch: <Value>(collection: Collection<Value>) => createWatch<Value>(storeOf(registry, collection)),
    commit: () => {
      const report = advance(never) as CommitReport;
      closeBarrier(registry);
      return report;
    },
    advance,
    pause: () => {
      checkReadable(registry);
      kernel.past.show();
    },
    resume: () => kernel.past.hide(),
    barrier: () => {
      if (underWay !== undefined)
        throw new Error('a commit of this graph is under way: it must end before the barrier');
      closeBarrier(registry);
    },
    why: (collection, partition, key) => {
      const cell = cellOf(collection, partition, key);
      return cell === undefined || cell.value === absent ? undefined : explainCell(cell);
    },
    impact: (collection, partition, key) => {
      const cell = cellOf(collection, partition, key);
      return cell === undefined ? [] : impactOf(cell);
    },
    dump: () => {
      checkIdle(registry);
      return sizesOf(registry.nodes, registry.kernel);
    },
  };
}

function never(): boolean {
  return false;
}

/** Runs a commit until `isUp` says so; true: it has ended. */
function runSlice(registry: Registry, underWay: Slices, isUp: () => boolean): boolean {
  const { kernel } = registry;
  kernel.past.hide();
  kernel.isUp = isUp;
  // A throw of a function is a failure of its key. A throw out of here is a defect of the kernel.
  registry.state = 'committing';
  try {
    const { done = false } = underWay.next();
    if (!done) kernel.past.show();
    registry.state = done ? 'idle' : 'between';
    return done;
  } finally {
    if (registry.state === 'committing') registry.state = 'broken';
  }
}

/** Visits every node once, in rank order. Yields where a slice ends. */
function* visitNodes({ kernel, nodes }: Registry): Slices {
  kernel.computed = 0;
  for (const node of nodes) {
    // Most commits change few nodes: a generator is made only for a node with work.
    if (node.kind === 'input') {
      if (node.staged.size > 0) yield* applyStaged(node, kernel);
    } else if (node.kind === 'index') {
      if (node.queue.length > 0) yield* refreshIndex(node, kernel);
    } else if (node.queue.size > 0) yield* refreshNode(node);
  }
  yield* kernel.scopes.sweep(() => kernel.isUp());
}

/** Shows readers outside the present state, and keeps what they have staged meanwhile for the next commit. */
function closeBarrier({ kernel, nodes }: Registry): void {
  kernel.past.forget();
  for (const node of nodes) if (node.kind === 'input') admitWaiting(node);
}
