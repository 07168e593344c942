import { expect, test } from 'vitest';
import { createCare } from '../../../../../src/domains/care/agent/care.ts';
import type { CareTasks } from '../../../../../src/domains/care/model/agent-tasks.ts';
import type { CareApi, FoundLeases, HealthAnswer, TunnelTest } from '../../../../../src/domains/care/ports/care-api.ts';
import type { AgentReports } from '../../../../../src/model/agent/agent-report.ts';
import { type AgentSettings, NO_SETTINGS } from '../../../../../src/model/agent/agent-settings.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { createRecordingLog } from '../../../../support/agent-log.ts';
import { createVirtualClock } from '../../../../support/virtual-clock.ts';

const NOTHING: CareTasks = { leases: [], certificates: false, tunnel: false };
const PROBE: CareTasks = { ...NOTHING, apiServerProbe: { syncPeriodMillis: 60_000, readyz: false } };
const READYZ: CareTasks = { ...NOTHING, apiServerProbe: { syncPeriodMillis: 60_000, readyz: true } };
const NODE_LEASES: CareTasks = { ...NOTHING, leases: [{ namespace: 'kube-node-lease' }] };
const OK: HealthAnswer = { type: 'answered', status: 200, text: 'ok', cut: false };
const REFUSED: HealthAnswer = { type: 'unanswered', error: 'connection refused: nothing listens there' };

function settings(care?: CareTasks, excludedNamespaces: readonly string[] = []): AgentSettings {
  return { ...NO_SETTINGS, discovery: { excludedNamespaces, excludedKinds: [] }, ...(care && { care }) };
}

function lease(name: string, renewTime: string, namespace = 'kube-node-lease'): JsonObject {
  const spec = { renewTime, leaseDurationSeconds: 40 };
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name, namespace }, spec };
}

function createWorld({ random = 0.5 }: { readonly random?: number } = {}) {
  const clock = createVirtualClock(Date.UTC(2026, 2, 2, 10));
  const asked: { readonly path: string; readonly at: number }[] = [];
  const published: AgentReports[] = [];
  const hints = new Set<(what: 'apiServer' | 'leases') => void>();
  const world = {
    clock,
    asked,
    published,
    healthz: OK as HealthAnswer | Promise<HealthAnswer>,
    readyz: OK as HealthAnswer,
    takesMs: 7,
    leases: { leases: [], refused: {} } as FoundLeases,
    listed: [] as (readonly string[])[],
    certificates: { certificates: [] } as JsonObject | undefined,
    tunnel: { type: 'none' } as TunnelTest,
    hint: (what: 'apiServer' | 'leases') => {
      for (const each of hints) each(what);
    },
    healthzAt: () => asked.filter(({ path }) => path === '/healthz').map(({ at }) => at),
    status: (kind: string) => published.at(-1)?.objects.find(({ value }) => value.kind === kind)?.value.status,
    kind: (name: string) => published.at(-1)?.kinds.find(({ kind }) => kind === `internal.fleetrelay.dev/${name}`),
  };
  const api: CareApi = {
    askHealth: async (path) => {
      asked.push({ path, at: clock.monotonic() });
      await clock.sleep(world.takesMs);
      return path === '/healthz' ? await world.healthz : world.readyz;
    },
    leases: async (namespaces) => {
      world.listed.push(namespaces);
      return world.leases;
    },
    certificates: async () => world.certificates,
    tunnel: async () => world.tunnel,
    watch: (hint) => {
      hints.add(hint);
      return () => hints.delete(hint);
    },
  };
  const deps = { care: api, clock, random: { next: () => random, id: () => '' }, log: createRecordingLog() };
  const care = createCare(deps, (reports) => published.push(reports));
  return Object.assign(world, { care });
}

