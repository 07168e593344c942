import { describe, expect, it } from 'vitest';
import type { ClusterView } from '../../../src/api/server-api.ts';
import type { DriftMode } from '../../../src/model/fleet/drift.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../support/manifests.ts';
import { abc, base, restart, startedWorld } from '../../support/started-world.ts';

const [a, b] = abc as unknown as readonly ObjectKey[];
const CHANGED = { drift: 'changed', fields: ['data.value'], managers: ['kubectl-edit'] } as const;

/** A Placement that says what becomes of drift; undefined: it says nothing. */
function placing(name: string, path: string, mode: DriftMode | undefined, clusters = 'selector: {}'): string {
  const drift = mode === undefined ? '' : `  drift: {mode: ${mode}}\n`;
  return `${placementYaml(name, path, clusters)}${drift}`;
}

/** The modes that an agent was told, by the name of the object. */
function modesOf(world: FleetWorld, cluster: string): Readonly<Record<string, DriftMode | undefined>> {
  const { entries } = world.agent(cluster).holding();
  return Object.fromEntries(entries.map(({ key, driftMode }) => [key.split('/').at(-1), driftMode]));
}

describe('drift.mode of a Placement', () => {
  it('is sent with its objects to the clusters that it selects, and its change without their contents', async () => {
    const world = await startedWorld({
      ...base,
      'fleet/report.yaml': placing('report', 'apps/a.yaml', 'Report', 'names: [east]'),
    });
    expect(modesOf(world, 'east')).toEqual({ a: 'Report', b: undefined, c: undefined });
    expect(modesOf(world, 'west')).toEqual({ a: undefined, b: undefined, c: undefined });
    world.source.push({ 'fleet/report.yaml': placing('report', 'apps/a.yaml', 'Repair', 'names: [east]') });
    await world.settle();
    expect(modesOf(world, 'east')).toEqual({ a: 'Repair', b: undefined, c: undefined });
    expect(world.agent('east').deltas.at(-1)).toMatchObject({
      ...{ upserts: [], removals: [] },
      touches: [{ key: a, driftMode: 'Repair' }],
    });
    world.source.push({ 'fleet/report.yaml': null });
    await world.settle();
    expect(modesOf(world, 'east')).toEqual({ a: undefined, b: undefined, c: undefined });
  });

  it('is not sent to an agent that does not take it, which is touched at no connect', async () => {
    const world = await createFleetWorld();
    const east = world.agent('east');
    east.capabilities = [];
    world.source.push({ ...base, 'fleet/r.yaml': placing('report', 'apps/a.yaml', 'Report') });
    east.connect();
    await world.settle();
    expect(modesOf(world, 'east')).toEqual({ a: undefined, b: undefined, c: undefined });
    const before = east.deltas.length;
    east.connect();
    await world.settle();
    expect(east.deltas.slice(before).flatMap(({ touches }) => touches)).toEqual([]);
  });

  it('is Report where several Placements of an object differ', async () => {
    const world = await startedWorld({
      ...base,
      'fleet/1.yaml': placing('one', 'apps/{a,b}.yaml', 'Report'),
      'fleet/2.yaml': placing('two', 'apps/{a,b}.yaml', 'Repair', 'names: [east]'),
      'fleet/3.yaml': placing('three', 'apps/c.yaml', 'Repair'),
    });
    expect(modesOf(world, 'east')).toEqual({ a: 'Report', b: 'Report', c: 'Repair' });
    world.source.push({ 'fleet/1.yaml': null });
    await world.settle();
    expect(modesOf(world, 'east')).toEqual({ a: 'Repair', b: 'Repair', c: 'Repair' });
    expect(modesOf(world, 'west')).toEqual({ a: undefined, b: undefined, c: 'Repair' });
  });

  it('says nothing of a cluster whose name every object inherits', async () => {
    const world = await startedWorld({
      ...base,
      'clusters/odd.yaml': clusterYaml('constructor'),
      'fleet/report.yaml': placing('report', 'apps/a.yaml', 'Report', 'names: [east]'),
    });
    world.agent('constructor').connect();
    await world.settle();
    expect(modesOf(world, 'constructor')).toEqual({ a: undefined, b: undefined, c: undefined });
  });

  it('of another source counts only where that one alone places the object', async () => {
    const world = await createFleetWorld({ sources: ['apps', 'other'], allow: { other: { files: ['apps'] } } });
    world.sourceNamed('apps').push({
      'e.yaml': clusterYaml('east'),
      'w.yaml': clusterYaml('west'),
      'p.yaml': placing('own', 'apps/**', undefined, 'names: [east]'),
      'apps/a.yaml': configMapYaml('a', '1'),
    });
    world.sourceNamed('other').push({ 'p.yaml': placing('theirs', 'apps/**', 'Report') });
    for (const cluster of ['east', 'west']) world.agent(cluster).connect();
    await world.settle();
    expect(modesOf(world, 'east')).toEqual({ a: undefined });
    expect(modesOf(world, 'west')).toEqual({ a: 'Report' });
  });

  it('is computed again from the inventory after the loss of server and store: nothing is sent anew', async () => {
    const world = await startedWorld({ ...base, 'fleet/r.yaml': placing('report', 'apps/a.yaml', 'Report') });
    const next = await restart(world);
    next.source.push({ ...base, 'fleet/r.yaml': placing('report', 'apps/a.yaml', 'Report') });
    const east = next.agent('east');
    const before = east.deltas.length;
    east.connect();
    await next.settle();
    expect(east.deltas.slice(before).flatMap(({ upserts, touches }) => [...upserts, ...touches])).toEqual([]);
    expect(modesOf(next, 'east')).toEqual({ a: 'Report', b: undefined, c: undefined });
  });

  it('has no effect where the RelayConfig sets the mode, and is reported then', async () => {
    const world = await createFleetWorld({ driftMode: 'Repair' });
    const policy =
      'apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: fleet}\nspec: {drift: {mode: Report}}\n';
    world.source.push({
      ...base,
      'fleet/policy.yaml': policy,
      'fleet/r.yaml': placing('report', 'apps/a.yaml', 'Report'),
      'fleet/s.yaml': placing('same', 'apps/b.yaml', 'Repair'),
    });
    world.agent('east').connect();
    await world.settle();
    expect(world.agent('east').settings.at(-1)).toMatchObject({ driftModeBound: true });
    expect(world.agent('east').settings.at(-1)).not.toHaveProperty('driftMode');
    expect(world.server.api.diagnostics().map(({ code, message, at }) => `${code} ${at?.path} ${message}`)).toEqual([
      'FR3006 fleet/policy.yaml the server bounds the FleetPolicy: drift.mode is Report, the server sets Repair',
      'FR3006 fleet/r.yaml Placement report: drift.mode is Report, the server sets Repair for all',
    ]);
  });
});

