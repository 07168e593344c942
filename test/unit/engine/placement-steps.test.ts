import { expect, it } from 'vitest';
import { engineDomains } from '../../../src/domains/engines.ts';
import { createGraph } from '../../../src/engine/collections/graph.ts';
import { problemsOfObjects } from '../../../src/engine/explain/explain.ts';
import { notSelected } from '../../../src/engine/explain/not-selected.ts';
import { createEngine } from '../../../src/engine/graph.ts';
import { mostSteps } from '../../../src/engine/placement/matching.ts';
import { engineDiagnostics } from '../../../src/engine/status/diagnostics.ts';
import type { SourceName } from '../../../src/model/fleet/ids.ts';
import { MOST_STEPS_OF_PATH } from '../../../src/model/limits/revision-limits.ts';
import { compileGlob } from '../../../src/model/text/glob.ts';
import { stageFile } from '../../../src/runtime/replica/sources.ts';
import { decodeFile } from '../../support/decode-file.ts';
import { bytesOf } from '../../support/decoding.ts';
import { createFleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../support/manifests.ts';

/** Together they need more steps than one source has for the path of another one. */
const heavy = costlyGlobs(6);
const long = `${`${'a'.repeat(250)}/`.repeat(6)}a.yaml`;

/** Globs that differ in their last character only, and have nearly as many wildcards as one glob may have. */
function costlyGlobs(count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `**/${'*a'.repeat(98)}${at}`);
}