test('a success is reported once, without a time; the next question comes within the period', async () => {
  const world = createWorld();
  world.care.configure(settings(PROBE), 0);
  await world.clock.advance(10);
  expect(world.published).toHaveLength(1);
  expect(world.published[0]?.objects[0]?.key).toBe('internal.fleetrelay.dev/ApiServerProbe//healthz');
  expect(world.status('ApiServerProbe')).toEqual({ code: 200 });
  expect(world.kind('ApiServerProbe')).toMatchObject({ state: 'complete' });
  await world.clock.advance(600_000);
  expect(world.published).toHaveLength(1);
  const times = world.healthzAt();
  expect(times.length).toBeGreaterThanOrEqual(11);
  for (const [index, at] of times.slice(1).entries()) expect(at - (times[index] ?? 0)).toBeLessThanOrEqual(60_010);
});

test('while it fails the API server is asked every 5 s, and an equal failure does not travel again', async () => {
  const world = createWorld();
  world.healthz = { type: 'answered', status: 503, text: 'shutting down\n', cut: false };
  world.care.configure(settings(PROBE), 0);
  await world.clock.advance(30_000);
  expect(world.status('ApiServerProbe')).toEqual({ code: 503, body: 'shutting down', responseMillis: 7 });
  world.takesMs = 900;
  await world.clock.advance(30_000);
  expect(world.published).toHaveLength(1);
  const times = world.healthzAt();
  expect(times.slice(1).map((at, index) => at - (times[index] ?? 0))).toEqual(times.slice(1).map(() => 5_000));
  world.healthz = REFUSED;
  await world.clock.advance(6_000);
  expect(world.status('ApiServerProbe')).toEqual({
    error: 'connection refused: nothing listens there',
    responseMillis: 900,
  });
  world.healthz = OK;
  await world.clock.advance(6_000);
  expect(world.status('ApiServerProbe')).toEqual({ code: 200 });
  expect(world.published).toHaveLength(3);
});

test('bodies and errors are bounded, and what was cut is said', async () => {
  const world = createWorld();
  world.healthz = { type: 'answered', status: 500, text: 'x'.repeat(65_536), cut: true };
  world.care.configure(settings(PROBE), 0);
  await world.clock.advance(10);
  const { body } = world.status('ApiServerProbe') as { readonly body: string };
  expect(body).toHaveLength(2_048);
  expect(body).toMatch(/^x+\.\.\. cut, more than 65536 characters$/);
  world.healthz = { type: 'unanswered', error: `${'y'.repeat(2_047)}😀` };
  await world.clock.advance(6_000);
  expect(world.status('ApiServerProbe')).toMatchObject({
    error: expect.stringMatching(/^y+\.\.\. cut, 2049 characters$/),
  });
});

test('failed checks of /readyz are listed by name; an answer without them is an error', async () => {
  const world = createWorld();
  const text =
    '[+]ping ok\n[-]etcd failed: reason withheld\n[-]shutdown failed: reason withheld\nreadyz check failed\n';
  world.readyz = { type: 'answered', status: 500, text, cut: false };
  world.care.configure(settings(READYZ), 0);
  await world.clock.advance(10);
  expect(world.status('ApiServerProbe')).toEqual({ code: 200, failedChecks: ['etcd', 'shutdown'] });
  await world.clock.advance(5_000);
  expect(world.healthzAt()).toHaveLength(2);
  world.readyz = { type: 'answered', status: 403, text: 'forbidden', cut: false };
  await world.clock.advance(6_000);
  expect(world.status('ApiServerProbe')).toEqual({ code: 200, readyzError: 'HTTP status 403: forbidden' });
  world.readyz = REFUSED;
  await world.clock.advance(6_000);
  expect(world.status('ApiServerProbe')).toEqual({ code: 200, readyzError: REFUSED.error });
  const many = Array.from({ length: 60 }, (_, index) => `[-]check-${index} failed: reason withheld`).join('\n');
  world.readyz = { type: 'answered', status: 500, text: many, cut: false };
  await world.clock.advance(6_000);
  const { failedChecks } = world.status('ApiServerProbe') as { readonly failedChecks: readonly string[] };
  expect(failedChecks).toHaveLength(51);
  expect(failedChecks.at(-1)).toBe('and 10 more');
});

