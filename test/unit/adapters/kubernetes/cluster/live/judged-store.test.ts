import { expect, test } from 'vitest';
import type { ApiResource, KubeClient } from '../../../../../../src/adapters/kubernetes/api/types.ts';
import { readEntry } from '../../../../../../src/adapters/kubernetes/cluster/live/entry.ts';
import { createJudgedStore } from '../../../../../../src/adapters/kubernetes/cluster/live/judged-store.ts';
import { loadEvaluator } from '../../../../../../src/compose/agent/load-evaluator.ts';
import { NO_SETTINGS } from '../../../../../../src/model/agent-settings.ts';
import type { HealthCheck } from '../../../../../../src/model/health-check.ts';
import { type JsonObject, objectOf } from '../../../../../../src/model/json.ts';
import { objectKey } from '../../../../../../src/model/object-key.ts';
import { liveObject } from '../../../../../support/judged-objects.ts';
import { silentLog } from '../../../../../support/silent-log.ts';
import { createVirtualClock } from '../../../../../support/virtual-clock.ts';

const CREATED = '2026-01-01T00:00:00Z';

function resourceOf(group: string, kind: string): ApiResource {
  return {
    group,
    version: 'v1',
    kind,
    resource: `${kind.toLowerCase()}s`,
    namespaced: true,
    verbs: [],
    subresources: [],
  };
}

/** An object of ours in the form in which an API server sends it. */
function ours(apiVersion: string, kind: string, parts: Parameters<typeof liveObject>[2] = {}): JsonObject {
  const group = apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
  const key = objectKey({ group, kind, namespace: 'shop', name: 'one' });
  const annotations = {
    'fleetrelay.dev/fleet': 'fleet',
    'fleetrelay.dev/object': key,
    'fleetrelay.dev/nonce': 'e4'.repeat(16),
    'fleetrelay.dev/origins': 'git:a.yaml',
    'fleetrelay.dev/scope': '',
    'fleetrelay.dev/digest': '0'.repeat(64),
  };
  const metadata = { uid: 'u1', resourceVersion: '7', creationTimestamp: CREATED, annotations, ...parts.metadata };
  return liveObject(apiVersion, kind, { ...parts, metadata });
}

function createWorld(events: readonly JsonObject[] = []) {
  const clock = createVirtualClock(Date.parse(CREATED));
  const asked: string[] = [];
  let items = events;
  const client: KubeClient = {
    server: 'https://test',
    request: async ({ path, query }) => {
      asked.push(`${path} ${query?.fieldSelector}`);
      return { type: 'ok', status: 200, body: { items } };
    },
    watch: async () => ({ type: 'broken', message: 'test' }),
    close: async () => {},
  };
  let news = 0;
  const deps = { client, clock, log: silentLog, random: { next: () => 0.5, id: () => 'id' } };
  const judged = createJudgedStore(deps, { loadEvaluator }, () => {
    news += 1;
  });
  return {
    clock,
    asked,
    news: () => news,
    happens: (reason: string) => {
      items = [...items, { reason }];
    },
    configure: (healthChecks: readonly HealthCheck[]) => judged.configure({ ...NO_SETTINGS, healthChecks }),
    close: judged.close,
    /** Reads an object of ours. Returns its health now. */
    read(raw: JsonObject) {
      const [group = '', version] = String(raw.apiVersion).split('/');
      const resource = resourceOf(version === undefined ? '' : group, String(raw.kind));
      const { key } = readEntry(raw, resource, judged.judge);
      judged.store.put(readEntry(raw, resource, judged.judge));
      return { key, health: () => judged.store.objects.get(key)?.health, drop: () => judged.store.drop(key) };
    },
    changed: () => judged.store.takeChanged(),
  };
}

const service = ours('v1', 'Service', { spec: { type: 'LoadBalancer' }, status: { loadBalancer: {} } });
const pod = ours('v1', 'Pod', {
  status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
});

test('an object that stays as it is is judged again when its deadline passes', async () => {
  const world = createWorld();
  const { key, health } = world.read(service);
  await world.clock.advance(599_000);
  expect(health()?.state).toBe('inProgress');
  world.changed();
  await world.clock.advance(1_000);
  expect(health()).toEqual({ state: 'current', message: 'no controller has given it an address' });
  expect([...world.changed()]).toEqual([key]);
  expect(world.news()).toBe(1);
  expect(world.clock.waiting()).toBe(0);
});

