import { describe, expect, test } from 'vitest';
import type { ObjectResult } from '../../../src/model/agent/agent.ts';
import { agentReportKey, DRIFT_REPORT } from '../../../src/model/agent/agent-report.ts';
import type { AgentSettings } from '../../../src/model/agent/agent-settings.ts';
import { NO_SETTINGS } from '../../../src/model/agent/agent-settings.ts';
import type { DriftMode } from '../../../src/model/fleet/drift.ts';
import { readDrifts, toldFields } from '../../../src/model/fleet/drift.ts';
import { parseSourceName } from '../../../src/model/fleet/ids.ts';
import { objectDigest, snapshotDigest } from '../../../src/model/text/digest.ts';
import { type JsonObject, objectOf } from '../../../src/model/text/json.ts';
import { must } from '../../../src/model/values/result.ts';
import { type AgentWorld, configMap, createConnectedWorld, keyOf, type Said } from '../../support/agent-world.ts';

const a = configMap('a', '1');
const keyA = keyOf(a);

test('drift that is seen while its object is being reconciled is corrected afterwards', async () => {
  const { server, cluster, settle } = await createConnectedWorld();
  const gate = Promise.withResolvers<void>();
  cluster.writeGate = gate.promise;
  await server.say({ upserts: [a] });
  await settle();
  // The write is in progress: a list finds the edit, and the object is compared again afterwards.
  cluster.personPuts(keyA, configMap('a', 'drift'));
  await settle();
  gate.resolve();
  cluster.writeGate = undefined;
  await settle();
  expect(cluster.objects.get(keyA)?.value).toEqual(a);
});

const REPORTING: AgentSettings = { ...NO_SETTINGS, driftMode: 'Report' };

/** What the server knows of drift: the object, what happened, which fields and what became of it. */
function told({ server }: AgentWorld): readonly (readonly unknown[])[] {
  const value = server.inputs.at(-1)?.objects.get(agentReportKey(DRIFT_REPORT))?.value;
  return readDrifts(objectOf(value?.status)).map((row) => [row.object, row.drift, row.fields, row.outcome, row.count]);
}

function lastResult({ server }: AgentWorld): ObjectResult | undefined {
  return server.results.findLast(({ key }) => key === keyA);
}

function nameOf(value: JsonObject): string {
  return String(objectOf(value.metadata).name);
}

const MOVED = [{ source: must(parseSourceName('git')), path: 'moved.yaml' }];

async function applied(settings?: AgentSettings, value = a): Promise<AgentWorld> {
  const world = await createConnectedWorld();
  if (settings !== undefined) world.server.settings(settings);
  await world.server.say({ upserts: [value] });
  await world.settle();
  return world;
}

describe('drift is put back, and the server is told', () => {
  test('which fields of which object have differed, and how often', async () => {
    const world = await applied();
    for (const text of ['x', 'y']) {
      world.cluster.personPuts(keyA, configMap('a', text));
      await world.settle();
    }
    expect(world.cluster.objects.get(keyA)?.value).toEqual(a);
    expect(told(world)).toEqual([['ConfigMap/web/a', 'changed', ['data.k'], 'putBack', 2]]);
  });

  test.each([
    ['exempt', { type: 'exempt', reason: 'ReconcileDisabled', message: 'left' }],
    ['failed', { type: 'failed', reason: 'Invalid', message: 'refused' }],
  ] as const)('only when the object was written: not when its apply is %s', async (_name, outcome) => {
    const world = await applied();
    world.cluster.fail(keyA, outcome);
    world.cluster.personPuts(keyA, configMap('a', 'drift'));
    await world.settle();
    expect(told(world)).toEqual([]);
    expect(world.log.lines.map(({ text }) => text)).not.toContain('info: drift is corrected');
    expect(world.agent.health().driftCorrections).toEqual({ changed: 0, removed: 0 });
    world.cluster.fail(keyA, undefined);
    world.cluster.personPuts(keyA, configMap('a', 'again'));
    await world.clock.advance(600_000);
    expect(world.cluster.objects.get(keyA)?.value).toEqual(a);
    expect(told(world)).toEqual([['ConfigMap/web/a', 'changed', ['data.k'], 'putBack', 1]]);
    expect(world.agent.health().driftCorrections).toEqual({ changed: 1, removed: 0 });
  });

  test('that an object was removed', async () => {
    const world = await applied();
    world.cluster.personRemoves(keyA);
    await world.settle();
    expect(world.cluster.objects.get(keyA)?.value).toEqual(a);
    expect(told(world)).toEqual([['ConfigMap/web/a', 'removed', [], 'putBack', 1]]);
  });
});