test('without `readyz` only /healthz is asked', async () => {
  const world = createWorld();
  world.care.configure(settings(PROBE), 0);
  await world.clock.advance(100_000);
  expect(new Set(world.asked.map(({ path }) => path))).toEqual(new Set(['/healthz']));
});

test('new settings of a whole fleet are spread over time', async () => {
  for (const random of [0, 0.5, 0.99]) {
    const world = createWorld({ random });
    world.care.configure(settings(PROBE));
    await world.clock.advance(10_000);
    expect(world.healthzAt()).toEqual([random * 5_000]);
  }
});

test('another request without an answer leads to a probe within 2 s, and not to many', async () => {
  const world = createWorld();
  world.care.configure(settings(PROBE), 0);
  await world.clock.advance(10_000);
  world.healthz = REFUSED;
  const before = world.healthzAt().length;
  world.hint('apiServer');
  await world.clock.advance(100);
  expect(world.healthzAt()).toHaveLength(before + 1);
  expect(world.status('ApiServerProbe')).toMatchObject({ error: REFUSED.error });
  for (let second = 0; second < 10; second += 1) {
    world.hint('apiServer');
    await world.clock.advance(1_000);
  }
  expect(world.healthzAt().length).toBeLessThanOrEqual(before + 3);
  // An API server that answers here is not asked more often than every 2 s.
  world.healthz = OK;
  await world.clock.advance(10_000);
  const good = world.healthzAt().length;
  for (let tenth = 0; tenth < 100; tenth += 1) {
    world.hint('apiServer');
    await world.clock.advance(100);
  }
  expect(world.healthzAt().length - good).toBeLessThanOrEqual(6);
});

test('a report goes when nothing asks for it any more, and an answer that comes later is not reported', async () => {
  const world = createWorld();
  world.care.configure(settings(PROBE), 0);
  await world.clock.advance(10);
  world.care.configure(settings(NOTHING));
  expect(world.published.at(-1)).toEqual({ objects: [], kinds: [] });
  const late = Promise.withResolvers<HealthAnswer>();
  world.healthz = late.promise;
  world.care.configure(settings(PROBE), 0);
  await world.clock.advance(100);
  world.care.configure(settings());
  late.resolve(OK);
  await world.clock.advance(100_000);
  expect(world.published).toHaveLength(2);
  expect(world.clock.waiting()).toBe(0);
});

test('other settings keep the last report until there is a new one', async () => {
  const world = createWorld();
  world.care.configure(settings(PROBE), 0);
  await world.clock.advance(10);
  world.care.configure(settings({ ...PROBE, apiServerProbe: { syncPeriodMillis: 10_000, readyz: true } }), 0);
  await world.clock.advance(20_000);
  expect(world.published).toHaveLength(1);
  expect(world.asked.some(({ path }) => path === '/readyz?verbose')).toBe(true);
  expect(world.healthzAt().length).toBeGreaterThanOrEqual(3);
});

test('Leases: a renewal is not reported; an expiry is seen within 20 s, a recovery too', async () => {
  const world = createWorld();
  const renewed = (seconds: number) => new Date(Date.UTC(2026, 2, 2, 10, 0, seconds)).toISOString();
  world.leases = { leases: [lease('a', renewed(0)), lease('b', renewed(0))], refused: {} };
  world.care.configure(settings(NODE_LEASES), 0);
  await world.clock.advance(30_000);
  world.leases = { leases: [lease('a', renewed(30)), lease('b', renewed(0))], refused: {} };
  expect(world.published).toHaveLength(1);
  expect(world.status('LeaseReport')).toEqual({ valid: ['kube-node-lease/a', 'kube-node-lease/b'], expired: [] });
  await world.clock.advance(30_000);
  expect(world.published).toHaveLength(2);
  expect(world.status('LeaseReport')).toEqual({
    valid: ['kube-node-lease/a'],
    expired: [{ lease: 'kube-node-lease/b', renewTime: '2026-03-02T10:00:00Z' }],
  });
  world.leases = { leases: [lease('a', renewed(60)), lease('b', renewed(60))], refused: {} };
  await world.clock.advance(20_000);
  expect(world.published).toHaveLength(3);
  expect(world.status('LeaseReport')).toMatchObject({ expired: [] });
});