/** Two sources: `platform` with a heavy Placement, and `team` with a file at a long path, which it places itself. */
function worldWith(files: readonly string[], own = 'a.yaml') {
  const engine = createEngine(createGraph(), engineDomains);
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

it('Placements that need too many steps for a path of another source do not place it, and Placements of its own source do', () => {
  const engine = worldWith(['team'], '**/a.yaml');
  expect(engineDiagnostics(engine)).toMatchObject([
    {
      reason: 'PlacementTooExpensive',
      message: expect.stringMatching(
        /^the Placements of source platform need more than 1209600 steps to match the path a{250}.* of source team: they do not place its document, and what they placed of it stays as it is$/,
      ),
      hint: expect.stringMatching(/^Placement heavy needs the most/),
      at: [{ source: 'platform', path: 'heavy.yaml', field: ['spec', 'paths'] }],
    },
  ]);
  expect(engine.sourceProofs.get('', 'team')).toBe('complete');
  expect(engine.sourceProofs.get('', 'platform')).toBe('complete');
  const names = ['/ConfigMap/web/a', '/ConfigMap/web/b'];
  expect([...engine.outputs.entries('east')].map(({ key }) => key).sort()).toEqual(names);
});

it('no finding says that a file goes nowhere if only Placements that were left out may place it; --why-not says why it is not placed', () => {
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

it('a file of one source does not stop the removals of another one, whose Placements need too many steps for its path', async () => {
  const veryLong = `apps/${`${'a'.repeat(250)}/`.repeat(12)}z.yaml`;
  const light = ['dev', 'stage', 'prod', 'tools'].map((name) => `apps/**/*-${name}.yaml`);
  for (const [paths, leftOut] of [
    [light, 0],
    [[heavy], 2],
  ] as const) {
    const world = await createFleetWorld({ sources: ['platform', 'team'], allow: { platform: { files: ['team'] } } });
    world.sourceNamed('platform').push({
      'east.yaml': clusterYaml('east'),
      ...Object.fromEntries(paths.map((path, at) => [`p${at}.yaml`, placementYaml(`p${at}`, path)])),
      'own.yaml': placementYaml('own', 'infra/**'),
      'infra/x.yaml': configMapYaml('x', '1'),
      'infra/y.yaml': configMapYaml('y', '1'),
    });
    // The team declares an object of the same name: that is no reason to keep the one of `platform`.
    world.sourceNamed('team').push({ [veryLong]: `${configMapYaml('long', '1')}---\n${configMapYaml('x', '2')}` });
    world.agent('east').connect();
    await world.settle();
    const { engine } = world.server;
    expect(engine.sourceProofs.get('', 'platform')).toBe('complete');
    expect(engine.indexes.leftOut.members('platform team')).toHaveLength(leftOut);
    world.sourceNamed('platform').push({ 'infra/x.yaml': null });
    await world.settle();
    expect([...engine.inputs.ledger.entries('east')].map(({ key }) => key)).toEqual(['/ConfigMap/web/y']);
  }
});

it('an object stays while its file lies at a path that needs too many steps, also when the file moved there', async () => {
  const world = await createFleetWorld({
    sources: ['platform', 'team', 'other'],
    allow: { platform: { files: ['team', 'other'] } },
  });
  const [team, other] = [world.sourceNamed('team'), world.sourceNamed('other')];
  world.sourceNamed('platform').push({
    'east.yaml': clusterYaml('east'),
    'p.yaml': placementYaml('p', '**/a*.yaml'),
    'q.yaml': placementYaml('q', heavy),
  });
  team.push({ 'a.yaml': configMapYaml('a', '1'), 'aa.yaml': configMapYaml('b', '1') });
  other.push({ 'none.yaml': configMapYaml('c', '1') });
  world.agent('east').connect();
  await world.settle();
  const { engine } = world.server;
  const isKeptFor = (source: string): void =>
    expect(engine.outputs.get('east', '/ConfigMap/web/a')).toMatchObject({
      type: 'keep',
      reason: 'PlacementInDoubt',
      message: `source ${source} declares it, and the Placements of source platform need too many steps to match the path of its file`,
    });
  team.push({ 'a.yaml': null, [long]: configMapYaml('a', '1') });
  await world.settle();
  isKeptFor('team');
  other.push({ [long]: configMapYaml('a', '1') });
  team.push({ [long]: null });
  await world.settle();
  isKeptFor('other');
  other.push({ [long]: null });
  await world.settle();
  expect([...engine.inputs.ledger.entries('east')].map(({ key }) => key)).toEqual(['/ConfigMap/web/b']);
});

it('an object stays while its document lies at another path, and a source that may place that cannot be read whole', async () => {
  const world = await createFleetWorld({
    sources: ['platform', 'team', 'other'],
    allow: { platform: { files: ['team'] } },
  });
  const [platform, team, other] = ['platform', 'team', 'other'].map((name) => world.sourceNamed(name));
  platform?.push({ 'east.yaml': clusterYaml('east'), 'p.yaml': placementYaml('p', 'a/**') });
  team?.push({ 'a/a.yaml': configMapYaml('a', '1'), 'a/b.yaml': configMapYaml('b', '1') });
  other?.push({ 'none.yaml': 'kind: [' });
  world.agent('east').connect();
  await world.settle();
  const { engine } = world.server;
  const held = () => [...engine.inputs.ledger.entries('east')].map(({ key }) => key);
  platform?.push({ 'q.yaml': 'kind: [' });
  await world.settle();
  // What the team does not declare any more is removed.
  team?.push({ 'a/a.yaml': null, 'c/a.yaml': configMapYaml('a', '1'), 'a/b.yaml': null });
  await world.settle();
  expect(engine.outputs.get('east', '/ConfigMap/web/a')).toMatchObject({
    type: 'keep',
    reason: 'PlacementInDoubt',
    message:
      'source team declares it, and source platform, which cannot be read whole, may hold the rule that places its file',
  });
  expect(held()).toEqual(['/ConfigMap/web/a']);
  // A source that may not select the file says nothing of it.
  platform?.push({ 'q.yaml': placementYaml('q', 'd/**') });
  await world.settle();
  expect(held()).toEqual([]);
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
  const costly = costlyGlobs(4);
  let steps = 0;
  for (const glob of costly) {
    compileGlob(glob).matchWith(long, (more) => {
      steps += more;
    });
  }
  const most = mostSteps({ source: 'team' as SourceName, path: long }, 'platform');
  expect(most / steps).toBeGreaterThan(1);
  expect(most / steps).toBeLessThan(2);
  const engine = worldWith(['team']);
  const place = (source: string, name: string, paths: readonly string[]): void => {
    const text = placementYaml(name, paths);
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

it('the steps that another source has grow with the path, and never exceed the steps of the own source', () => {
  const most = (length: number, by = 'platform') =>
    mostSteps({ source: 'team' as SourceName, path: 'a'.repeat(length) }, by);
  expect([1, 125, 250, 2_000, 4_096].map((length) => most(length))).toEqual([
    ...[100_000, 100_000, 200_000],
    ...[1_600_000, MOST_STEPS_OF_PATH],
  ]);
  expect(most(1, 'team')).toBe(MOST_STEPS_OF_PATH);
});

it('counts a step or more for each glob, also of one without wildcards that does not match', () => {
  let steps = 0;
  compileGlob('').matchWith('b', (more) => {
    steps += more;
  });
  expect(steps).toBeGreaterThan(0);
});

it('an explanation of a Placement looks for the Placements of a file once for all its objects, and only if this one selects it', () => {
  const engine = worldWith(['team']);
  const documents = ['c', 'd', 'e'].map((name) => configMapYaml(name, '1')).join('---\n');
  for (const path of ['a.yaml', 'z.yaml']) {
    stageFile(engine, 'team', path, decodeFile(path, bytesOf(documents), documents).reading);
  }
  const own = placementYaml('own', ['a.yaml', 'unused/**']);
  stageFile(engine, 'team', 'p.yaml', decodeFile('p.yaml', bytesOf(own), own).reading);
  engine.commit();
  const looked: string[] = [];
  const { byFolder } = engine.placementIndexes;
  const members: typeof byFolder.members = (group) => {
    looked.push(group);
    return byFolder.members(group);
  };
  const counting = { ...engine, placementIndexes: { ...engine.placementIndexes, byFolder: { ...byFolder, members } } };
  expect(problemsOfObjects(counting, 'Placement', 'heavy')).toEqual([]);
  expect(looked).toEqual([]);
  expect(problemsOfObjects(counting, 'Placement', 'own')).toHaveLength(3);
  expect(looked).toHaveLength(new Set(looked).size);
});
