import { expect, test } from 'vitest';
import { createCatalog } from '../../../../../../src/adapters/kubernetes/api/catalog.ts';
import type {
  ApiResource,
  KubeClient,
  KubeWatchRequest,
  WatchEvent,
} from '../../../../../../src/adapters/kubernetes/api/types.ts';
import { createLive } from '../../../../../../src/adapters/kubernetes/cluster/live/live.ts';
import { additionalKindsOf } from '../../../../../../src/model/agent/additional-kinds.ts';
import { type AdditionalKind, NO_SETTINGS } from '../../../../../../src/model/agent/agent-settings.ts';
import { labelsOf, metadataOf, type ObjectKey } from '../../../../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../../../../src/model/text/json.ts';
import { silentLog } from '../../../../../support/silent-log.ts';
import { createVirtualClock } from '../../../../../support/virtual-clock.ts';

/** Kinds of which an agent follows some objects. */

const resource = (group: string, kind: string, more: Partial<ApiResource> = {}): ApiResource => ({
  ...{ group, version: 'v1', kind, resource: `${kind.toLowerCase()}s`, namespaced: true },
  ...{ verbs: ['list', 'watch'], subresources: [], ...more },
});
const SECRET = resource('', 'Secret');
const MACHINE = resource('machine.sapcloud.io', 'Machine');
const WORKER = resource('extensions.gardener.cloud', 'Worker');
const NETWORK = resource('extensions.gardener.cloud', 'Network');
const BACKUP = resource('extensions.gardener.cloud', 'BackupEntry', { namespaced: false });
const PODS = resource('', 'Pod');

/** An API server that answers watches, with lists as streams, and access reviews. */
function createApi(resources: readonly ApiResource[]) {
  const objects = new Map<string, JsonObject>();
  const open = new Map<KubeWatchRequest, (event: WatchEvent) => void>();
  const refused = new Set<string>();
  /** Requests for these are not answered. */
  const silent = new Set<string>();
  const api = { objects, open, refused, silent, everywhere: false, watched: 0, mostListing: 0 };
  const pending = new Set<KubeWatchRequest>();
  let version = 10;

  const pathOf = (path: string): { readonly namespace: string | undefined; readonly plural: string } => {
    const [, namespace, plural = ''] = /(?:\/namespaces\/([^/]+))?\/([^/]+)$/.exec(path) ?? [];
    return { namespace, plural };
  };
  const selects = ({ path, query }: KubeWatchRequest, object: JsonObject): boolean => {
    const { namespace, plural } = pathOf(path);
    const { kind } = object;
    if (resources.find((each) => each.resource === plural)?.kind !== kind) return false;
    if (namespace !== undefined && metadataOf(object).namespace !== namespace) return false;
    return (query.labelSelector ?? '').split(',').every((part) => {
      const [label = '', value] = part.split('=');
      const found = labelsOf(object)[label];
      return label === '' || (value === undefined ? found !== undefined : found === value);
    });
  };
  const shown = ({ accept }: KubeWatchRequest, object: JsonObject): JsonObject =>
    accept?.includes('as=PartialObjectMetadata;') === true
      ? { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata: metadataOf(object) }
      : object;
  const client: KubeClient = {
    server: 'https://test',
    request: async ({ path }) => {
      if (!path.includes('selfsubjectaccessreviews')) return { type: 'ok', status: 200, body: {} };
      return { type: 'ok', status: 201, body: { status: { allowed: api.everywhere } } };
    },
    watch: async (request, event) => {
      api.watched += 1;
      pending.add(request);
      api.mostListing = Math.max(api.mostListing, pending.size);
      await undefined;
      pending.delete(request);
      const { namespace = '', plural } = pathOf(request.path);
      if (refused.has(`${namespace}/${plural}`)) {
        const message = `${plural} is forbidden`;
        return { type: 'refused', status: 403, refusal: { reason: 'Forbidden', message, causes: [] } };
      }
      if (silent.has(`${namespace}/${plural}`)) {
        return await new Promise((resolve) => {
          request.signal.addEventListener('abort', () => resolve({ type: 'closed' }));
          if (request.signal.aborted) resolve({ type: 'closed' });
        });
      }
      request.opened?.();
      for (const object of objects.values()) {
        if (selects(request, object)) event({ type: 'ADDED', object: shown(request, object) });
      }
      const annotations = { 'k8s.io/initial-events-end': 'true' };
      event({ type: 'BOOKMARK', object: { metadata: { resourceVersion: String(version), annotations } } });
      open.set(request, event);
      return await new Promise((resolve) => {
        request.signal.addEventListener('abort', () => {
          open.delete(request);
          resolve({ type: 'closed' });
        });
        if (request.signal.aborted) resolve({ type: 'closed' });
      });
    },
    close: async () => {},
  };
  return {
    api,
    client,
    put(object: JsonObject): void {
      version += 1;
      const metadata = { uid: `${object.kind}`, ...metadataOf(object), resourceVersion: String(version) };
      const now = { ...object, metadata };
      const id = `${object.kind}/${metadataOf(object).namespace}/${metadataOf(object).name}`;
      const before = objects.get(id);
      objects.set(id, now);
      for (const [request, event] of open) {
        if (selects(request, now)) event({ type: 'MODIFIED', object: shown(request, now) });
        else if (before !== undefined && selects(request, before)) {
          event({ type: 'DELETED', object: shown(request, now) });
        }
      }
    },
    remove(id: string): void {
      version += 1;
      const before = objects.get(id);
      if (before === undefined) throw new Error(`no ${id}`);
      objects.delete(id);
      const gone = { ...before, metadata: { ...metadataOf(before), resourceVersion: String(version) } };
      for (const [request, event] of open) {
        if (selects(request, before)) event({ type: 'DELETED', object: shown(request, gone) });
      }
    },
  };
}

