import * as fc from 'fast-check';
import { expect } from 'vitest';
import type { Change, Graph } from '../../../../src/engine/collections/types.ts';
import { type Built, buildGraph, bytesOf, stage } from '../build.ts';
import { lawOf } from '../check.ts';
import { textOf } from '../digest.ts';
import { graphSpecs, histories } from '../spec.ts';

/** How many records each slice works on; after the last slice they begin again. */
const cuts = fc.array(fc.nat({ max: 25 }), { minLength: 1, maxLength: 8 });

/**
 * A commit in slices is the same as one without, wherever it is cut: the same entries and changes at the barrier. What is
 * staged between two slices is in the next commit. Until the barrier readers see what was there before it, and nothing has
 * changed for them; only the latest value of an input has. Some barriers close two commits.
 */
export const slices = lawOf((create) =>
  fc.property(graphSpecs(), histories, cuts, fc.nat({ max: 3 }), (spec, history, sizes, everyOther) => {
    const [whole, sliced] = [sideOf(create(), spec), sideOf(create(), spec)];
    let slice = 0;
    const nextCut = (): number => sizes[slice++ % sizes.length] as number;
    let before = bytesOf(sliced.built);
    for (const write of history[0] ?? []) stage(sliced.built, write);
    history.forEach((batch, at) => {
      const next = [...(history[at + 1] ?? [])];
      const isShared = at % (everyOther + 1) > 0 && next.length > 0;
      for (const write of batch) stage(whole.built, write);
      const latest = latestOf(sliced);
      const { computed } = whole.graph.commit();
      expect(latest).toEqual(presentOf(whole));
      const expectNoChange = (): void => {
        expect(bytesOf(sliced.built)).toBe(before);
        expect(takenBy(sliced)).toEqual(noChanges(sliced));
      };
      let report = sliced.graph.advance(limited(nextCut()));
      while (report === undefined) {
        expectNoChange();
        const write = isShared ? undefined : next.shift();
        if (write !== undefined) stage(sliced.built, write);
        expectNoChange();
        report = sliced.graph.advance(limited(nextCut()));
      }
      expect(report.computed).toBe(computed);
      sliced.graph.pause();
      expectNoChange();
      if (isShared) sliced.graph.resume();
      else {
        sliced.graph.barrier();
        before = bytesOf(sliced.built);
        expect(before).toBe(bytesOf(whole.built));
        expect(takenBy(sliced)).toEqual(takenBy(whole));
      }
      for (const write of next) stage(sliced.built, write);
    });
  }),
);

interface Side {
  readonly graph: Graph;
  readonly built: Built;
  readonly watches: readonly { take(): readonly Change<unknown>[] }[];
}

function sideOf(graph: Graph, spec: Parameters<typeof buildGraph>[1]): Side {
  const built = buildGraph(graph, spec);
  return { graph, built, watches: built.collections.map((collection) => graph.watch(collection)) };
}

/** True after a number of records. */
function limited(records: number): () => boolean {
  let left = records;
  return () => left-- <= 0;
}

function takenBy({ watches }: Side): readonly string[] {
  return watches.map((watch) => textOf(watch.take()));
}

function noChanges({ watches }: Side): readonly string[] {
  return watches.map(() => textOf([]));
}

const partitions = ['', 's1', 'c1', 'c2', 'c3'];

const addresses = partitions.flatMap((partition) => ['k1', 'k2', 'k3', 'k4'].map((key) => [partition, key] as const));

function latestOf({ built }: Side): readonly string[] {
  return built.inputs.map(({ input }) => {
    const entries = new Map(
      partitions.flatMap((name) =>
        Array.from(input.latestEntries(name), ({ partition, key, value }) => [`${partition}/${key}`, value] as const),
      ),
    );
    const listed = addresses.map(([partition, key]) => entries.get(`${partition}/${key}`));
    const latest = addresses.map(([partition, key]) => input.latest(partition, key));
    expect(textOf(listed)).toBe(textOf(latest));
    return textOf(latest);
  });
}

function presentOf({ built }: Side): readonly string[] {
  return built.inputs.map(({ input }) => textOf(addresses.map(([partition, key]) => input.get(partition, key))));
}
