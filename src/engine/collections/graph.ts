import { declareCounts, declareDerived, declareIndex, declareInput, declareJoin } from './declare.ts';
import { refreshNode } from './derived-node.ts';
import { refreshIndex } from './indexing.ts';
import { applyStaged } from './input.ts';
import { explainCell, impactOf, sizesOf } from './inspect.ts';
import { checkIdle, createRegistry, type Registry, storeOf } from './registry.ts';
import { absent } from './state.ts';
import { findCell } from './storage.ts';
import type { Collection, Graph } from './types.ts';
import { createWatch } from './watch.ts';

/** Creates a graph without collections. */
export function createGraph(): Graph {
  const registry = createRegistry();
  let revision = 0;

  const cellOf = (collection: Collection<unknown>, partition: string, key: string) => {
    checkIdle(registry);
    return findCell(storeOf(registry, collection), partition, key);
  };

  return {
    input: (name, options = {}) => declareInput(registry, name, options.live ?? false, options.equals),
    derive: (derivation) => declareDerived(registry, 'derived', derivation),
    gather: (derivation) => declareDerived(registry, 'gathered', derivation),
    join: (derivation) => declareJoin(registry, derivation),
    index: (name, from, groups) => declareIndex(registry, name, from, groups as Parameters<typeof declareIndex>[3]),
    counts: (name, index) => declareCounts(registry, name, index),
    watch: <Value>(collection: Collection<Value>) => createWatch<Value>(storeOf(registry, collection)),
    commit: () => {
      checkIdle(registry);
      const computed = visitNodes(registry);
      revision += 1;
      return { revision, computed };
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

/** Visits every node once, in rank order; returns the number of called functions. */
function visitNodes(registry: Registry): number {
  const { kernel, nodes } = registry;
  kernel.computed = 0;
  // A throw of a function is a failure of its key. A throw out of here is a defect of the kernel.
  registry.state = 'committing';
  try {
    for (const node of nodes) {
      if (node.kind === 'input') applyStaged(node);
      else if (node.kind === 'index') refreshIndex(node);
      else refreshNode(node);
    }
    kernel.scopes.sweep();
    registry.state = 'idle';
  } finally {
    if (registry.state !== 'idle') registry.state = 'broken';
  }
  return kernel.computed;
}