describe('with drift.mode Report', () => {
  test('drift is told once, and left', async () => {
    const world = await applied(REPORTING);
    world.cluster.personPuts(keyA, configMap('a', 'drift'));
    await world.settle();
    const { length } = world.server.inputs;
    await world.clock.advance(600_000);
    expect(world.cluster.objects.get(keyA)?.value).toEqual(configMap('a', 'drift'));
    expect(told(world)).toEqual([['ConfigMap/web/a', 'changed', ['data.k'], 'left', 1]]);
    expect(world.server.inputs).toHaveLength(length);
    expect(world.server.lastResults()).toEqual({ [keyA]: 'applied Applied' });
  });

  test('an object that drifts and changes its status again and again is told once', async () => {
    const world = await applied(REPORTING);
    for (const state of ['inProgress', 'current', 'inProgress'] as const) {
      world.cluster.personPuts(keyA, configMap('a', 'drift'));
      world.cluster.becomes(keyA, { state, message: '' });
      await world.settle();
    }
    expect(told(world)).toEqual([['ConfigMap/web/a', 'changed', ['data.k'], 'left', 1]]);
    expect(world.log.lines.filter(({ text }) => text.startsWith('info: drift'))).toHaveLength(1);
    world.cluster.personRemoves(keyA);
    await world.settle();
    expect(told(world)).toEqual([['ConfigMap/web/a', 'removed', [], 'left', 2]]);
  });

  test('drift that is left does not count as put back', async () => {
    const world = await applied(REPORTING);
    world.cluster.personPuts(keyA, configMap('a', 'drift'));
    await world.settle();
    expect(world.agent.health().driftCorrections).toEqual({ changed: 0, removed: 0 });
  });

  test('a removed object is not made again', async () => {
    const world = await applied(REPORTING);
    world.cluster.personRemoves(keyA);
    await world.clock.advance(600_000);
    expect(world.cluster.objects.has(keyA)).toBe(false);
    expect(told(world)).toEqual([['ConfigMap/web/a', 'removed', [], 'left', 1]]);
  });

  test('a change of the desired state is applied, and ends the drift', async () => {
    const world = await applied(REPORTING);
    world.cluster.personPuts(keyA, configMap('a', 'drift'));
    await world.settle();
    await world.server.say({ upserts: [configMap('a', '2')] });
    await world.settle();
    expect(world.cluster.objects.get(keyA)?.value).toEqual(configMap('a', '2'));
    await world.clock.advance(60_000);
    expect(told(world)).toEqual([['ConfigMap/web/a', 'changed', ['data.k'], 'over', 1]]);
  });

  test.each([
    ['changed', 'data.k'],
    ['removed', ''],
  ] as const)(
    'what was left %s is put back when the policy says Repair again, and is told and counted so',
    async (drift, field) => {
      const world = await applied(REPORTING);
      if (drift === 'changed') world.cluster.personPuts(keyA, configMap('a', 'drift'));
      else world.cluster.personRemoves(keyA);
      await world.settle();
      expect(world.agent.health().driftLeft[drift]).toBe(1);
      world.server.settings(NO_SETTINGS);
      await world.settle();
      expect(world.cluster.objects.get(keyA)?.value).toEqual(a);
      expect(told(world)).toEqual([['ConfigMap/web/a', drift, field === '' ? [] : [field], 'putBack', 1]]);
      expect(world.agent.health().driftCorrections[drift]).toBe(1);
      expect(world.agent.health().driftLeft).toEqual({ changed: 0, removed: 0 });
      expect(lastResult(world)?.drift).toBeUndefined();
    },
  );

  test('drift that could not be put back before git changed the object is over, and is not counted', async () => {
    const world = await applied(REPORTING);
    world.cluster.personPuts(keyA, configMap('a', 'drift'));
    await world.settle();
    world.cluster.fail(keyA, { type: 'failed', reason: 'Invalid', message: 'refused' });
    world.server.settings(NO_SETTINGS);
    await world.settle();
    world.cluster.fail(keyA, undefined);
    await world.server.say({ upserts: [configMap('a', '2')] });
    await world.settle();
    await world.settle();
    expect(told(world)).toEqual([['ConfigMap/web/a', 'changed', ['data.k'], 'over', 1]]);
    expect(world.agent.health().driftCorrections).toEqual({ changed: 0, removed: 0 });
  });

  test('the result of the object says what differs, until it is as declared again', async () => {
    const world = await applied(REPORTING);
    world.cluster.personPuts(keyA, configMap('a', 'drift'));
    await world.settle();
    expect(lastResult(world)).toMatchObject({
      state: 'applied',
      drift: { drift: 'changed', fields: ['data.k'], managers: [] },
    });
    world.cluster.personPuts(keyA, a);
    await world.settle();
    expect(lastResult(world)).toMatchObject({ state: 'applied' });
    expect(lastResult(world)?.drift).toBeUndefined();
  });

  test.each([
    ['it has seen', (world: AgentWorld) => world.settle()],
    ['happened while it was away', (world: AgentWorld) => world.agent.stop()],
  ])('an agent that starts again leaves what others have changed and removed, which %s', async (_name, then) => {
    const b = configMap('b', '1');
    const world = await applied(REPORTING);
    await world.server.say({ upserts: [b] });
    await world.clock.advance(1_000);
    if (_name !== 'it has seen') await then(world);
    world.cluster.personRemoves(keyA);
    world.cluster.personPuts(keyOf(b), configMap('b', 'drift'));
    if (_name === 'it has seen') await then(world);
    await world.restart();
    world.server.connect();
    await world.clock.advance(600_000);
    expect(world.cluster.objects.has(keyA)).toBe(false);
    expect(world.cluster.objects.get(keyOf(b))?.value).toEqual(configMap('b', 'drift'));
    expect(told(world)).toEqual(
      expect.arrayContaining([
        ['ConfigMap/web/a', 'removed', [], 'left', 1],
        ['ConfigMap/web/b', 'changed', ['data.k'], 'left', 1],
      ]),
    );
    expect(lastResult(world)?.drift).toMatchObject({ drift: 'removed' });
    await world.server.say({ upserts: [configMap('a', '2')] });
    await world.settle();
    expect(world.cluster.objects.get(keyA)?.value).toEqual(configMap('a', '2'));
    world.server.settings(NO_SETTINGS);
    await world.settle();
    expect(world.cluster.objects.get(keyOf(b))?.value).toEqual(b);
  });

  test('an object that was applied before the policy said Report stays removed after a restart too', async () => {
    const world = await applied();
    world.server.settings(REPORTING);
    await world.clock.advance(1_000);
    world.cluster.personRemoves(keyA);
    await world.settle();
    await world.restart();
    await world.clock.advance(60_000);
    expect(world.cluster.objects.has(keyA)).toBe(false);
    expect(world.agent.health().driftLeft).toEqual({ changed: 0, removed: 1 });
  });

  test('an object that was never applied is made after a restart', async () => {
    const world = await applied(REPORTING);
    const b = configMap('b', '1');
    world.cluster.fail(keyOf(b), { type: 'failed', reason: 'Invalid', message: 'refused' });
    await world.server.say({ upserts: [b] });
    await world.settle();
    world.cluster.fail(keyOf(b), undefined);
    await world.restart();
    expect(world.cluster.objects.get(keyOf(b))?.value).toEqual(b);
  });

  test('an object that is removed from git is told as removed, and as nothing else', async () => {
    const world = await applied(REPORTING);
    world.cluster.personPuts(keyA, configMap('a', 'drift'));
    await world.settle();
    const { length } = world.server.results;
    await world.server.say({ removals: [keyA] });
    await world.settle();
    expect(world.server.results.slice(length).map(({ state }) => state)).toEqual(['removed']);
    await world.clock.advance(60_000);
    expect(told(world)).toEqual([['ConfigMap/web/a', 'changed', ['data.k'], 'over', 1]]);
  });

  /** Two ways in which a server takes a removal back: with the content, and without it. */
  const returns: readonly (readonly [string, Said])[] = [
    ['declares it again', { upserts: [a] }],
    ['keeps it', { keeps: [keyA], forged: { to: snapshotDigest(new Map([[keyA, objectDigest(a)]])) } }],
  ];

  test.each(returns)('an object that git removes is made anew when git %s meanwhile', async (_name, said) => {
    const world = await applied(REPORTING);
    await world.clock.advance(1_000);
    const gate = Promise.withResolvers<void>();
    world.cluster.writeGate = gate.promise;
    await world.server.say({ removals: [keyA] });
    await world.settle();
    expect(world.cluster.objects.has(keyA)).toBe(false);
    expect(await world.server.say(said)).toEqual({ accepted: true });
    gate.resolve();
    await world.settle();
    expect(world.cluster.objects.get(keyA)?.value).toEqual(a);
    expect(told(world)).toEqual([]);
  });

  test('an object that git removes and declares again while its record waits to be written is made anew', async () => {
    const world = await applied(REPORTING);
    const gate = Promise.withResolvers<void>();
    world.cluster.writeGate = gate.promise;
    await world.server.say({ removals: [keyA] });
    await world.clock.advance(1);
    await world.server.say({ upserts: [a] });
    await world.clock.advance(1_000);
    gate.resolve();
    await world.settle();
    expect(world.cluster.objects.get(keyA)?.value).toEqual(a);
    expect(told(world)).toEqual([]);
  });

  test('drift that ends while the stamp names the old file is over', async () => {
    const world = await applied(REPORTING);
    world.cluster.personPuts(keyA, configMap('a', 'drift'));
    await world.settle();
    await world.server.say({ touches: [{ key: keyA, scope: [], origins: MOVED }] });
    await world.settle();
    world.cluster.personPuts(keyA, a);
    await world.clock.advance(60_000);
    expect(told(world)).toEqual([['ConfigMap/web/a', 'changed', ['data.k'], 'over', 1]]);
    expect(lastResult(world)?.drift).toBeUndefined();
    expect(world.agent.health().driftLeft).toEqual({ changed: 0, removed: 0 });
    expect(world.cluster.objects.get(keyA)?.stamp?.origins).toEqual(MOVED);
  });

  test('an object that was removed has no health, also if a report of its health was due', async () => {
    const world = await applied(REPORTING);
    world.cluster.becomes(keyA, { state: 'current', message: '' });
    await world.settle();
    world.cluster.personRemoves(keyA);
    await world.clock.advance(60_000);
    expect(lastResult(world)).toMatchObject({ state: 'applied', drift: { drift: 'removed' } });
    expect(lastResult(world)).not.toHaveProperty('health');
  });

  test('a removed object stays removed when its file is moved', async () => {
    const world = await applied(REPORTING);
    await world.clock.advance(1_000);
    world.cluster.personRemoves(keyA);
    await world.settle();
    await world.server.say({ touches: [{ key: keyA, scope: [], origins: MOVED, driftMode: 'Report' }] });
    await world.settle();
    expect(world.cluster.objects.has(keyA)).toBe(false);
  });

  test.each([
    ['repair', REPORTING, true],
    ['report', NO_SETTINGS, false],
  ])('the annotation %s of a manifest wins', async (annotation, settings, isPutBack) => {
    const value = { ...a, metadata: { ...objectOf(a.metadata), annotations: { 'fleetrelay.dev/drift': annotation } } };
    const world = await applied(settings, value);
    world.cluster.personPuts(keyA, configMap('a', 'drift'));
    await world.settle();
    expect(world.cluster.objects.get(keyA)?.value).toEqual(isPutBack ? value : configMap('a', 'drift'));
  });
});

