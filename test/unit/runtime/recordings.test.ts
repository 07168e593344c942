import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { createKeyedHash } from '../../../src/adapters/system/keyed-hash.ts';
import { writeRecording } from '../../../src/compose/snapshot/record.ts';
import { diffRecordings, replayRecording } from '../../../src/compose/snapshot/replay.ts';
import { sha256 } from '../../../src/model/text/digest.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml, configMapYaml } from '../../support/manifests.ts';
import { engineOf } from '../../support/plan-of-engine.ts';

const plans = {
  evaluate: () => Promise.reject(new Error('no plan is made here')),
  allowsForks: () => false,
  keyedHash: createKeyedHash,
};

const secret = (code: string): string =>
  ['apiVersion: v1', 'kind: Secret', 'metadata: {name: door, namespace: web}', `stringData: {code: ${code}}`, ''].join(
    '\n',
  );

const made: string[] = [];
afterEach(() => {
  for (const path of made.splice(0)) rmSync(path, { recursive: true });
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'fleetrelay-recording-'));
  made.push(path);
  return path;
}

/** A world whose cluster has a ConfigMap and a Secret, and is in sync. */
async function settledWorld(): Promise<FleetWorld> {
  const world = await createFleetWorld({ plans });
  world.source.push({
    'clusters/east/cluster.yaml': clusterYaml('east'),
    'clusters/east/a.yaml': configMapYaml('a', '1'),
    'clusters/east/door.yaml': secret('pass-1234'),
  });
  await world.settle();
  world.agent('east').connect();
  await world.settle();
  return world;
}

async function textOf({ server, settle }: FleetWorld): Promise<string> {
  const recording = server.api.recording();
  await settle();
  const texts = (async () => {
    let all = '';
    const answer = await recording;
    if (!answer.ok) throw new Error(answer.message);
    for await (const text of answer.value) all += text;
    return all;
  })();
  await settle();
  return texts;
}

async function written(world: FleetWorld, file: string): Promise<void> {
  const inputs = Readable.from([Buffer.from(await textOf(world))]);
  await writeRecording({ file, force: true, cwd: '/', inputs });
}

