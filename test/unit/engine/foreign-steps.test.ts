import { expect, it } from 'vitest';
import { engineDomains } from '../../../src/domains/engines.ts';
import { createGraph } from '../../../src/engine/collections/graph.ts';
import { createEngine } from '../../../src/engine/graph.ts';
import { MOST_FOREIGN_STEPS, shareOfPath } from '../../../src/engine/placement/matching.ts';
import { engineDiagnostics } from '../../../src/engine/status/diagnostics.ts';
import { stageFile } from '../../../src/runtime/replica/sources.ts';
import { decodeFile } from '../../support/decode-file.ts';
import { bytesOf } from '../../support/decoding.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../support/manifests.ts';

/** The first one takes 71,913 steps for the long path, and the second one selects it. */
const paths = [`**/${'*a'.repeat(24)}0`, '**/a.yaml'];
const long = `${`${'a'.repeat(250)}/`.repeat(6)}a.yaml`;

/** Placements of `platform` select files of `blue` and `red`. */
function createWorld() {
  const engine = createEngine(createGraph(), engineDomains);
  engine.inputs.fleet.set('', '', { bounds: { guards: {}, safeModes: [], webhookRemediator: false }, role: 'leader' });
  const setSources = (selectors: readonly string[]): void => {
    for (const [order, source] of ['platform', 'other', 'blue', 'red'].entries()) {
      const files = selectors.includes(source) ? ['blue', 'red'] : [];
      engine.inputs.sources.set('', source, { order, read: true, rights: { kinds: 'all', files } });
    }
  };
  const file = (source: string, path: string, text: string): void =>
    stageFile(engine, source, path, decodeFile(path, bytesOf(text), text).reading);
  const text = configMapYaml('many', '1');
  const { reading } = decodeFile('many.yaml', bytesOf(text), text);
  setSources(['platform']);
  file('platform', 'east.yaml', clusterYaml('east'));
  file('platform', 'p.yaml', placementYaml('p', paths));
  return {
    engine,
    file,
    setSources,
    addMany: (source: string, count: number): void => {
      for (let at = 0; at < count; at += 1) stageFile(engine, source, `many/${at}.yaml`, reading);
    },
    clustersOf: (source: string) =>
      [...engine.assignments.entries(source)].find(({ key }) => key.startsWith(long))?.value.clusters,
  };
}

it('the files of one source change nothing about which files of another one are placed', () => {
  const { engine, file, addMany, clustersOf } = createWorld();
  for (const source of ['blue', 'red']) file(source, long, configMapYaml('a', '1', source));
  engine.commit();
  expect(['blue', 'red'].map(clustersOf)).toEqual([['east'], ['east']]);
  addMany('red', 16_384);
  engine.commit();
  expect(['blue', 'red'].map(clustersOf)).toEqual([['east'], []]);
  expect(engineDiagnostics(engine).filter(({ reason }) => reason === 'PlacementTooExpensive')).toMatchObject([
    {
      message: expect.stringMatching(
        /need more than 51324 steps to match the path a.* of source red, which is its share of 1000000000 for all files of this source: /,
      ),
    },
  ]);
});

it('a finding names a file of each source that has files with too many steps', () => {
  const { engine, file } = createWorld();
  const heavy = Array.from({ length: 6 }, (_, at) => `**/${'*a'.repeat(98)}${at}`);
  file('platform', 'q.yaml', placementYaml('q', heavy));
  for (const source of ['blue', 'red']) file(source, long, configMapYaml('a', '1', source));
  engine.commit();
  expect(engineDiagnostics(engine)).toMatchObject(
    ['blue', 'red'].map((source) => ({
      reason: 'PlacementTooExpensive',
      message: expect.stringContaining(`of source ${source}: they do not place its document, and`),
    })),
  );
});

it('sources that may select the files of one source share its steps', () => {
  const { engine, file, addMany, setSources, clustersOf } = createWorld();
  file('blue', long, configMapYaml('a', '1'));
  addMany('blue', 8_000);
  engine.commit();
  expect(clustersOf('blue')).toEqual(['east']);
  setSources(['platform', 'other']);
  engine.commit();
  expect(clustersOf('blue')).toEqual([]);
});

it('a file more or less seldom changes the share of the others', () => {
  const { engine, addMany } = createWorld();
  const share = () => engine.placementIndexes.shares.get('', 'blue');
  addMany('blue', 8_193);
  engine.commit();
  const before = share();
  addMany('blue', 9_741);
  engine.commit();
  expect(share()).toBe(before);
  addMany('blue', 9_742);
  engine.commit();
  expect(share()).toBeLessThan(before ?? 0);
});

it.each([
  [1, 1],
  [2, 1],
  [3, 7],
  [8_192, 1],
  [8_193, 2],
  [66_000, 1],
  [100_000, 3],
])('the steps of %d files with %d sources that may select them are within the limit together', (files, selectors) => {
  const spent = shareOfPath(files, selectors) * files * selectors;
  expect(spent).toBeLessThanOrEqual(MOST_FOREIGN_STEPS);
  expect(spent * 1.2).toBeGreaterThan(MOST_FOREIGN_STEPS * 0.99);
});