async function follow(resources: readonly ApiResource[], additionalKinds: readonly AdditionalKind[]) {
  const world = createApi(resources);
  const clock = createVirtualClock();
  const deps = { client: world.client, clock, random: { next: () => 0.5, id: () => 'id' }, log: silentLog };
  const live = createLive(deps, { namespace: 'own', catalog: createCatalog(resources) });
  const configure = (next: readonly AdditionalKind[], excludedNamespaces: readonly string[] = []): void => {
    live.configure({
      ...NO_SETTINGS,
      discovery: { excludedNamespaces, excludedKinds: [], additionalKinds: additionalKindsOf(next, 'short') },
    });
  };
  configure(additionalKinds);
  /** The state after everything that waits for no time. */
  const look = async () => {
    await clock.advance(10);
    const looking = live.list('complete');
    await clock.advance(10);
    return await looking;
  };
  const keys = async (): Promise<readonly ObjectKey[]> => [...(await look()).objects.keys()].sort();
  const kind = async (name: string) => (await look()).kinds.find((each) => each.kind === name);
  return { ...world, clock, live, configure, look, keys, kind };
}

const secret = (namespace: string, name: string, labels: Readonly<Record<string, string>> = {}): JsonObject => ({
  ...{ apiVersion: 'v1', kind: 'Secret', data: { password: 'aGlkZGVu' } },
  metadata: { namespace, name, labels },
});
const machine = (namespace: string, name: string): JsonObject => ({
  ...{ apiVersion: 'machine.sapcloud.io/v1', kind: 'Machine', metadata: { namespace, name }, spec: {} },
});
const MACHINE_KIND = 'machine.sapcloud.io/Machine';
const WORKER_KIND = 'extensions.gardener.cloud/Worker';
const spaces = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `shoot-${index}`);
const DENIED = (namespace: string) =>
  `the agent may not list secrets in namespace ${namespace}: grant it with cluster register --allow care`;