describe('a recording', () => {
  it('holds no value of a Secret, and no digest by which a value can be found', async () => {
    const world = await settledWorld();
    const text = await textOf(world);
    const real = world.server.engine.outputs.get('east', '/Secret/web/door');
    expect(text).not.toContain('pass-1234');
    expect(text).not.toContain(Buffer.from('pass-1234').toString('base64'));
    expect(real?.type === 'object' && text.includes(real.digest)).toBe(false);
    // The blob of the file, as this source computes it.
    expect(text).not.toContain(sha256(secret('pass-1234')));
    expect(text).toContain('/ConfigMap/web/a');
  });

  it('holds no value of a Secret whose member is mistyped', async () => {
    const world = await createFleetWorld({ plans });
    world.source.push({
      'clusters/east/cluster.yaml': clusterYaml('east'),
      'clusters/east/door.yaml': secret('pass-1234').replace('stringData', 'stringdata'),
    });
    await world.settle();
    world.agent('east').connect();
    await world.settle();
    expect(await textOf(world)).not.toContain('pass-1234');
  });

  it('is refused while others are read, and ends for a reader that takes too long', async () => {
    const world = await settledWorld();
    const asked = Array.from({ length: 5 }, () => world.server.api.recording());
    await world.settle();
    const answers = await Promise.all(asked);
    expect(answers.map(({ ok }) => ok)).toEqual([true, true, true, true, false]);
    await world.clock.advance(301_000);
    const [first] = answers;
    await expect(first?.ok === true && first.value[Symbol.asyncIterator]().next()).rejects.toThrow(/not read in time/);
    const again = world.server.api.recording();
    await world.settle();
    expect((await again).ok).toBe(true);
  });

  it('keeps what is in sync in sync: digests of Secrets fit the masked values', async () => {
    const world = await settledWorld();
    expect(world.server.engine.pending.size()).toBe(0);
    const lines = (await textOf(world)).split('\n').slice(1, -2);
    const engine = engineOf(lines);
    expect([...engine.pending.entries('east')]).toEqual([]);
    expect([...engine.outputs.entries('east')].map(({ key }) => key).sort()).toEqual(
      [...world.server.engine.outputs.entries('east')].map(({ key }) => key).sort(),
    );
  });

  it('has the state of one moment, though commits go on meanwhile', async () => {
    let calls = 0;
    // Each third record of work ends a slice.
    const world = await createFleetWorld({ plans, beginSlice: () => () => ++calls % 3 === 0 });
    world.source.push({ 'clusters/east/cluster.yaml': clusterYaml('east') });
    await world.settle();
    world.agent('east').connect();
    await world.settle();
    const pair = (value: string) => ({
      'clusters/east/a.yaml': configMapYaml('a', value),
      'clusters/east/b.yaml': configMapYaml('b', value),
    });
    for (let round = 0; round < 8; round += 1) {
      const text = textOf(world);
      world.source.push(pair(`v${round}`));
      const values = [...(await text).matchAll(/"value":"(v\d)"/g)].map(([, value]) => value);
      expect(new Set(values).size).toBeLessThanOrEqual(1);
      await world.settle();
    }
  });

  it('computes the same bytes again, and reports what differs', async () => {
    const at = folder();
    const [file, other] = [join(at, 'a.gz'), join(at, 'b.gz')];
    const world = await settledWorld();
    await written(world, file);
    const replay = await replayRecording({ file, cwd: '/' });
    expect(replay).toMatchObject({ differences: [], more: 0, unknownInputs: [] });
    expect(replay.outputs).toBeGreaterThan(3);
    // A process that had computed another output.
    const text = gunzipSync(readFileSync(file)).toString();
    const line = text.split('\n').find((each) => each.startsWith('["out","outputs","east","/ConfigMap/web/a"')) ?? '';
    writeFileSync(other, gzipSync(text.replace(line, line.replace(/"digest":"./, '"digest":"x'))));
    const found = await replayRecording({ file: other, cwd: '/' });
    expect(found.differences).toMatchObject([
      { collection: 'outputs', partition: 'east', key: '/ConfigMap/web/a', what: 'changed' },
    ]);
    expect(found.differences[0]?.fields.map(({ path }) => path)).toEqual(['digest']);
  });

  it('is compared with another one, by inputs and outputs', async () => {
    const at = folder();
    const [before, after] = [join(at, 'a'), join(at, 'b')];
    const world = await createFleetWorld({ plans });
    world.source.push({
      'clusters/east/cluster.yaml': clusterYaml('east'),
      'clusters/east/a.yaml': configMapYaml('a', '1'),
    });
    await world.settle();
    await written(world, before);
    world.source.push({ 'clusters/east/a.yaml': configMapYaml('a', '2') });
    await world.settle();
    await written(world, after);
    const { differences } = await diffRecordings({ before, after, cwd: '/' });
    const names = differences.map(
      ({ collection, partition, key, what }) => `${what} ${collection} ${partition} ${key}`,
    );
    expect(names).toContain('changed input files main clusters/east/a.yaml');
    expect(names).toContain('changed outputs east /ConfigMap/web/a');
  });

  it('differs in no Secret from another recording of the same state, though each has a key of its own', async () => {
    const at = folder();
    const [before, after] = [join(at, 'a'), join(at, 'b')];
    const world = await settledWorld();
    await written(world, before);
    await written(world, after);
    expect(await diffRecordings({ before, after, cwd: '/' })).toMatchObject({ differences: [], more: 0 });
  });

  it.each([
    ['nothing', '', /a:1: is no recording of fleetrelay/],
    ['another form', '{"recording":"fleetrelay","form":9}\n', /has the form 9, and this version reads the form 1/],
    ['a damaged line', '{"recording":"fleetrelay","form":1}\n["in","files"\n', /a:2: the line is no JSON list/],
    [
      'a line of another kind',
      '{"recording":"fleetrelay","form":1}\n["x","a","b","c",1]\n',
      /a:2: the line has the unknown type "x"/,
    ],
    ['no end', '{"recording":"fleetrelay","form":1}\n', /a:2: the recording ends too early/],
  ])('with %s is refused with its place', async (_what, text, message) => {
    const cwd = folder();
    writeFileSync(join(cwd, 'a'), text);
    await expect(replayRecording({ file: 'a', cwd })).rejects.toThrow(message);
  });

  it('is not written over a file that is there', async () => {
    const cwd = folder();
    writeFileSync(join(cwd, 'a'), 'mine');
    const inputs = Readable.from([Buffer.from('{"recording":"fleetrelay","form":1}\n["end"]\n')]);
    await expect(writeRecording({ file: 'a', force: false, cwd, inputs })).rejects.toThrow(/is there already/);
    expect(readFileSync(join(cwd, 'a'), 'utf8')).toBe('mine');
  });
});