describe('what Placements say of an object', () => {
  const touch = (driftMode?: DriftMode) => ({
    touches: [{ key: keyA, scope: [], ...(driftMode === undefined ? {} : { driftMode }) }],
  });

  test('wins over the policy, and takes effect at once', async () => {
    const world = await applied();
    await world.server.say(touch('Report'));
    await world.clock.advance(1_000);
    world.cluster.personPuts(keyA, configMap('a', 'drift'));
    await world.settle();
    expect(told(world)).toEqual([['ConfigMap/web/a', 'changed', ['data.k'], 'left', 1]]);
    await world.restart();
    world.server.connect();
    await world.settle();
    expect(world.cluster.objects.get(keyA)?.value).toEqual(configMap('a', 'drift'));
    await world.server.say(touch());
    await world.settle();
    expect(world.cluster.objects.get(keyA)?.value).toEqual(a);
    expect(told(world)).toEqual([['ConfigMap/web/a', 'changed', ['data.k'], 'putBack', 1]]);
  });

  test('lets objects be put back where the policy says Report', async () => {
    const world = await applied(REPORTING);
    await world.server.say(touch('Repair'));
    world.cluster.personRemoves(keyA);
    await world.settle();
    expect(world.cluster.objects.get(keyA)?.value).toEqual(a);
  });

  test('has no effect where the server bounds the mode, nor has the annotation', async () => {
    const value = { ...a, metadata: { ...objectOf(a.metadata), annotations: { 'fleetrelay.dev/drift': 'report' } } };
    const world = await applied({ ...NO_SETTINGS, driftModeBound: true }, value);
    await world.server.say(touch('Report'));
    world.cluster.personPuts(keyA, configMap('a', 'drift'));
    await world.settle();
    expect(world.cluster.objects.get(keyA)?.value).toEqual(value);
  });
});