test('of a kind in some namespaces only these are asked for, and nothing but the metadata of their objects', async () => {
  const { put, keys, look, api, live } = await follow(
    [SECRET],
    [{ kind: '/Secret', namespaces: ['a', 'b'], labels: { role: 'ca' }, metadataOnly: true }],
  );
  put(secret('a', 'one', { role: 'ca' }));
  put(secret('a', 'other'));
  put(secret('c', 'far', { role: 'ca' }));
  expect(await keys()).toEqual(['/Secret/a/one']);
  put(secret('b', 'late', { role: 'ca' }));
  expect(await keys()).toEqual(['/Secret/a/one', '/Secret/b/late']);
  const asked = [...api.open.keys()].filter(({ path }) => path.endsWith('/secrets'));
  expect(asked.map(({ path, query, accept }) => [path, query.labelSelector, accept])).toEqual(
    ['a', 'b'].map((namespace) => [
      `/api/v1/namespaces/${namespace}/secrets`,
      'role=ca',
      'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    ]),
  );
  const { objects, kinds } = await look();
  expect(objects.get('/Secret/a/one' as ObjectKey)?.value).toEqual({
    ...{ apiVersion: 'v1', kind: 'Secret' },
    metadata: { namespace: 'a', name: 'one', labels: { role: 'ca' } },
  });
  expect(kinds).toEqual([{ kind: '/Secret', state: 'complete', message: '', scope: 'Namespaced' }]);
  await live.close();
});

test('a namespace without the right is named; the kind is unknown only if nothing of it can be listed', async () => {
  const { kind, api, clock, put, keys, live } = await follow(
    [SECRET],
    [{ kind: '/Secret', namespaces: ['a', 'b'], metadataOnly: true }],
  );
  api.refused.add('b/secrets');
  expect(await kind('/Secret')).toMatchObject({ state: 'complete', unlisted: { b: DENIED('b') } });
  api.refused.delete('b/secrets');
  put(secret('b', 'granted'));
  await clock.advance(60_000);
  expect(await keys()).toEqual(['/Secret/b/granted']);
  expect(await kind('/Secret')).not.toHaveProperty('unlisted');
  await live.close();

  const none = await follow([SECRET], [{ kind: '/Secret', namespaces: ['a', 'b'], metadataOnly: true }]);
  for (const namespace of ['a', 'b']) none.api.refused.add(`${namespace}/secrets`);
  const unknown = await none.kind('/Secret');
  expect(unknown).toMatchObject({ state: 'unknown', message: `${DENIED('a')}; and so in 1 more namespaces` });
  expect(unknown).not.toHaveProperty('unlisted');
  await none.live.close();
});

test('namespaces come and go with the settings, and the others are not listed again', async () => {
  const entry = (...namespaces: readonly string[]) => [{ kind: '/Secret', namespaces }];
  const { put, keys, configure, api, live, kind } = await follow([SECRET], entry('a', 'b'));
  for (const namespace of ['a', 'b', 'c']) put(secret(namespace, 'x'));
  expect(await keys()).toEqual(['/Secret/a/x', '/Secret/b/x']);
  const before = api.watched;
  configure(entry('b', 'c'));
  expect(await keys()).toEqual(['/Secret/b/x', '/Secret/c/x']);
  expect(api.watched).toBe(before + 1);
  configure(entry('b', 'c'), ['c']);
  expect(await keys()).toEqual(['/Secret/b/x']);
  configure(entry('b', 'c'));
  expect(await keys()).toEqual(['/Secret/b/x', '/Secret/c/x']);
  configure([]);
  expect(await keys()).toEqual([]);
  expect(await kind('/Secret')).toMatchObject({ state: 'offered' });
  expect([...api.open.keys()].filter(({ path }) => path.endsWith('/secrets'))).toEqual([]);
  await live.close();
});

test('of cluster-scoped objects those are kept whose names begin as asked for', async () => {
  const { put, keys, remove, configure, live } = await follow(
    [BACKUP],
    [{ kind: 'extensions.gardener.cloud/BackupEntry', namePrefixes: ['shoot--a--', 'shoot--b--'] }],
  );
  const backup = (name: string): JsonObject => ({
    ...{ apiVersion: 'extensions.gardener.cloud/v1', kind: 'BackupEntry', metadata: { name } },
  });
  for (const name of ['shoot--a--1', 'shoot--c--1', 'shoot--b--2']) put(backup(name));
  const key = (name: string) => `extensions.gardener.cloud/BackupEntry//${name}`;
  expect(await keys()).toEqual([key('shoot--a--1'), key('shoot--b--2')]);
  remove('BackupEntry/undefined/shoot--b--2');
  expect(await keys()).toEqual([key('shoot--a--1')]);
  configure([{ kind: 'extensions.gardener.cloud/BackupEntry', namePrefixes: ['shoot--c--'] }]);
  expect(await keys()).toEqual([key('shoot--c--1')]);
  await live.close();
});

test('a group means every kind of it that can be followed', async () => {
  const unlistable = resource('extensions.gardener.cloud', 'Review', { verbs: ['create'] });
  const { live, api, kind } = await follow(
    [WORKER, NETWORK, BACKUP, unlistable, MACHINE],
    [{ kind: 'extensions.gardener.cloud/*', namespaces: ['a'] }],
  );
  const states = await Promise.all(
    [WORKER, NETWORK, BACKUP, unlistable, MACHINE].map(
      async (each) => (await kind(`${each.group}/${each.kind}`))?.state,
    ),
  );
  expect(states).toEqual(['complete', 'complete', 'offered', 'offered', 'offered']);
  const paths = [...api.open.keys()].map(({ path }) => path).filter((path) => path.includes('extensions'));
  const inside = '/apis/extensions.gardener.cloud/v1/namespaces/a';
  expect(paths.sort()).toEqual([`${inside}/networks`, `${inside}/workers`]);
  await live.close();
});

test('an object is kept if one of several entries takes it, and as a whole if one asks for that', async () => {
  const { put, look, configure, live } = await follow(
    [SECRET],
    [
      { kind: '/Secret', namespaces: ['a'], labels: { role: 'ca' }, metadataOnly: true },
      { kind: '/Secret', namespaces: ['a'], labels: { role: 'other' }, metadataOnly: true },
      { kind: '/Secret', namespaces: ['b'] },
    ],
  );
  const typed = { ...secret('b', 'whole'), type: 'Opaque' };
  for (const each of [secret('a', 'x', { role: 'ca' }), secret('a', 'y', { role: 'other' }), secret('a', 'z'), typed]) {
    put(each);
  }
  const found = (await look()).objects;
  expect([...found.keys()].sort()).toEqual(['/Secret/a/x', '/Secret/a/y', '/Secret/b/whole']);
  expect(found.get('/Secret/b/whole' as ObjectKey)?.value).toMatchObject({ type: 'Opaque' });
  // It stays while one entry still takes it.
  put(secret('a', 'x', { role: 'other' }));
  expect([...(await look()).objects.keys()].sort()).toEqual(['/Secret/a/x', '/Secret/a/y', '/Secret/b/whole']);
  configure([{ kind: '/Secret' }, { kind: '/Secret', namespaces: ['a'], metadataOnly: true }]);
  expect((await look()).objects.size).toBe(4);
  await live.close();
});

test('what is asked for as a whole counts before its metadata, whichever comes last', async () => {
  const { put, look, live } = await follow(
    [SECRET],
    [
      { kind: '/Secret', namespaces: ['a'], metadataOnly: true },
      { kind: '/Secret', namespaces: ['a'], labels: { role: 'ca' } },
    ],
  );
  const typed = (name: string, role: string) => ({ ...secret('a', name, { role }), type: 'Opaque' });
  put(typed('x', 'ca'));
  put(typed('y', 'none'));
  await look();
  put(typed('x', 'ca'));
  const { objects } = await look();
  expect(objects.get('/Secret/a/x' as ObjectKey)?.value).toHaveProperty('type');
  expect(objects.get('/Secret/a/y' as ObjectKey)?.value).not.toHaveProperty('type');
  await live.close();
});

test('while other requests take over, what was read stays', async () => {
  const kind = 'machine.sapcloud.io/Machine';
  const key = `${kind}/shoot-1/m` as ObjectKey;
  const { api, put, keys, live, configure, clock } = await follow([MACHINE], [{ kind, namespaces: spaces(2) }]);
  put(machine('shoot-1', 'm'));
  expect(await keys()).toEqual([key]);
  api.everywhere = true;
  api.silent.add('/machines');
  configure([{ kind, namespaces: spaces(20) }]);
  expect([...live.objects.keys()]).toEqual([key]);
  await clock.advance(10);
  expect([...live.objects.keys()]).toEqual([key]);
  expect((await live.list('hinted')).kinds[0]).toMatchObject({
    state: 'unknown',
    message: 'it has not been listed yet',
  });
  configure([{ kind }]);
  expect([...live.objects.keys()]).toEqual([key]);
  configure([{ kind, labels: { none: 'such' } }]);
  expect([...live.objects.keys()]).toEqual([]);
  await live.close();
});

test('a Node that only renews its heartbeats is no change', async () => {
  const { put, look, live } = await follow([resource('', 'Node', { namespaced: false })], []);
  const node = (lastHeartbeatTime: string, status = 'True'): JsonObject => ({
    ...{ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', annotations: { a: 'b' } } },
    status: { conditions: [{ type: 'Ready', status, message: 'm', lastHeartbeatTime }], images: [lastHeartbeatTime] },
  });
  put(node('2026-01-05T09:00:00Z'));
  const first = await look();
  put(node('2026-01-05T09:05:00Z'));
  expect(await look()).toBe(first);
  put(node('2026-01-05T09:10:00Z', 'Unknown'));
  expect([...((await look()).changed ?? [])]).toEqual(['/Node//n']);
  await live.close();
});

test('a kind that every agent discovers is not narrowed', async () => {
  const { live, api, look } = await follow([PODS], [{ kind: '/Pod', namespaces: ['a'], metadataOnly: true }]);
  await look();
  const asked = [...api.open.keys()].filter(({ path }) => path.endsWith('/pods'));
  expect(asked.map(({ path, accept }) => [path, accept])).toEqual([['/api/v1/pods', undefined]]);
  await live.close();
});

test('our objects of a narrowed kind are followed wherever they are', async () => {
  const { live, keys, put, configure, remove } = await follow([MACHINE], []);
  const stamped = (namespace: string, name: string): JsonObject => {
    const key = `machine.sapcloud.io/Machine/${namespace}/${name}`;
    const annotations = { 'fleetrelay.dev/fleet': 'f', 'fleetrelay.dev/object': key };
    const metadata = { namespace, name, annotations, labels: { 'fleetrelay.dev/fleet': 'f' } };
    return { ...machine(namespace, name), metadata };
  };
  live.owns([{ kind: 'machine.sapcloud.io/Machine', namespace: '' }]);
  put(stamped('far', 'ours'));
  put(machine('a', 'theirs'));
  const key = (name: string) => `machine.sapcloud.io/Machine/${name}`;
  expect(await keys()).toEqual([key('far/ours')]);
  configure([{ kind: 'machine.sapcloud.io/Machine', namespaces: ['a'] }]);
  expect(await keys()).toEqual([key('a/theirs'), key('far/ours')]);
  put(stamped('a', 'both'));
  expect(await keys()).toEqual([key('a/both'), key('a/theirs'), key('far/ours')]);
  remove('Machine/a/both');
  configure([]);
  expect(await keys()).toEqual([key('far/ours')]);
  await live.close();
});

test('many namespaces share one watch if the agent may list all, also when one more comes', async () => {
  const all = spaces(1_000);
  const kind = 'machine.sapcloud.io/Machine';
  const { api, put, keys, look, configure, live } = await follow([MACHINE], [{ kind, namespaces: all.slice(1) }]);
  api.everywhere = true;
  put(machine('shoot-0', 'm'));
  put(machine('shoot-7', 'm'));
  put(machine('elsewhere', 'm'));
  expect(await keys()).toEqual([`${kind}/shoot-7/m`]);
  const machines = () => [...api.open.keys()].filter(({ path }) => path.endsWith('/machines'));
  expect(machines().map(({ path }) => path)).toEqual(['/apis/machine.sapcloud.io/v1/machines']);
  const before = api.watched;
  configure([{ kind, namespaces: all }]);
  expect(await keys()).toEqual([`${kind}/shoot-0/m`, `${kind}/shoot-7/m`]);
  expect(api.watched).toBe(before);
  expect((await look()).kinds).toContainEqual({ kind, state: 'complete', message: '', scope: 'Namespaced' });
  await live.close();
});

test('without that right each of a thousand namespaces has a watch, and a few are listed at once', async () => {
  const { api, put, keys, look, live } = await follow([SECRET], [{ kind: '/Secret', namespaces: spaces(999) }]);
  put(secret('shoot-998', 'x'));
  api.refused.add('shoot-5/secrets');
  const watching = () => [...api.open.keys()].filter(({ path }) => path.endsWith('/secrets')).length;
  expect(await keys()).toEqual(['/Secret/shoot-998/x']);
  expect(watching()).toBe(998);
  expect(api.mostListing).toBeLessThanOrEqual(20);
  expect((await look()).kinds).toContainEqual(
    expect.objectContaining({ state: 'complete', unlisted: { 'shoot-5': DENIED('shoot-5') } }),
  );
  await live.close();
});

test('at most two thousand namespaces are followed one by one, of all kinds together', async () => {
  const of = (kind: string, count: number) => ({ kind, namespaces: spaces(count) });
  const secrets = of('/Secret', 1_000);
  const { look, configure, live, api } = await follow([SECRET, MACHINE, WORKER], [secrets, of(MACHINE_KIND, 999)]);
  expect((await look()).kinds.filter(({ unlisted }) => unlisted !== undefined)).toEqual([]);
  configure([secrets, of(MACHINE_KIND, 999), of(WORKER_KIND, 3)]);
  const unlisted = async () => (await look()).kinds.find(({ kind }) => kind === WORKER_KIND)?.unlisted ?? {};
  expect(Object.keys(await unlisted())).toEqual(['shoot-1', 'shoot-2']);
  expect((await unlisted())['shoot-2']).toContain('at most 2000 namespaces are followed one by one');
  expect([...api.open.keys()].filter(({ path }) => path.includes('/namespaces/shoot'))).toHaveLength(2_000);
  configure([secrets, of(MACHINE_KIND, 900), of(WORKER_KIND, 3)]);
  expect(await unlisted()).toEqual({});
  await live.close();
});

test('a right to list all that is taken away leaves the namespaces', async () => {
  const { api, put, keys, look, live, clock } = await follow([SECRET], [{ kind: '/Secret', namespaces: spaces(20) }]);
  api.everywhere = true;
  put(secret('shoot-3', 'x'));
  expect(await keys()).toEqual(['/Secret/shoot-3/x']);
  api.refused.add('/secrets');
  api.everywhere = false;
  const [request, event] = [...api.open].find(([{ path }]) => path === '/api/v1/secrets') ?? [];
  expect(request).toBeDefined();
  event?.({ type: 'ERROR', status: 403, refusal: { reason: 'Forbidden', message: 'no more', causes: [] } });
  put(secret('shoot-4', 'y'));
  await clock.advance(5_000);
  expect(await keys()).toEqual(['/Secret/shoot-3/x', '/Secret/shoot-4/y']);
  expect((await look()).kinds).toContainEqual(expect.objectContaining({ kind: '/Secret', state: 'complete' }));
  expect((await look()).kinds[0]).not.toHaveProperty('unlisted');
  await live.close();
});

test('what we own is followed in its namespaces where the agent may not list all, and drift is seen there', async () => {
  const { put, keys, look, api, live } = await follow([SECRET], []);
  const ours = (namespace: string, more: Readonly<Record<string, string>> = {}): JsonObject => {
    const annotations = { 'fleetrelay.dev/fleet': 'f', 'fleetrelay.dev/object': `/Secret/${namespace}/ours` };
    const labels = { 'fleetrelay.dev/fleet': 'f', ...more };
    return { ...secret(namespace, 'ours'), metadata: { namespace, name: 'ours', annotations, labels } };
  };
  api.refused.add('/secrets');
  api.refused.add('c/secrets');
  for (const namespace of ['a', 'b', 'c']) put(ours(namespace));
  live.owns([{ kind: '/Secret', namespace: 'a' }]);
  expect(await keys()).toEqual(['/Secret/a/ours']);
  live.owns([{ kind: '/Secret', namespace: 'b' }]);
  expect(await keys()).toEqual(['/Secret/a/ours', '/Secret/b/ours']);
  expect(
    [...api.open.keys()]
      .map(({ path }) => path)
      .filter((path) => path.endsWith('/secrets'))
      .sort(),
  ).toEqual(['/api/v1/namespaces/a/secrets', '/api/v1/namespaces/b/secrets']);
  expect((await look()).diagnostics).toEqual([]);
  put(ours('b', { drifted: 'true' }));
  const { objects } = await look();
  expect(objects.get('/Secret/b/ours' as ObjectKey)?.value).toMatchObject({
    metadata: { labels: { drifted: 'true' } },
  });
  live.owns([{ kind: '/Secret', namespace: 'c' }]);
  expect((await look()).diagnostics).toMatchObject([{ reason: 'KindNotFollowed' }]);
  await live.close();
});