test('an agent that starts later judges by the times of the API server', () => {
  const world = createWorld();
  const metadata = { creationTimestamp: '2025-12-31T23:00:00Z' };
  const old = ours('v1', 'Service', { metadata, spec: { type: 'LoadBalancer' } });
  expect(world.read(old).health()?.state).toBe('current');
});

test('an object that has changed, or is gone, is not judged by its old deadline', async () => {
  const world = createWorld();
  const { health } = world.read(service);
  const metadata = { ...objectOf(service.metadata), resourceVersion: '8' };
  world.read({ ...service, metadata, status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } });
  await world.clock.advance(600_000);
  expect(health()).toEqual({ state: 'current', message: '' });
  const gone = world.read({
    ...pod,
    metadata: { ...objectOf(pod.metadata), creationTimestamp: new Date(world.clock.now()).toISOString() },
  });
  gone.drop();
  await world.clock.advance(60_000);
  expect(gone.health()).toBeUndefined();
  expect(world.news()).toBe(0);
});

test('a Pod that no node can take has failed after 15 seconds, when no autoscaler adds nodes for it', async () => {
  const world = createWorld();
  const { health } = world.read(pod);
  await world.clock.advance(14_000);
  expect(health()?.state).toBe('inProgress');
  await world.clock.advance(1_000);
  expect(health()?.state).toBe('failed');
  expect(world.asked).toEqual(['/api/v1/namespaces/shop/events involvedObject.uid=u1']);
});

test.each(['TriggeredScaleUp', 'Nominated'])('after the event %s it has failed after ten minutes', async (reason) => {
  const world = createWorld([{ reason }]);
  const { health } = world.read(pod);
  await world.clock.advance(599_000);
  expect(health()?.state).toBe('inProgress');
  await world.clock.advance(1_000);
  expect(health()?.state).toBe('failed');
  expect(world.asked).toHaveLength(1);
});

test('an autoscaler that begins later is found, and after ten minutes no agent looks for one', async () => {
  const world = createWorld();
  const { health } = world.read(pod);
  await world.clock.advance(20_000);
  expect(health()?.state).toBe('failed');
  world.happens('TriggeredScaleUp');
  await world.clock.advance(30_000);
  expect(health()?.state).toBe('inProgress');
  const other = createWorld();
  other.read(pod);
  await other.clock.advance(3_600_000);
  expect(other.asked).toHaveLength(20);
  expect(other.clock.waiting()).toBe(0);
});

test('an agent that starts later looks for an autoscaler before it says that the Pod has failed', async () => {
  const world = createWorld([{ reason: 'TriggeredScaleUp' }]);
  await world.clock.advance(100_000);
  const { health } = world.read(pod);
  expect(health()?.state).toBe('inProgress');
  await world.clock.advance(1_000);
  expect(health()?.state).toBe('inProgress');
  expect(world.asked).toHaveLength(1);
});

test('after the close no timer is left', () => {
  const world = createWorld();
  world.read(service);
  world.close();
  expect(world.clock.waiting()).toBe(0);
});

const database = ours('example.com/v1', 'Database', { status: { phase: 'Idle' } });
const check = (current: string): HealthCheck => ({ apiVersion: 'example.com/v1', kind: 'Database', current });

test('the objects of a kind are judged again when its health check changes', async () => {
  const world = createWorld();
  const { health } = world.read(database);
  const other = world.read(service);
  expect(health()?.state).toBe('current');
  const until = async (state: string) => expect.poll(() => health()?.state, { timeout: 60_000 }).toBe(state);
  world.changed();
  world.configure([check("status.phase == 'Busy'")]);
  await until('inProgress');
  expect([...world.changed()]).toEqual([expect.stringContaining('Database')]);
  world.configure([check("status.phase == 'Idle' && metadata.uid == 'u1' && metadata.creationTimestamp != ''")]);
  await until('current');
  world.configure([{ ...check('false'), failed: 'metadata.generation == 2' }]);
  await until('failed');
  world.configure([]);
  await until('current');
  expect(other.health()?.state).toBe('inProgress');
});

test('a kind whose check is not loaded yet is in progress, and of several changes the last one counts', async () => {
  const world = createWorld();
  world.configure([check('true')]);
  const { health } = world.read(database);
  expect(health()).toEqual({ state: 'inProgress', message: 'its health check is not loaded yet' });
  world.configure([{ ...check('true'), kind: 'Table' }]);
  world.configure([check('true'), { ...check('true'), kind: 'Table' }]);
  await expect.poll(() => health()?.state, { timeout: 60_000 }).toBe('current');
});
