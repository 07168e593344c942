import { describe, expect, it } from 'vitest';
import { KINDS_AS_WRITTEN } from '../../src/model/agent/agent.ts';
import { displayDiagnostic } from '../../src/model/fleet/diagnostic.ts';
import type { SequencedDelta } from '../../src/model/fleet/output.ts';
import { defaultRevisionLimits } from '../../src/model/limits/revision-limits.ts';
import { DEFAULT_LIMITS } from '../../src/relay/limits.ts';
import { packChunks, unpackChunk } from '../../src/relay/transfer.ts';
import { createOutputAssembler, outputHead, outputRecords } from '../../src/relay/wire/output.ts';
import { emptyTree, readTree, type Tree } from '../../src/sources/tree/tree-reader.ts';
import { decodeFile } from '../support/decode-file.ts';
import { bytesOf } from '../support/decoding.ts';
import { escapedText, manyValues, plainText } from '../support/expanding-manifests.ts';
import { createFleetWorld, type FleetWorld } from '../support/fleet-world.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../support/manifests.ts';
import { names, restart } from '../support/started-world.ts';

/** An object that the relay or an API server does not take costs nothing but itself. */

const MIB = 1024 * 1024;
const GOOD = '/ConfigMap/web/good';
const platform = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
};
const allow = { team: { targets: ['east'], namespaces: ['x'] } };
const placed = (files: Readonly<Record<string, string>>) => ({
  ...files,
  'place.yaml': placementYaml('odd', 'odd/**', 'names: [east]'),
});
const directory = { capabilities: [KINDS_AS_WRITTEN] };

async function worldWith(team: Readonly<Record<string, string>>, east = {}): Promise<FleetWorld> {
  const world = await createFleetWorld({ sources: ['platform', 'team'], allow });
  world.sourceNamed('platform').push(platform);
  world.sourceNamed('team').push(placed(team));
  world.agent('east').connect(east);
  await world.settle();
  world.sourceNamed('platform').push({ 'apps/good.yaml': configMapYaml('good', '1') });
  await world.settle();
  return world;
}

/** What an agent with the limits of the protocol reads of a delta; throws what ends a stream. */
function carried(delta: SequencedDelta): readonly string[] {
  let read: SequencedDelta | undefined;
  const { value } = outputHead(delta);
  const assembler = createOutputAssembler(value as never, DEFAULT_LIMITS, (done) => {
    read = done;
  });
  for (const chunk of packChunks(outputRecords(delta, DEFAULT_LIMITS.objectBytes))) {
    for (const record of unpackChunk(chunk).records) assembler.take(record);
  }
  assembler.finish();
  return read?.upserts.map(({ key }) => key) ?? [];
}

function arrived(world: FleetWorld): readonly string[] {
  return world.agent('east').deltas.flatMap(carried);
}

function said(world: FleetWorld, key: string): string | undefined {
  const progress = world.server.engine.progress.get('east', key);
  return progress && `${progress.state} ${progress.reason}: ${progress.message}`;
}

const findings = (world: FleetWorld): readonly string[] =>
  world.server.api.diagnostics().map((found) => `${found.code} ${displayDiagnostic(found)}`);

describe('an object that the relay does not carry', () => {
  it.each([
    [
      'of a few kB that stand for 245,000 values',
      manyValues('bomb'),
      /has 2\d{5} values .*at most 200000 in one object/,
    ],
    [
      'of 18 kB that stand for 90 MB of JSON',
      escapedText('bomb', 15 * MIB),
      /has 94\d{6} bytes as JSON, aliases counted in full; the relay carries at most 67108864/,
    ],
  ])('makes its file unreadable: %s', async (_, text, message) => {
    expect(text.length).toBeLessThan(80_000);
    const world = await worldWith({
      'odd/bomb.yaml': `# The object is in line 2.\n${text}`,
      'odd/b.yaml': configMapYaml('b', '1', 'x'),
    });
    expect(names(world, 'east')).toEqual([GOOD, '/ConfigMap/x/b']);
    expect(arrived(world)).toEqual(['/ConfigMap/x/b', GOOD]);
    const [found, ...others] = findings(world).filter((each) => each.includes('bomb.yaml'));
    expect(found).toMatch(message);
    expect(found).toMatch(/^FR1028 odd\/bomb\.yaml:2:1: error: the object .*make several objects of it/);
    expect(others).toEqual([]);
    // Nothing that depends on the file is removed; the other source goes on.
    world.sourceNamed('team').push({ 'odd/b.yaml': null });
    world.sourceNamed('platform').push({ 'apps/more.yaml': configMapYaml('more', '1') });
    await world.settle();
    expect(names(world, 'east')).toEqual([GOOD, '/ConfigMap/web/more', '/ConfigMap/x/b']);
  });
});