test('a Namespace that is refused or excluded is named: the report is not complete for it', async () => {
  const world = createWorld();
  world.leases = { leases: [], refused: { 'kube-node-lease': 'leases is forbidden' } };
  const leases = [{ namespace: 'kube-node-lease' }, { namespace: 'kube-system', namePrefix: 'gardener-node-agent-' }];
  world.care.configure(settings({ ...NOTHING, leases }, ['kube-system']), 0);
  await world.clock.advance(10);
  expect(world.listed).toEqual([['kube-node-lease']]);
  expect(world.kind('LeaseReport')).toMatchObject({
    state: 'complete',
    unlisted: {
      'kube-node-lease': 'leases is forbidden',
      'kube-system': 'the FleetPolicy leaves it out of discovery',
    },
  });
  world.leases = { leases: [], refused: {} };
  world.care.configure(settings({ ...NOTHING, leases }), 0);
  await world.clock.advance(10);
  expect(world.kind('LeaseReport')).not.toHaveProperty('unlisted');
});

test('Leases that cannot be listed for a minute are unknown; the last report stays', async () => {
  const world = createWorld();
  world.leases = { leases: [lease('a', '2026-03-02T10:00:00Z')], refused: {} };
  world.care.configure(settings(NODE_LEASES), 0);
  await world.clock.advance(10);
  world.leases = { leases: [], refused: {}, unanswered: 'connection refused' };
  await world.clock.advance(60_000);
  expect(world.published).toHaveLength(1);
  await world.clock.advance(60_000);
  expect(world.kind('LeaseReport')).toMatchObject({ state: 'unknown', message: 'connection refused' });
  expect(world.status('LeaseReport')).toMatchObject({ valid: ['kube-node-lease/a'] });
  world.leases = { leases: [], refused: {} };
  await world.clock.advance(20_000);
  expect(world.kind('LeaseReport')).toMatchObject({ state: 'complete', message: '' });
});

test('a hint about Leases leads to a look soon', async () => {
  const world = createWorld();
  world.care.configure(settings(NODE_LEASES), 0);
  await world.clock.advance(4_000);
  const before = world.listed.length;
  world.hint('leases');
  await world.clock.advance(10);
  expect(world.listed).toHaveLength(before + 1);
});

test('certificates: what was found last stays while the cluster does not answer', async () => {
  const world = createWorld();
  const found = { certificates: [{ name: 'kube-root-ca.crt', field: 'ca.crt', notAfter: '2030-01-01T00:00:00Z' }] };
  world.certificates = found;
  world.care.configure(settings({ ...NOTHING, certificates: true }), 0);
  await world.clock.advance(10);
  world.certificates = undefined;
  await world.clock.advance(300_000);
  expect(world.published).toHaveLength(1);
  expect(world.status('CertificateReport')).toEqual(found);
});

test('tunnel: connected, an error, and nothing without a Pod or the right; an API server that is silent says nothing', async () => {
  const world = createWorld();
  world.tunnel = { type: 'connected', pod: 'vpn' };
  world.care.configure(settings({ ...PROBE, tunnel: true }), 0);
  await world.clock.advance(10);
  expect(world.status('TunnelProbe')).toEqual({ pod: 'vpn', connected: true });
  world.tunnel = { type: 'unanswered' };
  await world.clock.advance(60_000);
  expect(world.status('TunnelProbe')).toEqual({ pod: 'vpn', connected: true });
  world.tunnel = { type: 'failed', pod: 'vpn', error: 'dial timeout' };
  await world.clock.advance(60_000);
  expect(world.status('TunnelProbe')).toEqual({ pod: 'vpn', connected: false, error: 'dial timeout' });
  world.tunnel = { type: 'none' };
  await world.clock.advance(60_000);
  expect(world.status('TunnelProbe')).toBeUndefined();
});
