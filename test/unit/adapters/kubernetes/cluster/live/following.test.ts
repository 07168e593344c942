import { expect, test } from 'vitest';
import { createCatalog } from '../../../../../../src/adapters/kubernetes/api/catalog.ts';
import type { ApiResource, KubeClient } from '../../../../../../src/adapters/kubernetes/api/types.ts';
import { createAutoscaled } from '../../../../../../src/adapters/kubernetes/cluster/live/autoscaled.ts';
import { readEntry } from '../../../../../../src/adapters/kubernetes/cluster/live/entry.ts';
import { createKindView } from '../../../../../../src/adapters/kubernetes/cluster/live/kind-view.ts';
import { createKindWatches } from '../../../../../../src/adapters/kubernetes/cluster/live/kind-watches.ts';
import { createLive } from '../../../../../../src/adapters/kubernetes/cluster/live/live.ts';
import { createLiveStore } from '../../../../../../src/adapters/kubernetes/cluster/live/store.ts';
import type { JsonObject } from '../../../../../../src/model/json.ts';
import { silentLog } from '../../../../../support/silent-log.ts';
import { createVirtualClock } from '../../../../../support/virtual-clock.ts';

const kind = (name: string): ApiResource => ({
  group: '',
  version: 'v1',
  kind: name,
  resource: `${name.toLowerCase()}s`,
  namespaced: true,
  verbs: ['list', 'watch'],
  subresources: [],
});
const service = (uid: string, resourceVersion: string): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'ns', uid, resourceVersion },
});
const ignore = (): void => {};

test('after it was closed nothing is followed any more, whatever is still learned', async () => {
  const asked: string[] = [];
  const client: KubeClient = {
    server: 'https://test',
    request: async ({ path }) => {
      asked.push(path);
      return { type: 'unreachable', message: 'test' };
    },
    watch: async ({ path }) => {
      asked.push(path);
      return { type: 'broken', message: 'test' };
    },
    close: async () => {},
  };
  const clock = createVirtualClock();
  const random = { next: () => 0.5, id: () => 'id' };
  const watches = createKindWatches(
    { client, clock, random, log: silentLog },
    { store: createLiveStore(), autoscaled: createAutoscaled(), news: ignore, stateChanged: ignore },
  );
  watches.start(createCatalog([kind('Pod')]));
  await watches.close();
  asked.length = 0;
  watches.follow(createCatalog([kind('Pod'), kind('Service')]));
  watches.owns(['/Pod']);
  await clock.advance(60_000);
  expect(asked).toEqual([]);
});

test('what was removed and is in a later list was restored', () => {
  const store = createLiveStore();
  const view = createKindView(store, {
    resource: kind('Service'),
    keeps: () => true,
    news: ignore,
    stateChanged: ignore,
  });
  const { listener } = view;
  const key = '/Service/ns/web';
  const keys = () => [...store.objects.keys()] as string[];
  listener.listing();
  listener.upsert(service('1', '10'));
  listener.listed('11');
  listener.listing();
  view.removed([...store.objects.keys()][0]!, '1');
  // This list began before.
  listener.upsert(service('1', '10'));
  listener.listed('12');
  expect(keys()).toEqual([]);
  listener.listing();
  listener.upsert(service('1', '10'));
  listener.listed('11');
  expect(keys()).toEqual([key]);
});

test('a list of a cluster that was set back to an older state is the truth', () => {
  const store = createLiveStore();
  const options = { resource: kind('Service'), keeps: () => true, news: ignore, stateChanged: ignore };
  const { listener, wrote } = createKindView(store, options);
  const written = readEntry(service('1', '5000'), kind('Service'));
  listener.listing();
  listener.listed('1');
  wrote(written);
  listener.listing();
  listener.upsert({ ...service('1', '300'), spec: { type: 'ClusterIP' } });
  listener.listed('310');
  expect([...store.objects.values()].map(({ value }) => value.spec)).toEqual([{ type: 'ClusterIP' }]);
  listener.upsert({ ...service('1', '311'), spec: { type: 'NodePort' } });
  expect([...store.objects.values()].map(({ value }) => value.spec)).toEqual([{ type: 'NodePort' }]);
});

test('a kind that is followed from now on and does not answer holds up no look for long', async () => {
  const answers = new Set(['/api/v1/pods']);
  const version = (resourceVersion: string) => ({ metadata: { resourceVersion } });
  const client: KubeClient = {
    server: 'https://test',
    request: async () => ({ type: 'ok', status: 200, body: { apiVersion: 'v1', kind: 'Namespace', ...version('1') } }),
    watch: ({ path, opened, signal }, event) => {
      if (answers.has(path)) {
        opened?.();
        const annotations = { 'k8s.io/initial-events-end': 'true' };
        event({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '1', annotations } } });
      }
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve({ type: 'closed' })));
    },
    close: async () => {},
  };
  const clock = createVirtualClock();
  const deps = { client, clock, random: { next: () => 0.5, id: () => 'id' }, log: silentLog };
  const catalog = createCatalog([kind('Pod'), kind('Secret')]);
  const live = createLive(deps, { namespace: 'ns', catalog });
  await live.list('complete');
  live.owns(['/Secret']);
  let looked = false;
  const look = live.list('complete').then((state) => {
    looked = true;
    return state;
  });
  await clock.advance(1_000);
  expect(looked).toBe(false);
  await clock.advance(6_000);
  expect(looked).toBe(true);
  expect((await look).kinds).toContainEqual(expect.objectContaining({ kind: '/Pod', state: 'complete' }));
  await live.close();
});