test('a removed object that its manifest leaves stays removed after a restart, if the server bounded the mode before', async () => {
  const value = { ...a, metadata: { ...objectOf(a.metadata), annotations: { 'fleetrelay.dev/drift': 'report' } } };
  const world = await applied({ ...NO_SETTINGS, driftModeBound: true }, value);
  await world.clock.advance(1_000);
  world.server.settings(NO_SETTINGS);
  await world.settle();
  world.cluster.personRemoves(keyA);
  await world.clock.advance(1_000);
  await world.restart();
  await world.clock.advance(60_000);
  expect(world.cluster.objects.has(keyA)).toBe(false);
  expect(world.agent.health().driftLeft).toEqual({ changed: 0, removed: 1 });
});

test('thousands of objects are put back with a bounded number of writes at once', async () => {
  const world = await createConnectedWorld();
  world.server.settings(REPORTING);
  const many = Array.from({ length: 2_000 }, (_, index) => configMap(`m${index}`, '1'));
  await world.server.say({ upserts: many });
  await world.settle();
  for (const value of many) world.cluster.personPuts(keyOf(value), configMap(nameOf(value), 'x'));
  await world.settle();
  expect(world.agent.health().driftLeft.changed).toBe(many.length);
  const gate = Promise.withResolvers<void>();
  world.cluster.writeGate = gate.promise;
  const before = world.cluster.calls.length;
  world.server.settings(NO_SETTINGS);
  await world.settle();
  expect(world.cluster.calls.slice(before).filter((call) => call.startsWith('apply'))).toHaveLength(16);
  gate.resolve();
  await world.settle();
  expect(world.agent.health().driftCorrections.changed).toBe(many.length);
});

