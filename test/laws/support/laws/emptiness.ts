import * as fc from 'fast-check';
import { expect } from 'vitest';
import type { Graph } from '../../../../src/engine/collections/types.ts';
import { buildGraph, play } from '../build.ts';
import { lawOf } from '../check.ts';
import { clusters, graphSpecs, histories, keys, partitions } from '../spec.ts';

/** After everything was deleted, by drops or one by one, in one commit or several, nothing is held anywhere. */
export const emptiness = lawOf((create) =>
  fc.property(graphSpecs(), histories, fc.boolean(), fc.boolean(), (spec, history, byDrop, stepwise) => {
    const graph = create();
    const built = buildGraph(graph, spec);
    play(graph, built, history);
    for (const { input } of built.inputs) {
      for (const partition of new Set<string>([...partitions, ...clusters])) {
        if (byDrop) input.drop(partition);
        else for (const key of keys) input.delete(partition, key);
        if (stepwise) graph.commit();
      }
    }
    graph.commit();
    expect(leftovers(graph)).toEqual([]);
  }),
);

/** Every inner map that still holds something, with how much. */
function leftovers(graph: Graph): readonly (readonly [node: string, map: string, size: number])[] {
  return graph
    .dump()
    .flatMap(({ name, maps }) => Object.entries(maps).map(([map, size]) => [name, map, size] as const))
    .filter(([, , size]) => size !== 0);
}
