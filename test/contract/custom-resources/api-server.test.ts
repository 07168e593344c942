import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectKube } from '../../../src/adapters/kubernetes/api/connect.ts';
import { createCustomResources } from '../../../src/adapters/kubernetes/resources/custom-resources.ts';
import { createResourceStatus } from '../../../src/adapters/kubernetes/resources/resource-status.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { type ObjectKey, objectRefOf } from '../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { must } from '../../../src/model/values/result.ts';
import { conditionsIn, placementResource } from '../../support/fake-custom-resources.ts';
import { until } from '../../support/fleet-processes.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { silentLog } from '../../support/silent-log.ts';
import { type CustomResourceWorld, describeCustomResources } from './suite.ts';

const placements = { group: 'fleetrelay.dev', version: 'v1alpha1', kind: 'Placement' };
const CRDS = ['-f', 'deploy/crds/fleetrelay.dev_placements.yaml'];
const apps = 'fleetrelay.dev/Placement/fleet/apps' as ObjectKey;

describe.skipIf(noProgram('kube-apiserver'))('on an API server', () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await startControlPlane({ users: { narrow: [] } });
    await plane.kubectl(['create', 'namespace', 'fleet']);
    await plane.kubectl(['create', 'namespace', 'other']);
    await install();
  });
  afterAll(() => plane?.stop());

  async function install(): Promise<void> {
    await plane.kubectl(['apply', '--server-side', '--force-conflicts', ...CRDS]);
    await plane.kubectl(['wait', '--for=condition=Established', '--timeout=120s', 'crd', 'placements.fleetrelay.dev']);
  }

  async function open(user?: string, namespaces?: readonly string[]): Promise<CustomResourceWorld> {
    const deps = { clock: createSystemClock(), random: createSystemRandom(), log: silentLog };
    const options = { kubeconfig: plane.kubeconfig(user), userAgent: 'fleetrelay-test' };
    const { client } = must(await connectKube(deps, options));
    const within = namespaces === undefined ? {} : { namespaces };
    const resources = createCustomResources({ ...deps, client }, { kinds: [placements], ...within });
    return {
      resources,
      status: createResourceStatus({ ...deps, client, resourceOf: resources.resourceOf }, { instance: 'test' }),
      apply: async (object) =>
        void (await plane.kubectl(['apply', '--server-side', '-f', '-'], { input: JSON.stringify(object) })),
      remove: async (key) => {
        const { kind, namespace, name } = objectRefOf(key as ObjectKey);
        await plane.kubectl(['delete', kind.toLowerCase(), '-n', namespace, name]);
      },
      otherStatus: (key, status) => patchStatus(key as ObjectKey, status),
      events: async (key) => {
        const { namespace, name } = objectRefOf(key as ObjectKey);
        const selector = `--field-selector=regarding.name=${name}`;
        type Event = { type: 'Normal' | 'Warning'; reason: string; note: string };
        const { items } = await plane.get<{ items: Event[] }>('events.events.k8s.io', '-n', namespace, selector);
        return items.map(({ type, reason, note }) => ({ type, reason, message: note }));
      },
      end: async () => {
        await resources.stop();
        await client.close();
        await plane.kubectl(['delete', 'placements,events', '--all', '-A']).catch(() => undefined);
      },
    };
  }

  async function patchStatus(key: ObjectKey, status: JsonObject): Promise<void> {
    const { namespace, name } = objectRefOf(key);
    const patch = JSON.stringify({ status });
    const words = ['patch', 'placement', '-n', namespace, name, '--subresource=status', '--type=merge', '-p', patch];
    await plane.kubectl(words);
  }

  const stateOf = ({ resources }: CustomResourceWorld) => resources.state().kinds[0];
  const comesTo = (world: CustomResourceWorld, state: string, message = ''): Promise<true> =>
    until(`the kind is ${state} ${message}`, async () => {
      const now = stateOf(world);
      return now?.state === state && now.message.includes(message) ? true : undefined;
    });

  describeCustomResources('API server', () => open());

  it('hold when their definition is deleted, which differs from their own deletion, and are listed again with it', async () => {
    const world = await open();
    try {
      let atSome = 0;
      world.resources.start(() => {
        // Never, not for a moment, is the kind complete without what went with its definition.
        const { kinds, objects } = world.resources.state();
        if (kinds[0]?.state === 'complete') atSome = Math.min(atSome, objects.size);
      });
      for (const name of ['apps', 'web', 'info']) await world.apply(placementResource(name, ['apps/**']));
      await until('all are there', async () => (world.resources.state().objects.size === 3 ? true : undefined));
      atSome = 3;
      // Keeps the definition in deletion while the others are gone already.
      const patchInfo = (finalizers: readonly string[]): Promise<string> => {
        const patch = JSON.stringify({ metadata: { finalizers } });
        return plane.kubectl(['patch', 'placement', '-n', 'fleet', 'info', '--type=merge', '-p', patch]);
      };
      await patchInfo(['fleetrelay.dev/test']);
      await plane.kubectl(['delete', ...CRDS, '--wait=false']);
      await comesTo(world, 'unknown', 'is being deleted');
      expect(world.resources.state().objects.size).toBe(3);
      await patchInfo([]);
      await comesTo(world, 'unknown', 'install the CustomResourceDefinitions');
      expect(world.resources.state().objects.size).toBe(3);
      expect(atSome).toBe(3);
      await install();
      await comesTo(world, 'complete');
      expect(world.resources.state().objects.size).toBe(0);
    } finally {
      await world.end();
      await install();
    }
  });

  it('are unknown to a server that may not list them, and known once it may', async () => {
    const world = await open('narrow');
    try {
      world.resources.start(() => undefined);
      await comesTo(world, 'unknown', 'forbidden');
      await plane.kubectl(['create', 'clusterrole', 'reader', '--verb=get,list,watch', '--resource=placements']);
      await plane.kubectl(['create', 'clusterrolebinding', 'reader', '--clusterrole=reader', '--user=narrow']);
      await comesTo(world, 'complete');
      const resource = await applied(world, 'apps');
      const written = await world.status.write({ ...resource, apiVersion: 'fleetrelay.dev/v1alpha1' }, {});
      expect(written).toMatchObject({ type: 'retry', reason: 'Forbidden' });
    } finally {
      await world.end();
    }
  });

  async function applied(world: CustomResourceWorld, name: string) {
    await world.apply(placementResource(name, ['apps/**']));
    return until('it comes', async () => world.resources.state().objects.get(apps));
  }

  it('are followed in the namespaces that were named, and in no other', async () => {
    const world = await open(undefined, ['fleet']);
    try {
      world.resources.start(() => undefined);
      const elsewhere = placementResource('elsewhere', ['apps/**']);
      await world.apply({ ...elsewhere, metadata: { name: 'elsewhere', namespace: 'other' } });
      await applied(world, 'apps');
      await comesTo(world, 'complete');
      expect([...world.resources.state().objects.keys()]).toEqual([apps]);
    } finally {
      await world.end();
    }
  });

  it('have a status that is restored after a person edited it, and an invalid one is refused for good', async () => {
    const world = await open();
    try {
      world.resources.start(() => undefined);
      const resource = await applied(world, 'apps');
      const target = { ...resource, apiVersion: 'fleetrelay.dev/v1alpha1' };
      const ready = { type: 'Ready', status: 'True', reason: 'Applied' };
      const status = { selectedClusters: 2, conditions: [ready] };
      await world.status.write(target, status);
      await patchStatus(apps, { selectedClusters: 7, conditions: [{ ...ready, status: 'False' }] });
      expect(await world.status.write(target, status)).toMatchObject({ type: 'written' });
      expect(await plane.get('placement', '-n', 'fleet', 'apps')).toMatchObject({ status });
      const bad = { selectedClusters: -1 };
      expect(await world.status.write(target, bad)).toMatchObject({ type: 'refused', reason: 'Invalid' });
    } finally {
      await world.end();
    }
  });

  it('keep the status of a definition where conditions are one field, once another manager writes them', async () => {
    const definition = await plane.get<{ spec: { versions: { schema: unknown }[] } }>(
      'crd',
      'placements.fleetrelay.dev',
    );
    const text = JSON.stringify(definition).replaceAll(
      '"x-kubernetes-list-map-keys":["type"],"x-kubernetes-list-type":"map"',
      '"x-kubernetes-list-type":"atomic"',
    );
    const world = await open();
    try {
      await plane.kubectl(['replace', '-f', '-'], { input: text });
      world.resources.start(() => undefined);
      const resource = await applied(world, 'apps');
      const theirs = { type: 'TheirOwn', status: 'True', reason: 'Fine' };
      // The schema takes a moment to be in force; until then a list of this kind has two owners.
      const answer = await until('conditions are one field', async () => {
        await patchStatus(apps, { conditions: [theirs] });
        const own = { conditions: [{ type: 'Ready', status: 'True', reason: 'Applied' }] };
        const written = await world.status.write({ ...resource, apiVersion: 'fleetrelay.dev/v1alpha1' }, own);
        return written.type === 'refused' ? written : undefined;
      });
      expect(answer).toMatchObject({ type: 'refused', reason: 'StatusOfOtherManager' });
      const { status } = await plane.get<{ status: JsonObject }>('placement', '-n', 'fleet', 'apps');
      expect(Object.keys(conditionsIn(status))).toEqual(['TheirOwn']);
    } finally {
      await world.end();
      await install();
    }
  });

  it('count the same event up, show it where people look, and tell no more than can be read', async () => {
    const world = await open();
    try {
      world.resources.start(() => undefined);
      const resource = await applied(world, 'apps');
      const target = { ...resource, apiVersion: 'fleetrelay.dev/v1alpha1' };
      const event = { type: 'Normal', reason: 'Applied', message: 'x'.repeat(2_000) } as const;
      for (let times = 0; times < 3; times += 1) await world.status.event(target, event);
      type Event = { series: { count: number }; note: string };
      const { items } = await plane.get<{ items: Event[] }>('events.events.k8s.io', '-n', 'fleet');
      expect(items.map(({ series }) => series.count)).toEqual([3]);
      expect(items[0]?.note.length).toBe(1024);
      expect(await plane.kubectl(['describe', 'placement', '-n', 'fleet', 'apps'])).toMatch(/Normal +Applied +.*xxx/);
      for (let times = 0; times < 40; times += 1) await world.status.event(target, { ...event, message: `${times}` });
      const { items: all } = await plane.get<{ items: unknown[] }>('events.events.k8s.io', '-n', 'fleet');
      expect(all.length).toBeLessThan(22);
    } finally {
      await world.end();
    }
  });
});
