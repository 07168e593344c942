import { expect, test } from 'vitest';
import type { ApiResource, KubeAnswer, KubeClient } from '../../../../../../src/adapters/kubernetes/api/types.ts';
import { readEntry } from '../../../../../../src/adapters/kubernetes/cluster/live/entry.ts';
import { createJudgedStore } from '../../../../../../src/adapters/kubernetes/cluster/live/judged-store.ts';
import { loadEvaluator } from '../../../../../../src/compose/agent/load-evaluator.ts';
import { NO_SETTINGS } from '../../../../../../src/model/agent/agent-settings.ts';
import type { HealthCheck, LoadEvaluator } from '../../../../../../src/model/objects/health-check.ts';
import { groupOf, objectKey } from '../../../../../../src/model/objects/object-key.ts';
import { type JsonObject, objectOf } from '../../../../../../src/model/text/json.ts';
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
  const group = groupOf(apiVersion);
  const { namespace = 'shop', name = 'one' } = parts.metadata ?? {};
  const key = objectKey({ group, kind, namespace: String(namespace), name: String(name) });
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

/** An event about a Pod, with its time in seconds after the Pod was created. */
function eventOf(reason: string, seconds = 0, uid = 'u1'): JsonObject {
  const lastTimestamp = new Date(Date.parse(CREATED) + seconds * 1_000).toISOString();
  return { reason, involvedObject: { kind: 'Pod', uid }, lastTimestamp, firstTimestamp: lastTimestamp };
}

interface WorldOptions {
  readonly events?: readonly JsonObject[];
  readonly answer?: (namespace: string) => Promise<KubeAnswer | undefined>;
  readonly evaluators?: LoadEvaluator;
}

function createWorld({ events = [], answer, evaluators = loadEvaluator }: WorldOptions = {}) {
  const virtual = createVirtualClock(Date.parse(CREATED));
  let ahead = 0;
  const clock = { ...virtual, now: () => virtual.now() + ahead };
  const asked: string[] = [];
  let items = events;
  const client: KubeClient = {
    server: 'https://test',
    request: async ({ path, query }) => {
      asked.push(`${path} ${query?.fieldSelector}`);
      const reason = /reason=(.*)$/.exec(query?.fieldSelector ?? '')?.[1];
      const given = await answer?.(path.split('/')[4] ?? '');
      return given ?? { type: 'ok', status: 200, body: { items: items.filter((event) => event.reason === reason) } };
    },
    watch: async () => ({ type: 'broken', message: 'test' }),
    close: async () => {},
  };
  let news = 0;
  const deps = { client, clock, log: silentLog, random: { next: () => 0.5, id: () => 'id' } };
  const judged = createJudgedStore(deps, { loadEvaluator: evaluators }, () => {
    news += 1;
  });
  return {
    clock,
    asked,
    news: () => news,
    happens: (event: JsonObject) => {
      items = [...items, event];
    },
    /** Sets the wall clock. */
    set: (milliseconds: number) => {
      ahead += milliseconds;
    },
    configure: (healthChecks: readonly HealthCheck[]) => judged.configure({ ...NO_SETTINGS, healthChecks }),
    close: judged.close,
    /** Reads an object of ours. Returns its health now. */
    read(raw: JsonObject) {
      const resource = resourceOf(groupOf(String(raw.apiVersion)), String(raw.kind));
      const { key } = readEntry(raw, resource, { judge: judged.judge, trim: (value) => value });
      judged.store.put(readEntry(raw, resource, { judge: judged.judge, trim: (value) => value }));
      return { key, health: () => judged.store.objects.get(key)?.health, drop: () => judged.store.drop(key) };
    },
    changed: () => judged.store.takeChanged(),
  };
}

const service = ours('v1', 'Service', { spec: { type: 'LoadBalancer' }, status: { loadBalancer: {} } });
const podOf = (metadata: JsonObject) =>
  ours('v1', 'Pod', {
    metadata,
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
  });
const pod = podOf({});
const LOOK = ['FailedScheduling', 'TriggeredScaleUp', 'Nominated'].map(
  (reason) => `/api/v1/namespaces/shop/events involvedObject.kind=Pod,reason=${reason}`,
);

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
  expect(health()).toEqual({ state: 'failed', message: 'Unschedulable' });
  expect(world.asked).toEqual(LOOK);
});

