import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { annotationOf, type ObjectKey } from '../../../src/model/objects/object-key.ts';
import { type JsonObject, objectOf } from '../../../src/model/text/json.ts';
import type { CustomResource, CustomResources } from '../../../src/ports/custom-resources.ts';
import type { ResourceEvent, ResourceStatus } from '../../../src/ports/resource-status.ts';
import { conditionsIn, placementResource } from '../../support/fake-custom-resources.ts';
import { until } from '../../support/fleet-processes.ts';

/** What a test of the contract works with: a cluster without custom resources, in which everything is in `fleet`. */
export interface CustomResourceWorld {
  readonly resources: CustomResources;
  readonly status: ResourceStatus;
  apply(object: JsonObject): Promise<void>;
  remove(key: string): Promise<void>;
  /** Another manager writes a part of a status. */
  otherStatus(key: string, status: JsonObject): Promise<void>;
  events(key: string): Promise<readonly Pick<ResourceEvent, 'type' | 'reason' | 'message'>[]>;
  end(): Promise<void>;
}

const apps = 'fleetrelay.dev/Placement/fleet/apps';
const ready = (status: string): JsonObject => ({
  type: 'Ready',
  status,
  reason: 'Applied',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});

/** The contract of the ports `CustomResources` and `ResourceStatus`. */
export function describeCustomResources(name: string, open: () => Promise<CustomResourceWorld>): void {
  describe(`${name}: custom resources and their status`, () => {
    let world: CustomResourceWorld;
    beforeEach(async () => {
      world = await open();
    });
    afterEach(() => world.end());

    const get = (key = apps): CustomResource | undefined => world.resources.state().objects.get(key as ObjectKey);
    const appears = (what: string, holds: (found: CustomResource | undefined) => boolean): Promise<CustomResource> =>
      until(what, async () => (holds(get()) ? get() : undefined));
    const target = (resource: CustomResource) => ({ ...resource, apiVersion: 'fleetrelay.dev/v1alpha1' });

    it('are seen when they come, change and go', async () => {
      const changes: (ObjectKey | undefined)[] = [];
      world.resources.start((key) => {
        changes.push(key);
      });
      await until('all kinds are listed', async () =>
        world.resources.state().kinds.every(({ state }) => state === 'complete') ? true : undefined,
      );
      await world.apply(placementResource('apps', ['apps/**']));
      const first = await appears('it comes', (found) => found !== undefined);
      expect(first).toMatchObject({ generation: 1, status: undefined, value: placementResource('apps', ['apps/**']) });
      expect(first.value).not.toHaveProperty('metadata.managedFields');
      await world.apply(placementResource('apps', ['web/**']));
      const second = await appears('it changes', (found) => found?.generation === 2);
      expect(second).toMatchObject({ uid: first.uid, value: { spec: { paths: ['web/**'] } } });
      expect(second.resourceVersion).not.toBe(first.resourceVersion);
      await world.remove(apps);
      await until('it goes', async () => (get() === undefined ? true : undefined));
      expect(changes.filter((key) => key === apps).length).toBeGreaterThanOrEqual(3);
    });

    it('take a status beside what others say, and nothing of it is desired state', async () => {
      world.resources.start(() => undefined);
      await world.apply(placementResource('apps', ['apps/**']));
      const resource = await appears('it comes', (found) => found !== undefined);
      await world.otherStatus(apps, { conditions: [{ ...ready('True'), type: 'TheirOwn' }] });
      await appears('theirs', (found) => conditionsIn(found?.status).TheirOwn !== undefined);
      const status = { selectedClusters: 2, conditions: [ready('False'), { ...ready('True'), type: 'Stalled' }] };
      expect(await world.status.write(target(resource), status)).toMatchObject({ type: 'written' });
      const written = await appears('ours', (found) => found?.status?.selectedClusters === 2);
      expect(Object.keys(conditionsIn(written.status)).sort()).toEqual(['Ready', 'Stalled', 'TheirOwn']);
      expect(written).toMatchObject({ generation: 1, value: resource.value });
      expect(written.value).not.toHaveProperty('status');
      // A condition that is reported no more is removed, and the condition of another manager stays.
      await world.status.write(target(resource), { selectedClusters: 2, conditions: [ready('True')] });
      const after = await appears('again', (found) => conditionsIn(found?.status).Stalled === undefined);
      expect(Object.keys(conditionsIn(after.status)).sort()).toEqual(['Ready', 'TheirOwn']);
    });

    it('are gone for a status when they are, or when another one has their name', async () => {
      world.resources.start(() => undefined);
      await world.apply(placementResource('apps', ['apps/**']));
      const resource = await appears('it comes', (found) => found !== undefined);
      await world.remove(apps);
      await until('it goes', async () => (get() === undefined ? true : undefined));
      expect(await world.status.write(target(resource), { selectedClusters: 1 })).toEqual({ type: 'gone' });
      await world.apply(placementResource('apps', ['apps/**']));
      const another = await appears('another comes', (found) => found !== undefined && found.uid !== resource.uid);
      expect(await world.status.write(target(resource), { selectedClusters: 1 })).toEqual({ type: 'gone' });
      expect(await world.status.write(target(another), { selectedClusters: 1 })).toMatchObject({ type: 'written' });
    });

    it('take labels and lose annotations, and another one of their name does not', async () => {
      world.resources.start(() => undefined);
      const metadata = {
        name: 'apps',
        namespace: 'fleet',
        labels: { own: 'x' },
        annotations: { retry: 'y', keep: 'z' },
      };
      const declared: JsonObject = { ...placementResource('apps', ['apps/**']), metadata };
      await world.apply(declared);
      const resource = await appears('it comes', (found) => found !== undefined);
      const change = { labels: { state: 'healthy' }, removeAnnotations: { retry: 'y' } };
      expect(await world.status.mark({ ...target(resource), uid: 'another' }, change)).toEqual({ type: 'gone' });
      expect(await world.status.mark(target(resource), change)).toMatchObject({ type: 'written' });
      const marked = await appears('it is labelled', (found) => found?.resourceVersion !== resource.resourceVersion);
      const { labels, annotations } = objectOf(marked.value.metadata);
      expect({ labels, annotations, spec: marked.value.spec }).toEqual({
        labels: { own: 'x', state: 'healthy' },
        annotations: { keep: 'z' },
        spec: declared.spec,
      });
    });

    it('keep an annotation that got another value after the removal of it was computed', async () => {
      world.resources.start(() => undefined);
      const annotated = (retry: string): JsonObject => {
        const metadata = { name: 'apps', namespace: 'fleet', annotations: { retry } };
        return { ...placementResource('apps', ['apps/**']), metadata };
      };
      await world.apply(annotated('first'));
      const resource = await appears('it comes', (found) => found !== undefined);
      await world.apply(annotated('second'));
      const change = { labels: { state: 'healthy' }, removeAnnotations: { retry: 'first' } };
      expect(await world.status.mark(target(resource), change)).toMatchObject({ type: 'written' });
      const marked = await appears('it is labelled', (found) => objectOf(found?.value.metadata).labels !== undefined);
      expect(marked.value.metadata).toMatchObject({ labels: { state: 'healthy' }, annotations: { retry: 'second' } });
      const again = { labels: {}, removeAnnotations: { retry: 'second' } };
      expect(await world.status.mark(target(marked), again)).toMatchObject({ type: 'written' });
      await appears('the second value is removed', (found) => annotationOf(found?.value ?? {}, 'retry') === '');
    });

    it('have events', async () => {
      world.resources.start(() => undefined);
      await world.apply(placementResource('apps', ['apps/**']));
      const resource = await appears('it comes', (found) => found !== undefined);
      await world.status.event(target(resource), { type: 'Warning', reason: 'Conflict', message: 'said twice' });
      expect(await world.events(apps)).toEqual([{ type: 'Warning', reason: 'Conflict', message: 'said twice' }]);
    });
  });
}