describe('an object above what an API server takes in a request', () => {
  const LARGE = '/ConfigMap/x/large';
  const ignored = (text: string) => `# fleetrelay-ignore: FR2040 it is meant\n${text}`;

  it.each([
    ['as it is', plainText('large', 4 * MIB)],
    ['where a comment suppresses the finding', ignored(plainText('large', 4 * MIB))],
  ])('is held with its code, and everything else goes on: %s', async (_, text) => {
    const world = await worldWith({ 'odd/large.yaml': text, 'odd/b.yaml': configMapYaml('b', '1', 'x') });
    expect(names(world, 'east')).toEqual([GOOD, '/ConfigMap/x/b']);
    expect(said(world, LARGE)).toMatch(
      /^held ObjectTooLarge: ConfigMap\/x\/large of odd\/large\.yaml in source team has \d+ bytes .*at most 3145728 in a request \(FR2040\): make several objects of it$/,
    );
    expect(world.server.api.status().sources).toMatchObject([{ name: 'platform' }, { name: 'team', state: 'synced' }]);
    // The source is complete: it removes what it no longer declares.
    world.sourceNamed('team').push({ 'odd/b.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual([GOOD]);
    // The condition is on the status branch.
    expect([...world.statusFiles.values()].filter((file) => file.includes('FR2040'))).not.toEqual([]);
  });

  it('goes to a directory cluster', async () => {
    const world = await worldWith({ 'odd/large.yaml': plainText('large', 4 * MIB) }, directory);
    expect(names(world, 'east')).toEqual([GOOD, LARGE]);
    expect(arrived(world)).toEqual([LARGE, GOOD]);
  });

  it('stays as it is in the cluster when it becomes too large, and goes on when it is smaller again', async () => {
    const world = await worldWith({ 'odd/large.yaml': plainText('large', 1000) });
    const before = world
      .agent('east')
      .holding()
      .entries.find(({ key }) => key === LARGE)?.digest;
    world.sourceNamed('team').push({ 'odd/large.yaml': plainText('large', 4 * MIB) });
    await world.settle();
    expect(said(world, LARGE)).toMatch(/^kept ObjectTooLarge: /);
    expect(
      world
        .agent('east')
        .holding()
        .entries.find(({ key }) => key === LARGE)?.digest,
    ).toBe(before);
    world.sourceNamed('team').push({ 'odd/large.yaml': plainText('large', 2 * MIB) });
    await world.settle();
    expect(said(world, LARGE)).toMatch(/^applied /);
  });

  it('is judged by the kind of the cluster also by a restarted server, before the agent has connected again', async () => {
    const before = await worldWith({ 'odd/large.yaml': plainText('large', 4 * MIB) }, directory);
    const world = await restart(before, ['platform', 'team'], allow);
    world.sourceNamed('platform').push({ ...platform, 'apps/good.yaml': configMapYaml('good', '1') });
    world.sourceNamed('team').push(placed({ 'odd/large.yaml': plainText('large', 5 * MIB) }));
    await world.settle();
    expect(said(world, LARGE)).not.toMatch(/ObjectTooLarge/);
  });

  it('counts the values of a Secret in base64', async () => {
    const text = plainText('large', 2.8 * MIB)
      .replace('kind: ConfigMap', 'kind: Secret')
      .replace('\ndata:', '\nstringData:');
    const world = await worldWith({ 'odd/large.yaml': text });
    expect(said(world, '/Secret/x/large')).toMatch(/^held ObjectTooLarge: /);
  });
});

describe('an agent that takes less than the relay carries', () => {
  it('is not sent what it does not take', async () => {
    const world = await worldWith(
      { 'odd/large.yaml': plainText('large', 4 * MIB), 'odd/b.yaml': configMapYaml('b', '1', 'x') },
      { ...directory, objectBytes: 2 * MIB },
    );
    expect(names(world, 'east')).toEqual([GOOD, '/ConfigMap/x/b']);
    expect(said(world, '/ConfigMap/x/large')).toMatch(
      /^held ObjectNotCarried: .*odd\/large\.yaml .*the agent of the cluster takes at most 2097152/,
    );
  });
});

describe('a revision of small files that stand for more than 512 MiB', () => {
  const file = (at: number) => [`odd/f${at}.yaml`, plainText(`f${at}`, 15 * MIB)] as const;
  const read = (before: Tree, files: readonly (readonly [string, string])[]) => {
    const entry = (text: string) => ({ kind: 'file', blob: text, size: text.length }) as const;
    return readTree(
      {
        decode: (path, bytes, blob) => decodeFile(path, bytes, blob),
        read: async (_path, { blob }) => ({ bytes: bytesOf(blob) }),
        maxFileBytes: 16 * MIB,
        limits: defaultRevisionLimits,
      },
      before,
      files.map(([path, text]) => ({ path, entry: entry(text) })),
    );
  };
  const all = Array.from({ length: 36 }, (_, at) => file(at + 10));

  it('is too large, read at once or step by step, and names the largest files', { timeout: 120_000 }, async () => {
    const once = await read(emptyTree, all);
    expect(once).toMatchObject({
      excess: {
        limit: 'expandedBytes',
        most: 512 * MIB,
        cause: expect.stringMatching(
          /^the largest files are odd\/f10\.yaml \(157\d{5}\), odd\/f11\.yaml .*, odd\/f12\.yaml /,
        ),
      },
    });
    const first = await read(emptyTree, all.slice(0, 30));
    const before = 'tree' in first ? first.tree : expect.fail('30 files are within the limit');
    const second = await read(before, all.slice(30));
    const found = (outcome: typeof once) => ('excess' in outcome ? outcome.excess.found : undefined);
    expect(found(second)).toBe(found(once));
  });
});