test.each(['TriggeredScaleUp', 'Nominated'])('ten minutes after the last event %s it has failed', async (reason) => {
  const world = createWorld({ events: [eventOf(reason, 5), eventOf(reason, 10)] });
  const { health } = world.read(pod);
  await world.clock.advance(609_000);
  expect(health()?.state).toBe('inProgress');
  world.happens(eventOf(reason, 600));
  await world.clock.advance(2_000);
  expect(health()?.state).toBe('inProgress');
  await world.clock.advance(600_000);
  expect(health()?.state).toBe('failed');
  expect(world.asked).toHaveLength(3 * LOOK.length);
});

test('an autoscaler that begins later is found, and after ten minutes no agent looks for one', async () => {
  const world = createWorld();
  const { health } = world.read(pod);
  await world.clock.advance(20_000);
  expect(health()?.state).toBe('failed');
  world.happens(eventOf('TriggeredScaleUp', 40));
  await world.clock.advance(30_000);
  expect(health()?.state).toBe('inProgress');
  const other = createWorld();
  other.read(pod);
  await other.clock.advance(3_600_000);
  expect(other.asked.length / LOOK.length).toBe(21);
  expect(other.clock.waiting()).toBe(0);
});

test('an agent that starts later looks for an autoscaler before it says that the Pod has failed', async () => {
  const world = createWorld({ events: [eventOf('TriggeredScaleUp', 3_000)] });
  await world.clock.advance(3_200_000);
  const { health } = world.read(pod);
  expect(health()?.state).toBe('inProgress');
  await world.clock.advance(1_000);
  expect(health()?.state).toBe('inProgress');
  expect(world.asked).toEqual(LOOK);
});

test('a Pod that was held back for long counts from when the scheduler first found no node', async () => {
  const world = createWorld({ events: [eventOf('FailedScheduling', 3_600)] });
  await world.clock.advance(3_600_000);
  const { health } = world.read(pod);
  await world.clock.advance(14_000);
  expect(health()?.state).toBe('inProgress');
  await world.clock.advance(1_000);
  expect(health()?.state).toBe('failed');
});

test('an agent that may not list events says so, and does not ask again soon', async () => {
  const refusal = { reason: 'Forbidden', message: 'no', causes: [] };
  const world = createWorld({ answer: async () => ({ type: 'refused', status: 403, refusal }) });
  const { health } = world.read(pod);
  await world.clock.advance(1_000_000);
  expect(health()).toEqual({
    state: 'failed',
    message:
      'Unschedulable; whether an autoscaler adds nodes is not known, because the agent may not list events in namespace shop',
  });
  const later = new Date(world.clock.now()).toISOString();
  world.read(podOf({ name: 'two', uid: 'u2', creationTimestamp: later }));
  await world.clock.advance(1_000_000);
  expect(world.asked).toHaveLength(1);
});

test('while events cannot be read the Pod is in progress, for ten minutes at most', async () => {
  const world = createWorld({ answer: async () => ({ type: 'unreachable', message: 'no' }) });
  const { health } = world.read(pod);
  await world.clock.advance(600_000);
  expect(health()?.state).toBe('inProgress');
  await world.clock.advance(60_000);
  expect(health()?.state).toBe('failed');
  expect(world.clock.waiting()).toBe(0);
});

test('many Pods of a namespace cost one look', async () => {
  const world = createWorld();
  const pods = Array.from({ length: 1_000 }, (_, index) => world.read(podOf({ name: `p${index}`, uid: `u${index}` })));
  await world.clock.advance(15_000);
  expect(pods.every(({ health }) => health()?.state === 'failed')).toBe(true);
  expect(world.asked).toEqual(LOOK);
});

test('at most four namespaces are looked at together, each once, and nothing else waits for them', async () => {
  const answers = new Map<string, (answer: undefined) => void>();
  const world = createWorld({
    answer: (namespace) => new Promise((resolve) => answers.set(namespace, resolve)),
  });
  const { health } = world.read(service);
  await world.clock.advance(590_000);
  const creationTimestamp = new Date(world.clock.now() - 5_000).toISOString();
  const of = (index: number) => podOf({ namespace: `n${index}`, uid: `u${index}`, creationTimestamp });
  for (let index = 0; index < 6; index += 1) world.read(of(index));
  await world.clock.advance(10_000);
  expect([...answers.keys()]).toEqual(['n0', 'n1', 'n2', 'n3']);
  expect(health()?.state).toBe('current');
  expect(world.news()).toBe(1);
  world.read({ ...of(0), metadata: { ...objectOf(of(0).metadata), resourceVersion: '8', labels: { a: 'b' } } });
  await world.clock.advance(1_000);
  expect(world.asked).toHaveLength(4);
  world.close();
  expect(world.clock.waiting()).toBe(0);
});

