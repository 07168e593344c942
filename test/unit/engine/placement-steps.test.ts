import { expect, it } from 'vitest';
import { createGraph } from '../../../src/engine/collections/graph.ts';
import { notSelected } from '../../../src/engine/explain/not-selected.ts';
import { createEngine } from '../../../src/engine/graph.ts';
import { MOST_FOREIGN_STEPS } from '../../../src/engine/placement/matching.ts';
import { engineDiagnostics } from '../../../src/engine/status/diagnostics.ts';
import { decodeFile } from '../../../src/manifest/decode-file.ts';
import { compileGlob } from '../../../src/model/glob.ts';
import type { SourceName } from '../../../src/model/ids.ts';
import { stageFile } from '../../../src/runtime/replica/sources.ts';
import { bytesOf } from '../../support/decoding.ts';
import { createFleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../support/manifests.ts';

const heavy = `**/${'*a'.repeat(40)}x`;
const long = `${`${'a'.repeat(250)}/`.repeat(6)}a.yaml`;

/** Two sources: `platform` with a heavy Placement, and `team` with a file at a long path, which it places itself. */
function worldWith(files: readonly string[], own = 'a.yaml') {
  const engine = createEngine(createGraph());
  engine.inputs.fleet.set('', '', {
    bounds: { guards: {}, safeModes: [], webhookRemediator: false },
    role: 'leader',
  });
  const file = (source: string, path: string, text: string): void =>
    stageFile(engine, source, path, decodeFile(path, bytesOf(text), text).reading);
  engine.inputs.sources.set('', 'platform', { order: 0, read: true, rights: { kinds: 'all', files } });
  engine.inputs.sources.set('', 'team', { order: 1, read: true, rights: { kinds: 'all', files: [] } });
  file('platform', 'east.yaml', clusterYaml('east'));
  file('platform', 'heavy.yaml', placementYaml('heavy', heavy));
  file('team', 'p.yaml', placementYaml('own', own));
  file('team', long, configMapYaml('a', '1'));
  file('team', 'a.yaml', configMapYaml('b', '1'));
  engine.commit();
  return engine;
}

it('matches no globs of a Placement that may not select the source', () => {
  const engine = worldWith([]);
  expect(engineDiagnostics(engine).map(({ reason }) => reason)).toEqual(['GoesNowhere']);
  expect(engine.sourceProofs.get('', 'team')).toBe('complete');
});

it('Placements that need too many steps for a path of another source do not place it, and those of its own source do', () => {
  const engine = worldWith(['team'], '**/a.yaml');
  expect(engineDiagnostics(engine)).toMatchObject([
    {
      reason: 'PlacementTooExpensive',
      message: expect.stringMatching(
        /^the Placements of source platform need more than 100000 steps to match the path a{250}.* of source team: they do not place its document, and source platform removes nothing/,
      ),
      hint: expect.stringMatching(/^Placement heavy needs the most/),
      at: [{ source: 'platform', path: 'heavy.yaml', field: ['spec', 'paths'] }],
    },
  ]);
  expect(engine.sourceProofs.get('', 'team')).toBe('complete');
  expect(engine.sourceProofs.get('', 'platform')).toBe('partial');
  const names = ['/ConfigMap/web/a', '/ConfigMap/web/b'];
  expect([...engine.outputs.entries('east')].map(({ key }) => key).sort()).toEqual(names);
});

it('a file that only such Placements may place is said to go nowhere by no finding, and why it is not placed is said', () => {
  const engine = worldWith(['team']);
  expect(engineDiagnostics(engine).map(({ reason }) => reason)).toEqual(['PlacementTooExpensive']);
  expect([...engine.outputs.entries('east')].map(({ key }) => key)).toEqual(['/ConfigMap/web/b']);
  const document = { source: 'team' as SourceName, path: long, identity: '' };
  expect(notSelected(engine, 'east', document)).toMatchObject([{ reason: 'PlacementTooExpensive' }]);
});

/** A fleet in which Placements of `platform` place a file of `team`. */
async function fleetOf(placements: Readonly<Record<string, string>>) {
  const world = await createFleetWorld({ sources: ['platform', 'team'], allow: { platform: { files: ['team'] } } });
  world.sourceNamed('platform').push({ 'east.yaml': clusterYaml('east'), ...placements });
  world.sourceNamed('team').push({ [long]: configMapYaml('a', '1') });
  world.agent('east').connect();
  await world.settle();
  const { engine } = world.server;
  return {
    output: () => engine.outputs.get('east', '/ConfigMap/web/a')?.type,
    held: () => [...engine.inputs.ledger.entries('east')].map(({ key }) => key),
    /** The number of objects of a Placement, by its status. */
    counted: (name: string) => Object.values(engine.statuses.get('Placement', name)?.fields.counts ?? {})[0],
    push: async (changes: Readonly<Record<string, string | null>>) => {
      world.sourceNamed('platform').push(changes);
      await world.settle();
    },
  };
}

it('what they have placed stays, until they match it within the limit again', async () => {
  const fleet = await fleetOf({ 'p.yaml': placementYaml('p', '**/a.yaml') });
  expect(fleet.output()).toBe('object');
  await fleet.push({ 'p.yaml': placementYaml('p', heavy) });
  expect(fleet.output()).toBe('keep');
  expect(fleet.held()).toEqual(['/ConfigMap/web/a']);
  await fleet.push({ 'p.yaml': placementYaml('p', 'other.yaml') });
  expect(fleet.output()).toBeUndefined();
  expect(fleet.held()).toEqual([]);
});

it('a Placement counts no object while another one of its source needs too many steps for the path', async () => {
  const fleet = await fleetOf({ 'p.yaml': placementYaml('p', '**/a.yaml') });
  expect(fleet.counted('p')).toBe(1);
  await fleet.push({ 'q.yaml': placementYaml('q', heavy) });
  expect(fleet.output()).toBe('keep');
  expect(fleet.counted('p')).toBe(0);
  await fleet.push({ 'q.yaml': null });
  expect(fleet.output()).toBe('object');
  expect(fleet.counted('p')).toBe(1);
});

it('counts the steps of each other source apart', () => {
  // Less than the limit, and more than half of it.
  const costly = `**/${'*a'.repeat(24)}x`;
  let steps = 0;
  compileGlob(costly).matchWith(long, (more) => {
    steps += more;
  });
  expect(MOST_FOREIGN_STEPS / steps).toBeGreaterThan(1);
  expect(MOST_FOREIGN_STEPS / steps).toBeLessThan(2);
  const engine = worldWith(['team']);
  const place = (source: string, name: string, path: string): void => {
    const text = placementYaml(name, path);
    stageFile(engine, source, `${name}.yaml`, decodeFile(`${name}.yaml`, bytesOf(text), text).reading);
  };
  const rights = { kinds: 'all', files: ['team'] } as const;
  engine.inputs.sources.set('', 'other', { order: 2, read: true, rights });
  place('platform', 'heavy', costly);
  place('other', 'theirs', costly);
  engine.commit();
  expect(engineDiagnostics(engine).map(({ reason }) => reason)).toEqual(['GoesNowhere']);
  place('other', 'theirs-too', costly);
  engine.commit();
  const [assignment] = [...engine.assignments.entries('team')].filter(({ key }) => key.startsWith(long));
  expect(assignment?.value.leftOut).toEqual(['other']);
});

it('matches a path once for all documents of its file', () => {
  const engine = worldWith([]);
  const text = `${configMapYaml('c', '1')}---\n${configMapYaml('d', '1')}`;
  stageFile(engine, 'team', 'a.yaml', decodeFile('a.yaml', bytesOf(text), text).reading);
  engine.commit();
  const ofDocuments = [...engine.assignments.entries('team')].filter(({ key }) => key.startsWith('a.yaml\u0000'));
  expect(ofDocuments).toHaveLength(2);
  expect(ofDocuments[0]?.value).toMatchObject({ clusters: ['east'] });
  expect(ofDocuments[1]?.value).toBe(ofDocuments[0]?.value);
});

it('counts a step or more for each glob, also of one without wildcards that does not match', () => {
  let steps = 0;
  compileGlob('').matchWith('b', (more) => {
    steps += more;
  });
  expect(steps).toBeGreaterThan(0);
});