it('a FleetPolicy that says nothing of drift exceeds no bound on it', async () => {
  const world = await createFleetWorld({ driftMode: 'Report', ignoreLiveOptOuts: true });
  const policy = 'apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: fleet}\nspec: {}\n';
  world.source.push({ ...base, 'fleet/policy.yaml': policy });
  world.agent('east').connect();
  await world.settle();
  expect(world.agent('east').settings.at(-1)).toMatchObject({ driftMode: 'Report', driftModeBound: true });
  expect(world.server.api.diagnostics()).toEqual([]);
});

describe('an object whose drift is left', () => {
  const clusterIn = (world: FleetWorld, name = 'east') => {
    const found = world.server.api.clusters().find((each) => each.name === name);
    if (found === undefined) throw new Error(`there is no cluster ${name}`);
    return found;
  };
  const outputOf = (world: FleetWorld) =>
    world.server.api.outputs('east')?.find(({ object }) => object === 'ConfigMap/web/a');
  const conditionOf = ({ conditions }: ClusterView, wanted: string) => conditions.find(({ type }) => type === wanted);

  it('is applied, and not in sync: the cluster, its Placement and the object say so, until it is as declared again', async () => {
    const world = await startedWorld();
    const east = world.agent('east');
    east.drifts('ConfigMap/web/a', CHANGED);
    const since = new Date(world.clock.now()).toISOString().replace(/\.000Z$/, 'Z');
    await world.settle();
    const view = clusterIn(world);
    expect(view).toMatchObject({ inSync: false, drifted: 1, counts: { applied: 3, targeted: 3 } });
    expect(conditionOf(view, 'InSync')).toMatchObject({ status: 'False', reason: 'Drifted' });
    expect(conditionOf(view, 'Ready')).toMatchObject({ status: 'True', message: '3 of 3 applied, 1 drifted' });
    const output = outputOf(world);
    expect(output).toMatchObject({ state: 'applied', reason: 'Drifted', drift: CHANGED, since });
    expect(output?.message).toBe(
      `drifted since ${since}: data.value changed by "kubectl-edit"; its drift is only reported`,
    );
    east.drifts('ConfigMap/web/a', { drift: 'removed', fields: [], managers: [] });
    await world.settle();
    expect(outputOf(world)?.message).toBe(`removed by others; first reported at ${since}; its drift is only reported`);
    const placement = await world.server.api.explain({ object: 'Placement/apps', part: 'Ready' });
    expect(placement).toMatchObject({
      value: { condition: { status: 'True', message: '6 of 6 applied, 1 drifted' } },
    });
    const why = await world.server.api.explain({ object: 'KubernetesCluster/east', part: 'InSync' });
    expect(JSON.stringify(why)).toContain('ConfigMap/web/a');
    expect(clusterIn(world, 'west')).toMatchObject({ inSync: true, drifted: 0 });
    east.drifts('ConfigMap/web/a', undefined);
    await world.settle();
    expect(clusterIn(world)).toMatchObject({ inSync: true, drifted: 0 });
  });

  it('has drifted since its agent said so first, also when the agent or the server starts again', async () => {
    const world = await startedWorld();
    world.agent('east').drifts('ConfigMap/web/a', CHANGED);
    await world.settle();
    const since = outputOf(world)?.since;
    expect(since).toBeDefined();
    await world.clock.advance(600_000);
    world.agent('east').drifts('ConfigMap/web/a', { ...CHANGED, fields: ['data.other'] });
    await world.settle();
    expect(outputOf(world)?.since).toBe(since);
    const next = await restart(world);
    next.source.push(base);
    next.agent('east').connect();
    await next.settle();
    next.agent('east').drifts('ConfigMap/web/a', CHANGED);
    await next.settle();
    expect(outputOf(next)?.since).toBe(since);
    next.agent('east').drifts('ConfigMap/web/a', undefined);
    await next.clock.advance(60_000);
    next.agent('east').drifts('ConfigMap/web/a', CHANGED);
    await next.settle();
    expect(outputOf(next)?.since).not.toBe(since);
  });

  it('fails since the failure, and not since the drift before it', async () => {
    const world = await startedWorld();
    world.agent('east').drifts('ConfigMap/web/b', CHANGED);
    await world.clock.advance(600_000);
    world.agent('east').failing.add('ConfigMap/web/b');
    world.agent('east').drifts('ConfigMap/web/b', undefined);
    const since = world.clock.now();
    await world.settle();
    expect(world.server.engine.inputs.results.get('east', b!)).toMatchObject({ state: 'failed', since });
  });
});