test('the fields that are told carry no values', () => {
  const secret = keyOf({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'web' } });
  expect(
    toldFields(keyA, ['', '.spec.args["--password=x"]', '.spec.args["y"].z', '.spec.ports[80]', '.a[true]']),
  ).toEqual(['spec.args', 'spec.ports', 'a']);
  expect(toldFields(keyA, ['.spec.containers[name="main"].image', '.spec.containers[other]'])).toEqual([
    'spec.containers[name="main"].image',
    'spec.containers[other]',
  ]);
  expect(toldFields(secret, ['.data.a', '.data.b', 'stringData.c', '.metadata.labels.x'])).toEqual([
    'data',
    'stringData',
    'metadata.labels.x',
  ]);
});

test('a server is told of at most a hundred objects, those whose drift is the newest', async () => {
  const world = await createConnectedWorld();
  const many = Array.from({ length: 105 }, (_, index) => configMap(`m${index}`, '1'));
  await world.server.say({ upserts: many });
  await world.settle();
  for (const value of many)
    world.cluster.personPuts(keyOf(value), configMap(String(objectOf(value.metadata).name), 'x'));
  await world.settle();
  expect(told(world)).toHaveLength(100);
  expect(told(world).at(-1)?.[0]).toBe('ConfigMap/web/m104');
});
