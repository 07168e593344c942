import { expect, test } from 'vitest';
import { createCatalog } from '../../../../../../src/adapters/kubernetes/api/catalog.ts';
import {
  beginList,
  endList,
  type Following,
  takeObject,
} from '../../../../../../src/adapters/kubernetes/api/kind-list.ts';
import type { ApiResource, KubeClient } from '../../../../../../src/adapters/kubernetes/api/types.ts';
import { createAutoscaled } from '../../../../../../src/adapters/kubernetes/cluster/live/autoscaled.ts';
import { type Reading, readEntry } from '../../../../../../src/adapters/kubernetes/cluster/live/entry.ts';
import { createKindView } from '../../../../../../src/adapters/kubernetes/cluster/live/kind-view.ts';
import { createKinds } from '../../../../../../src/adapters/kubernetes/cluster/live/kinds.ts';
import { createLive } from '../../../../../../src/adapters/kubernetes/cluster/live/live.ts';
import { createLiveStore } from '../../../../../../src/adapters/kubernetes/cluster/live/store.ts';
import { judgeObject } from '../../../../../../src/model/objects/object-health/object-health.ts';
import { objectKey } from '../../../../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../../../../src/model/text/json.ts';
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
const reading: Reading = { judge: (raw) => judgeObject(raw, {}), trim: (value) => value };

test('after the close no kind is followed any more, whatever catalog and ownership report', async () => {
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
  const kinds = createKinds(
    { client, clock, random, log: silentLog },
    { store: createLiveStore(), reading, autoscaled: createAutoscaled(), news: ignore, stateChanged: ignore },
  );
  kinds.follow(createCatalog([kind('Pod')]));
  await kinds.close();
  asked.length = 0;
  kinds.follow(createCatalog([kind('Pod'), kind('Service')]));
  kinds.owns([{ kind: '/Pod', namespace: '' }]);
  await clock.advance(60_000);
  expect(asked).toEqual([]);
});

/** The view of Services, with lists and watches as a follower hands them over. */
function viewOfServices() {
  const store = createLiveStore();
  const options = { resource: kind('Service'), reading, keeps: () => true, news: ignore, stateChanged: ignore };
  const view = createKindView(store, options);
  const unused = { client: {} as KubeClient, clock: createVirtualClock(), random: { next: () => 0, id: () => '' } };
  const following: Following = {
    deps: { ...unused, log: silentLog },
    options: { resource: kind('Service') },
    listener: view.listener,
    signal: new AbortController().signal,
    list: undefined,
    position: undefined,
  };
  return {
    store,
    view,
    begin: () => beginList(following),
    take: (raw: JsonObject) => expect(takeObject(following, raw)).toBeUndefined(),
    end: () => endList(following, true),
  };
}

test('an object that was removed and is in a later list was restored', () => {
  const { store, view, begin, take, end } = viewOfServices();
  const key = objectKey({ group: '', kind: 'Service', namespace: 'ns', name: 'web' });
  begin();
  take(service('1', '10'));
  end();
  begin();
  view.removed(key, '1');
  // This list began before.
  take(service('1', '10'));
  end();
  expect([...store.objects.keys()]).toEqual([]);
  begin();
  take(service('1', '10'));
  end();
  expect([...store.objects.keys()]).toEqual([key]);
});

test('a list that began before a write of ours does not remove what was written', () => {
  const { store, view, begin, end } = viewOfServices();
  begin();
  view.wrote(readEntry(service('1', '20'), kind('Service'), reading));
  end();
  expect(store.objects.size).toBe(1);
  begin();
  end();
  expect(store.objects.size).toBe(0);
});

test('a list of a cluster that was restored to an older state is authoritative', () => {
  const { store, view, begin, take, end } = viewOfServices();
  begin();
  end();
  view.wrote(readEntry(service('1', '5000'), kind('Service'), reading));
  begin();
  take({ ...service('1', '300'), spec: { type: 'ClusterIP' } });
  end();
  expect([...store.objects.values()].map(({ value }) => value.spec)).toEqual([{ type: 'ClusterIP' }]);
  take({ ...service('1', '311'), spec: { type: 'NodePort' } });
  expect([...store.objects.values()].map(({ value }) => value.spec)).toEqual([{ type: 'NodePort' }]);
});

test('a newly followed kind that does not answer delays a look for a few seconds only', async () => {
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
  live.owns([{ kind: '/Secret', namespace: '' }]);
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
