import { describe, expect, test } from 'vitest';
import type { AgentSettings } from '../../../src/model/agent-settings.ts';
import { NO_SETTINGS } from '../../../src/model/agent-settings.ts';
import { careReportKey } from '../../../src/model/care-report.ts';
import { readDrifts, toldFields } from '../../../src/model/drift.ts';
import { objectOf } from '../../../src/model/json.ts';
import { type AgentWorld, configMap, createConnectedWorld, keyOf } from '../../support/agent-world.ts';

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
  const value = server.inputs.at(-1)?.objects.get(careReportKey('DriftReport'))?.value;
  return readDrifts(objectOf(value?.status)).map((row) => [row.object, row.drift, row.fields, row.outcome, row.count]);
}

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

  test('what was left is put back when the policy says Repair again', async () => {
    const world = await applied(REPORTING);
    world.cluster.personPuts(keyA, configMap('a', 'drift'));
    await world.settle();
    world.server.settings(NO_SETTINGS);
    await world.settle();
    expect(world.cluster.objects.get(keyA)?.value).toEqual(a);
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
