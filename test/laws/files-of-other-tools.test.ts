import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFleetWorld, type FleetWorld } from '../support/fleet-world.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../support/manifests.ts';
import { restart } from '../support/started-world.ts';

/**
 * A file that is not read any more, because a kustomization or chart claims it or its text is one for another tool, may declare
 * what it declared before. So such a change alone removes and replaces nothing, in any source, also after a restart.
 */

const SOURCES = ['first', 'second'] as const;
const FOLDER = 'apps';
const FILES = [`${FOLDER}/a.yaml`, `${FOLDER}/b.yaml`];
const RULES = ['clusters/east/cluster.yaml', 'fleet/placement.yaml'];
const TEXTS = {
  values: 'replicas: 1\n',
  workflow: 'on: push\njobs: {build: {}}\n',
  encrypted: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: web}\nsops: {mac: a}\n',
} as const;

type Source = (typeof SOURCES)[number];

/** `objects`: the names of the ConfigMaps that each file of each source declares; a name can stand in several. */
const histories = fc.record({
  objects: fc.array(fc.subarray(['x', 'y', 'z']), { minLength: 4, maxLength: 4 }),
  steps: fc.array(
    fc.record({
      source: fc.constantFrom(...SOURCES),
      paths: fc.subarray([...FILES, ...RULES], { minLength: 1 }),
      how: fc.constantFrom('claim', 'values', 'workflow', 'encrypted'),
      restarts: fc.boolean(),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});

/** The objects of a source differ in their data, so that a replacement shows. */
function filesOf(source: Source, objects: readonly (readonly string[])[]): Record<string, string> {
  const at = SOURCES.indexOf(source) * FILES.length;
  const declared = FILES.flatMap((path, index) => {
    const documents = (objects[at + index] ?? []).map((name) => configMapYaml(name, `${source} ${path}`));
    return documents.length === 0 ? [] : [[path, documents.join('---\n')] as const];
  });
  const rules = source === 'second' ? [] : [clusterYaml('east'), placementYaml('apps', `${FOLDER}/**`)];
  return Object.fromEntries([...declared, ...rules.map((text, index) => [RULES[index] ?? '', text] as const)]);
}

/** What the cluster has, with its content. */
function contentOf(world: FleetWorld): readonly string[] {
  return world
    .agent('east')
    .holding()
    .entries.map(({ key, digest }) => `${key} ${digest}`)
    .sort();
}

test('making files belong to another tool removes and replaces nothing', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(histories, async ({ objects, steps }) => {
      const [first, second] = SOURCES.map((source) => filesOf(source, objects));
      let world = await createFleetWorld({ sources: SOURCES });
      world.sourceNamed('first').push(first ?? {});
      world.sourceNamed('second').push(second ?? {});
      world.agent('east').connect();
      await world.settle();
      const before = contentOf(world);
      expect(before).toHaveLength(new Set(objects.flat()).size);
      const texts = { first: { ...first }, second: { ...second } };
      const claimed = { first: new Set<string>(), second: new Set<string>() };
      const push = (source: Source): void => {
        world.sourceNamed(source).claim([...claimed[source]], `${FOLDER}/kustomization.yaml`, false);
        world.sourceNamed(source).push(texts[source]);
      };
      for (const { source, paths, how, restarts } of steps) {
        const changed = paths.filter((path) => texts[source][path] !== undefined);
        for (const path of changed) {
          if (how === 'claim') claimed[source].add(path);
          else texts[source][path] = TEXTS[how];
        }
        push(source);
        await world.settle();
        expect(contentOf(world)).toEqual(before);
        if (!restarts) continue;
        world = await restart(world, SOURCES);
        for (const each of SOURCES) push(each);
        world.agent('east').connect();
        await world.settle();
        expect(contentOf(world)).toEqual(before);
      }
    }),
    { numRuns: 25 },
  );
});
