import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/model/text/json.ts';
import type { FleetWorld } from '../support/fleet-world.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../support/manifests.ts';
import { kindsOf, liveService, mirrorYaml } from '../support/mirrors.ts';
import { guards, names, startedWorld } from '../support/started-world.ts';

const MANY = 2_000;
const LOOSE = {
  ...{ maxRemovalsPerCluster: 10_000, maxRemovalPercentPerCluster: 100 },
  ...{ maxRemovalsPerFleet: 10_000, maxRemovalPercentPerFleet: 100 },
};
const loose = guards(LOOSE);
const files = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'clusters/west/cluster.yaml': clusterYaml('west'),
  'mirror.yaml': mirrorYaml('shared', 'names: [east]', 'names: [west]'),
  'placement.yaml': placementYaml('apps', 'apps/**'),
};
const services = (count: number): readonly JsonObject[] =>
  Array.from({ length: count }, (_, at) => liveService(`s${at}`));
const mirroredIn = (world: FleetWorld): number => names(world, 'west').filter((key) => key.includes('/east-')).length;

describe('an agent that sends a large step', () => {
  it('keeps the changes of others waiting for one part of it only', async () => {
    const world = await startedWorld(files);
    const seen: string[] = [];
    const west = world.agent('west');
    west.onDelta = () => {
      if (west.deltas.some(({ upserts }) => upserts.some(({ key }) => key.endsWith('/app')))) seen.push('the app');
    };
    world.agent('east').discovers({ upserts: services(MANY), kinds: kindsOf() }, () => seen.push('the step'));
    world.source.push({ 'apps/app.yaml': configMapYaml('app', '1') });
    await world.settle();
    expect(seen.indexOf('the app')).toBe(0);
    expect(seen).toContain('the step');
    expect(mirroredIn(world)).toBe(MANY);
  });

  it('or many small ones: each is answered after its commit', async () => {
    const world = await startedWorld(files);
    const all = services(MANY);
    const next = (from: number): void => {
      if (from >= MANY) return;
      world.agent('east').discovers({ upserts: all.slice(from, from + 400), kinds: kindsOf() }, () => next(from + 400));
    };
    next(0);
    await world.settle();
    expect(mirroredIn(world)).toBe(MANY);
    expect(Math.max(...world.agent('west').deltas.map(({ upserts }) => upserts.length))).toBe(400);
  });

  it('has its removals judged together, however many parts they are in', async () => {
    // One part would be within the guard.
    const policy = guards({ ...LOOSE, maxRemovalsPerCluster: 1_000 });
    const world = await startedWorld({ ...files, 'policy.yaml': policy });
    world.agent('east').discovers({ upserts: services(MANY), kinds: kindsOf() });
    await world.settle();
    world.agent('east').discovers({ removals: services(MANY) });
    await world.settle();
    expect(mirroredIn(world)).toBe(MANY);
  });

  it('that is cut off proves no absence until the next one is complete', async () => {
    const world = await startedWorld({ ...files, 'policy.yaml': loose });
    world.agent('east').discovers({ upserts: services(MANY), kinds: kindsOf() });
    await world.settle();
    let isTaken = false;
    const gone = services(MANY).slice(1);
    world.agent('east').discovers({ removals: gone }, () => {
      isTaken = true;
    });
    // The first part is staged when the step has been measured.
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    world.agent('east').disconnect();
    await world.settle();
    expect(isTaken).toBe(false);
    expect(mirroredIn(world)).toBe(MANY);
    world.agent('east').connect();
    world.agent('east').discovers({ removals: gone, kinds: kindsOf() });
    await world.settle();
    expect(mirroredIn(world)).toBe(1);
  });
});
