import { load } from 'js-yaml';
import { describe, expect, it, test } from 'vitest';
import { type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from '../../../../../src/model/text/json.ts';
import { createFleetWorld, type FleetWorld } from '../../../../support/fleet-world.ts';
import { clusterYaml, configMapYaml } from '../../../../support/manifests.ts';
import { shootYaml } from '../../../../support/shoot-world.ts';
import { restart } from '../../../../support/started-world.ts';

const PATH = 'shoots/garden-web/blue.yaml';
const files = {
  'blue.yaml': clusterYaml('blue'),
  'clusters/blue/a.yaml': configMapYaml('a', '1'),
  'shoot.yaml': shootYaml(),
};

async function started(): Promise<FleetWorld> {
  const world = await createFleetWorld();
  world.source.push(files);
  await connect(world);
  expect(operation(world)).toBe('Create/Succeeded');
  return world;
}

async function connect(world: FleetWorld): Promise<void> {
  world.agent('blue').capabilities = ['kinds-as-written'];
  world.agent('blue').connect();
  world.agent('blue').lists([]);
  await world.settle();
  await world.clock.advance(10_000);
}

const statusOf = (world: FleetWorld): JsonObject =>
  objectOf(objectOf(load(world.statusFiles.get(PATH) ?? '') as JsonValue).status);
function operation(world: FleetWorld): string {
  const { type, state } = objectOf(statusOf(world).lastOperation);
  return `${textOf(type)}/${textOf(state)}`;
}
const written = (world: FleetWorld) => textOf(objectOf(statusOf(world).lastOperation).lastUpdateTime);

/** When an operation was begun and has ended, after the world has gone on for long enough. */
async function settled(world: FleetWorld): Promise<string> {
  for (let turn = 0; turn < 6; turn += 1) await world.clock.advance(10_000);
  return `${operation(world)} at ${written(world)}`;
}

/** Ann asks for an operation of the Shoot `blue`. */
async function operate({ server }: FleetWorld, namespace: string, request: 'reconcile' | 'retry') {
  const act = server.api.acts.find(({ path }) => path === `/shoots/:namespace/:name/${request}`) ?? expect.fail();
  return act.run({ namespace, name: 'blue' }, 'ann');
}

describe('a request for an operation', () => {
  it('by a command begins one, also if the server restarts at once', async () => {
    const world = await started();
    const before = await settled(world);
    const answer = await operate(world, 'garden-web', 'reconcile');
    expect(answer).toMatchObject({ ok: true, value: { name: 'blue', lastOperation: 'Reconcile Processing (0%)' } });
    // Only the store has been written.
    await world.clock.advance(50);
    const again = await restart(world);
    again.source.push(files);
    await connect(again);
    const after = await settled(again);
    expect(after).toContain('Reconcile/Succeeded');
    expect(after).not.toBe(before);
    expect(await settled(again)).toBe(after);
  });

  test.each([
    ['elsewhere', 'reconcile', 'notFound', 'no source declares a Shoot "elsewhere/blue"'],
    ['garden-web', 'retry', 'conflict', 'has not failed; begin one with: fleetrelay shoot reconcile garden-web/blue'],
  ] as const)('in namespace %s to %s is refused: %s', async (namespace, request, kind, message) => {
    expect(await operate(await started(), namespace, request)).toMatchObject({
      ...{ ok: false, kind, message: expect.stringContaining(message) },
    });
  });

  it('by an annotation in git counts once, also over a restart', async () => {
    const world = await started();
    const before = await settled(world);
    const annotated = { 'shoot.yaml': shootYaml('{}', '{gardener.cloud/operation: reconcile}') };
    world.source.push(annotated);
    const after = await settled(world);
    expect(after).toContain('Reconcile/Succeeded');
    expect(after).not.toBe(before);
    const again = await restart(world);
    again.source.push({ ...files, ...annotated });
    await connect(again);
    expect(await settled(again)).toBe(after);
    again.source.push({ 'shoot.yaml': shootYaml() });
    expect(await settled(again)).toBe(after);
    again.source.push(annotated);
    expect(await settled(again)).not.toBe(after);
  });

  it('by a changed spec is seen also if it changed while no server ran', async () => {
    const world = await started();
    const before = await settled(world);
    const again = await restart(world);
    again.source.push({ ...files, 'shoot.yaml': shootYaml('{purpose: production}') });
    await connect(again);
    const after = await settled(again);
    expect(after).toContain('Reconcile/Succeeded');
    expect(after).not.toBe(before);
  });
});

it('an operation that is over before it could be written is written all the same', async () => {
  const world = await started();
  world.source.push({ 'clusters/blue/b.yaml': configMapYaml('b', '1') });
  expect(await settled(world)).toContain('Reconcile/Succeeded');
});

it('a task that fails is an error after the task timeout, counted over a restart', async () => {
  const world = await started();
  world.agent('blue').failing.add('ConfigMap/web/b');
  const more = { 'clusters/blue/b.yaml': configMapYaml('b', '1') };
  world.source.push(more);
  await settled(world);
  expect(operation(world)).toBe('Reconcile/Processing');
  const again = await restart(world);
  again.source.push({ ...files, ...more });
  await connect(again);
  expect(operation(again)).toBe('Reconcile/Processing');
  await settled(again);
  expect(operation(again)).toMatch(/Reconcile\/(Error|Failed)/);
  expect(objectsOf(statusOf(again).lastErrors)).toMatchObject([{ taskID: 'Apply ConfigMap/web/b' }]);
});

it('a suspended cluster makes an operation wait, and the description says what ends that', async () => {
  const world = await started();
  await world.server.api.suspendCluster('blue', 'ann', 'being moved');
  world.source.push({ 'clusters/blue/b.yaml': configMapYaml('b', '1') });
  await settled(world);
  expect(statusOf(world).lastOperation).toMatchObject({
    ...{ type: 'Reconcile', state: 'Pending' },
    description: expect.stringMatching(
      /^cluster blue is suspended by ann at .*being moved; go on with: fleetrelay cluster resume blue$/,
    ),
  });
  await world.server.api.resumeCluster('blue', 'ann');
  expect(await settled(world)).toContain('Reconcile/Succeeded');
});