test('another Pod with the name of one that is gone is looked at for itself', async () => {
  const world = createWorld({ events: [eventOf('TriggeredScaleUp', 10)] });
  const { health } = world.read(pod);
  await world.clock.advance(20_000);
  const creationTimestamp = new Date(world.clock.now()).toISOString();
  world.read(podOf({ uid: 'u2', resourceVersion: '9', creationTimestamp }));
  await world.clock.advance(15_000);
  expect(health()?.state).toBe('failed');
});

test('a deadline is not lost when the clock is set back', async () => {
  const world = createWorld();
  const { health } = world.read(service);
  await world.clock.advance(1_000);
  world.set(-100_000);
  await world.clock.advance(600_000);
  expect(health()?.state).toBe('inProgress');
  await world.clock.advance(100_000);
  expect(health()?.state).toBe('current');
  expect(world.clock.waiting()).toBe(0);
});

test('an object without an address keeps its note when its manager changes something else', async () => {
  const world = createWorld();
  const { health } = world.read(service);
  await world.clock.advance(600_000);
  const managedFields = [
    {
      manager: 'fleetrelay',
      time: new Date(world.clock.now()).toISOString(),
      fieldsV1: { 'f:spec': { 'f:type': {} } },
    },
  ];
  const metadata = { ...objectOf(service.metadata), resourceVersion: '8', labels: { a: 'b' }, managedFields };
  world.read({ ...service, metadata });
  expect(health()).toEqual({ state: 'current', message: 'no controller has given it an address' });
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

test('costly health checks of many objects are spread over turns of the event loop, and all are judged', async () => {
  let inTurn = 0;
  let most = 0;
  const world = createWorld({
    evaluators: async () => ({
      judge: () => {
        inTurn += 1;
        most = Math.max(most, inTurn);
        return { health: { state: 'current', message: '' }, steps: 100_000 };
      },
    }),
  });
  const schedule = world.clock.schedule;
  world.clock.schedule = (milliseconds, callback) =>
    schedule(milliseconds, () => {
      inTurn = 0;
      callback();
    });
  world.configure([check('true')]);
  await world.clock.settle();
  inTurn = 0;
  const all = Array.from({ length: 20 }, (_, index) =>
    world.read(ours('example.com/v1', 'Database', { metadata: { name: `d${index}`, uid: `u${index}` } })),
  );
  const states = () => all.filter(({ health }) => health()?.state === 'current').length;
  expect(states()).toBeLessThan(20);
  await world.clock.advance(1_000);
  expect(states()).toBe(20);
  expect(most).toBe(3);
});

test('health checks that cannot be loaded are loaded again, and their kinds are unknown meanwhile', async () => {
  let attempts = 0;
  const world = createWorld({
    evaluators: async () => {
      attempts += 1;
      if (attempts < 3) throw new Error('the module is missing');
      return { judge: () => ({ health: { state: 'current', message: 'checked' }, steps: 1 }) };
    },
  });
  const { health } = world.read(database);
  world.configure([check('true')]);
  await world.clock.settle();
  expect(health()).toEqual({
    state: 'unknown',
    message: 'its health check cannot be loaded: the module is missing',
  });
  await world.clock.advance(3_000);
  expect(attempts).toBe(3);
  expect(health()).toEqual({ state: 'current', message: 'checked' });
});

test('an expression that has changed is not judged by the one before while the new one is loaded', async () => {
  const loads: (() => void)[] = [];
  const world = createWorld({
    evaluators: (checks) =>
      new Promise((resolve) => {
        const judged = { health: { state: 'current', message: checks[0]?.current ?? '' }, steps: 1 } as const;
        loads.push(() => resolve({ judge: () => judged }));
      }),
  });
  world.configure([check('old')]);
  loads[0]?.();
  await world.clock.settle();
  world.configure([check('new')]);
  const { health } = world.read(database);
  expect(health()?.state).toBe('inProgress');
  loads[1]?.();
  await world.clock.settle();
  expect(health()?.message).toBe('new');
});
