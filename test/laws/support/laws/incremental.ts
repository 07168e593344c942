import * as fc from 'fast-check';
import { expect } from 'vitest';
import type { Collection, Graph } from '../../../../src/engine/collections/types.ts';
import { buildGraph, bytesOf, entriesOf, stage } from '../build.ts';
import { lawOf } from '../check.ts';
import { textOf } from '../digest.ts';
import { createOracle } from '../oracle.ts';
import { graphSpecs, histories } from '../spec.ts';

/**
 * After every commit everything is as if it had been recomputed from nothing by the oracle; nothing was computed more
 * than once; and what was watched adds up to what is there.
 */
export const incremental = lawOf((create) =>
  fc.property(graphSpecs(), histories, (spec, history) => {
    const [graph, oracle] = [create(), createOracle()];
    const [built, expected] = [buildGraph(graph, spec), buildGraph(oracle, spec)];
    const mirrors = built.collections.map((collection) => mirrorOf(graph, collection));
    for (const batch of history) {
      for (const write of batch) {
        stage(built, write);
        stage(expected, write);
      }
      const { computed } = graph.commit();
      expect(computed).toBeLessThanOrEqual(oracle.commit().computed);
      expect(bytesOf(built)).toBe(bytesOf(expected));
      for (const compare of mirrors) compare();
    }
  }),
);

/** Keeps a copy by changes alone; the returned function takes them and compares the copy with the collection. */
function mirrorOf(graph: Graph, collection: Collection<unknown>): () => void {
  const copy = new Map<string, unknown>();
  const watch = graph.watch(collection);
  return () => {
    for (const { partition, key, before, after } of watch.take()) {
      const id = JSON.stringify([partition, key]);
      expect(textOf(copy.get(id))).toBe(textOf(before));
      if (after === undefined) copy.delete(id);
      else copy.set(id, after);
    }
    const held = new Map(
      entriesOf(collection).map(({ partition, key, value }) => [JSON.stringify([partition, key]), value]),
    );
    expect(textOf(Object.fromEntries(copy))).toBe(textOf(Object.fromEntries(held)));
  };
}
