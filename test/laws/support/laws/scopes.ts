import * as fc from 'fast-check';
import { expect } from 'vitest';
import { type Built, buildGraph, entriesOf, play, stage } from '../build.ts';
import { lawOf } from '../check.ts';
import { textOf } from '../digest.ts';
import { clusters, graphSpecs, histories, writes } from '../spec.ts';

/**
 * What is outside an entry's scope never changes the entry: whatever one cluster's live state becomes, every entry
 * without that cluster in its scope stays, with its value and its scope. And an entry's scope is the declared one:
 * the same with all live state gone, for every entry that does not go with it.
 *
 * Any entry may join a gathered or contested entry, so that the scope of that entry can grow; the law is about
 * every other entry, and about the readers of gathered and contested entries.
 */
export const scopes = lawOf((create) =>
  fc.property(
    graphSpecs(),
    histories,
    fc.array(writes, { minLength: 1, maxLength: 20 }),
    fc.nat({ max: 2 }),
    (spec, history, outside, at) => {
      const graph = create();
      const built = buildGraph(graph, spec);
      play(graph, built, history);
      const cluster = clusters[at] as string;
      const before = closedEntries(built);
      for (const write of outside) {
        const live = built.inputs[write.input % built.inputs.length]?.live;
        if (live === true) stage(built, { ...write, partition: at });
      }
      graph.commit();
      const after = closedEntries(built);
      for (const [id, entry] of before) {
        if (!entry.scope.includes(cluster)) expect([id, after.get(id)?.text]).toEqual([id, entry.text]);
      }
      for (const { input, live } of built.inputs) if (live) for (const one of clusters) input.drop(one);
      graph.commit();
      for (const [id, { scope }] of closedEntries(built)) {
        const earlier = after.get(id);
        if (earlier !== undefined) expect([id, scope]).toEqual([id, earlier.scope]);
      }
    },
  ),
);

function closedEntries({
  nodes,
}: Built): ReadonlyMap<string, { readonly text: string; readonly scope: readonly string[] }> {
  const entries = new Map<string, { text: string; scope: readonly string[] }>();
  for (const { name, collection, closed } of nodes) {
    if (collection === undefined || !closed) continue;
    for (const { partition, key, value, scope } of entriesOf(collection)) {
      entries.set(`${name} ${textOf([partition, key])}`, { text: textOf([value, scope]), scope });
    }
  }
  return entries;
}
