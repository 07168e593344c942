import * as fc from 'fast-check';
import { expect } from 'vitest';
import type { Change } from '../../../../src/engine/collections/types.ts';
import { buildGraph, bytesOf, play } from '../build.ts';
import { lawOf } from '../check.ts';
import { textOf } from '../digest.ts';
import { graphSpecs, histories } from '../spec.ts';

/** One batch has the same result as its changes one by one: the same entries at the end and the same changes overall. */
export const batches = lawOf((create) =>
  fc.property(graphSpecs(), histories, histories, (spec, before, after) => {
    const [batched, single] = [create(), create()];
    const [atOnce, oneByOne] = [buildGraph(batched, spec), buildGraph(single, spec)];
    play(batched, atOnce, before);
    play(single, oneByOne, before);
    const [batchedWatches, singleWatches] = [
      atOnce.collections.map((collection) => batched.watch(collection)),
      oneByOne.collections.map((collection) => single.watch(collection)),
    ];
    play(batched, atOnce, [after.flat()]);
    play(
      single,
      oneByOne,
      after.flat().map((write) => [write]),
    );
    expect(bytesOf(atOnce)).toBe(bytesOf(oneByOne));
    expect(batchedWatches.map(taken)).toEqual(singleWatches.map(taken));
  }),
);

/** What a watch has seen change. An `equals` that throws says of equal values that they are not. */
function taken(watch: { take(): readonly Change<unknown>[] }): string {
  return textOf(watch.take().filter(({ before, after }) => textOf(before) !== textOf(after)));
}
