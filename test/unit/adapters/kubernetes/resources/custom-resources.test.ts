import { expect, it } from 'vitest';
import type { WatchEvent } from '../../../../../src/adapters/kubernetes/api/types.ts';
import {
  createResourceKind,
  type ResourceKind,
} from '../../../../../src/adapters/kubernetes/resources/custom-resources.ts';
import type { ObjectKey } from '../../../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import type { CustomResource } from '../../../../../src/ports/custom-resources.ts';
import { silentLog } from '../../../../support/silent-log.ts';
import { createVirtualClock } from '../../../../support/virtual-clock.ts';

const KIND = { group: 'fleetrelay.dev', version: 'v1alpha1', kind: 'Placement' };
const OFFERED = { name: 'placements', kind: 'Placement', namespaced: true, verbs: ['create', 'list', 'watch'] };

function placement(name: string, resourceVersion = '1'): JsonObject {
  const metadata = { name, namespace: 'fleet', uid: name, resourceVersion };
  return { apiVersion: 'fleetrelay.dev/v1alpha1', kind: 'Placement', metadata };
}

/** Follows `count` Placements in virtual time; `remove` is the API server's word that one is gone. */
async function follow(count: number) {
  const items = Array.from({ length: count }, (_, index) => placement(`p${index}`));
  const { tell, ...followed } = await followItems(KIND, OFFERED, items);
  const remove = (index: number): void => tell({ type: 'DELETED', object: placement(`p${index}`, String(10 + index)) });
  return { ...followed, remove };
}

/** Follows these objects of a kind in virtual time. `tell` is an event of the watch. */
async function followItems(kind: ResourceKind, offered: JsonObject, items: readonly JsonObject[]) {
  const clock = createVirtualClock();
  let tell: (event: WatchEvent) => void = () => undefined;
  const sizes: number[] = [];
  const objects = new Map<ObjectKey, CustomResource>();
  const follower = createResourceKind(
    {
      client: {
        server: 'memory',
        request: async ({ path }) => ({
          ...{ type: 'ok', status: 200 },
          body: path.endsWith('/v1alpha1')
            ? { resources: [offered] }
            : { kind: `${kind.kind}List`, metadata: { resourceVersion: '9' }, items },
        }),
        watch: async ({ query, opened }, event) => {
          if (query.sendInitialEvents !== undefined) {
            const refusal = { reason: 'Invalid', message: '', causes: [] };
            return { type: 'refused', status: 422, refusal };
          }
          opened?.();
          tell = event;
          return await new Promise(() => undefined);
        },
        close: async () => undefined,
      },
      clock,
      random: { next: () => 0.5, id: () => '0' },
      log: silentLog,
    },
    { kind, namespaces: undefined, objects },
    () => {
      if (sizes.at(-1) !== objects.size) sizes.push(objects.size);
    },
  );
  follower.start();
  await clock.advance(1_000);
  expect([follower.state().state, objects.size]).toEqual(['complete', items.length]);
  return { clock, objects, sizes, tell: (event: WatchEvent) => tell(event) };
}

it('deletions within a second of each other are one, as when kubectl deletes over a slow connection', async () => {
  const { clock, objects, remove, sizes } = await follow(10);
  for (let index = 0; index < 10; index += 1) {
    remove(index);
    await clock.advance(800);
  }
  await clock.advance(2_000);
  expect(objects.size).toBe(0);
  expect(sizes.slice(sizes.indexOf(10))).toEqual([10, 0]);
});

it('deletions that never cease take effect after a while', async () => {
  const { clock, objects, remove } = await follow(1_000);
  for (let index = 0; index < 600; index += 1) {
    remove(index);
    await clock.advance(100);
  }
  expect(objects.size).toBeLessThan(750);
});

it('a Dataplane that a Pod owns is live state: it is no declaration', async () => {
  const kind = { group: 'kuma.io', version: 'v1alpha1', kind: 'Dataplane' };
  const offered = { name: 'dataplanes', kind: 'Dataplane', namespaced: true, verbs: ['create', 'list', 'watch'] };
  const dataplane = (name: string, resourceVersion: string, owner?: JsonObject): JsonObject => {
    const metadata = { name, namespace: 'fleet', uid: name, resourceVersion };
    const owned = owner === undefined ? metadata : { ...metadata, ownerReferences: [owner] };
    return { apiVersion: 'kuma.io/v1alpha1', kind: 'Dataplane', metadata: owned };
  };
  const ofPod = { apiVersion: 'v1', kind: 'Pod', name: 'web' };
  const { objects, tell } = await followItems(kind, offered, [dataplane('a', '1'), dataplane('b', '2')]);
  const names = () => [...objects.values()].map(({ uid }) => uid);
  tell({ type: 'ADDED', object: dataplane('c', '13', ofPod) });
  tell({ type: 'ADDED', object: dataplane('d', '14', { ...ofPod, kind: 'Deployment' }) });
  tell({ type: 'MODIFIED', object: dataplane('b', '15', ofPod) });
  expect(names()).toEqual(['a', 'd']);
});
