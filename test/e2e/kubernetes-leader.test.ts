import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from 'vitest';
import { type Fleet, until } from '../support/fleet-processes.ts';
import {
  type AuditedPlane,
  isWrite,
  type ReplicaProcess,
  startAuditedPlane,
  startReplicatedFleet,
} from '../support/kubernetes/agent-process.ts';
import { type ApiRequests, createApiRequests } from '../support/kubernetes/api-request.ts';
import { testInLong, testOften } from '../support/long-tests.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../support/manifests.ts';
import { noProgram } from '../support/programs.ts';

const LEASES = 'apis/coordination.k8s.io/v1/namespaces/fleetrelay/leases';
const HAND_OVER_S = 15;
const MANY = 300;
/** Objects that an agent works on at the same time. */
const AT_ONCE = 16;

interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds: number;
}

const files = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
  'apps/a.yaml': configMapYaml('a', 'one'),
};

describe.skipIf(noProgram('kube-apiserver'))('replicas of an agent', () => {
  let audited: AuditedPlane;
  let api: ApiRequests;
  let fleet: Fleet & { replica(name: string): ReplicaProcess };

  beforeAll(async () => {
    audited = await startAuditedPlane(['replica-a', 'replica-b']);
    api = createApiRequests(audited.plane);
    await audited.plane.kubectl(['create', 'namespace', 'web']);
  });
  beforeEach(async () => {
    await audited.plane.kubectl(['create', 'namespace', 'fleetrelay']);
  });
  afterEach(async () => {
    await fleet?.stop();
    // No controller deletes the contents of namespaces here: the test removes the objects that matter.
    for (const each of ['api/v1/namespaces/fleetrelay/configmaps', 'api/v1/namespaces/web/configmaps', LEASES]) {
      await audited.plane.kubectl(['delete', '--raw', `/${each}`]);
    }
    await audited.plane.kubectl(['delete', 'namespace', 'fleetrelay', '--wait=false']);
    const finalized = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'fleetrelay' },
      spec: { finalizers: [] },
    };
    const path = '/api/v1/namespaces/fleetrelay/finalize';
    await audited.plane.kubectl(['replace', '--raw', path, '-f', '-'], { input: JSON.stringify(finalized) });
  });
  afterAll(async () => {
    api?.close();
    await audited?.stop();
  });

  const values = async (): Promise<Readonly<Record<string, string>>> => {
    const { body } = await api.send('GET', '/api/v1/namespaces/web/configmaps');
    const items: readonly { metadata: { name: string }; data: { value: string } }[] = body.items;
    return Object.fromEntries(items.map(({ metadata, data }) => [metadata.name, data.value]));
  };
  const lease = async (): Promise<LeaseSpec> => {
    const { body } = await api.send('GET', `/${LEASES}/fleetrelay-agent`);
    return body.spec;
  };
  const holder = async (): Promise<string> => (await lease()).holderIdentity ?? '';
  const leads = (replica: ReplicaProcess, times = 1) =>
    until(`${replica.name} leads`, () => replica.said('this replica leads').at(times - 1), 60_000);
  const ready = (replica: ReplicaProcess, text: RegExp) =>
    until(
      `${replica.name} says ${text}`,
      async () => {
        const said = await replica.health('/readyz');
        return said.status === 200 && text.test(said.text) ? said.text : undefined;
      },
      60_000,
    );
  const start = async (): Promise<{ readonly a: ReplicaProcess; readonly b: ReplicaProcess }> => {
    fleet = await startReplicatedFleet(files, audited, 'east');
    const [a, b] = [fleet.replica('replica-a'), fleet.replica('replica-b')];
    await a.startReplica();
    await leads(a);
    await b.startReplica();
    await until('the object is there', async () => (await values()).a === 'one', 60_000);
    return { a, b };
  };

  testOften('the one that leads is the agent, the other stands by; both say so', async () => {
    const { a, b } = await start();
    const identity = String(a.said('the agent is up')[0]?.identity);
    expect(await holder()).toBe(identity);
    await ready(a, /^ready\n$/);
    expect(await ready(b, /standing by/)).toBe(`standing by; ${identity} leads\n`);
    for (const replica of [a, b]) expect(await replica.health('/healthz')).toEqual({ status: 200, text: 'ok\n' });
    expect((await a.health('/metrics')).text).toContain('fleetrelay_agent_leader{cluster="east"} 1');
    const followers = (await b.health('/metrics')).text;
    expect(followers).toContain('fleetrelay_agent_leader{cluster="east"} 0');
    expect(followers).not.toMatch(/^fleetrelay_agent_(connected|output_epoch|objects)[{ ]/m);
    expect(audited.audit().filter((request) => request.user === 'replica-b' && isWrite(request))).toEqual([]);
  });

  testOften('the leader is killed: the other one is the agent when the lease has run out', async () => {
    const { a, b } = await start();
    await ready(b, /standing by/);
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') });
    await until('it is changed', async () => (await values()).a === 'two', 60_000);
    expect((await lease()).leaseDurationSeconds).toBeLessThan(HAND_OVER_S);
    await a.kill('SIGKILL');
    await leads(b);
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'three'), 'apps/b.yaml': configMapYaml('b', 'one') });
    await until(
      'the other one goes on',
      async () => {
        const now = await values();
        return now.a === 'three' && now.b === 'one';
      },
      60_000,
    );
    await ready(b, /^ready\n$/);
    // It owns what the first one had made.
    fleet.push({ 'apps/a.yaml': null });
    await until('it removes', async () => (await values()).a === undefined, 60_000);
    await a.startReplica();
    await ready(a, /standing by/);
  });

  testInLong(
    'the leader is killed while the server is away: the other one says what it cannot do, changes nothing, and goes on with the server',
    async () => {
      const startedAt = Date.now();
      const { a, b } = await start();
      await ready(b, /standing by/);
      await fleet.server.kill('SIGKILL');
      await a.kill('SIGKILL');
      await leads(b);
      // Its disk is its own, and empty.
      await until(
        'it says what it cannot do',
        async () => /no connection to the server.*\n.*drift is not repaired/.test((await b.health('/readyz')).text),
        60_000,
      );
      await audited.plane.kubectl(['delete', 'configmap', 'a', '-n', 'web']);
      fleet.push({ 'apps/b.yaml': configMapYaml('b', 'one') });
      await fleet.server.start();
      await until(
        'it goes on',
        async () => {
          const now = await values();
          return now.a === 'one' && now.b === 'one';
        },
        60_000,
      );
      await ready(b, /^ready\n$/);
      fleet.push({ 'apps/a.yaml': null });
      await until('it removes', async () => (await values()).a === undefined, 60_000);
      const objects = audited.audit().filter((request) => request.uri.includes('/namespaces/web/') && isWrite(request));
      const removals = objects.filter(({ at, verb }) => at >= startedAt && verb === 'delete');
      expect(removals.map(({ uri }) => uri)).toEqual(['/api/v1/namespaces/web/configmaps/a']);
    },
  );

  testOften(
    'the leader is stopped in order: it has given the lease back when it ends, and the other one takes it',
    async () => {
      const { a, b } = await start();
      await ready(b, /standing by/);
      const identity = await holder();
      await a.kill('SIGTERM');
      expect(await holder()).not.toBe(identity);
      await leads(b);
      await ready(b, /^ready\n$/);
      fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') });
      await until('the other one goes on', async () => (await values()).a === 'two', 60_000);
      await b.kill('SIGTERM');
      expect(await holder()).toBe('');
    },
  );

  testOften('the leader is suspended in the middle of its work and wakes up: it changes nothing any more', async () => {
    const startedAt = Date.now();
    const { a, b } = await start();
    await ready(b, /standing by/);
    const many = Array.from({ length: MANY }, (_, index) => `many-${index}`);
    fleet.push(Object.fromEntries(many.map((name) => [`apps/${name}.yaml`, configMapYaml(name, 'x')])));
    const applied = () =>
      audited.audit().filter(({ user, uri, at }) => user === 'replica-a' && at >= startedAt && uri.includes('/many-'));
    await until('it is in the middle of its work', () => applied().length > 0, 60_000);
    a.signal('SIGSTOP');
    await leads(b);
    await until(
      'the other one has done the work',
      async () => {
        const now = await values();
        return many.every((name) => name in now);
      },
      60_000,
    );
    // The sleeper will find its own object changed, and has every reason to put it back.
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') });
    await until('the other one changes it', async () => (await values()).a === 'two', 60_000);
    const wokenAt = Date.now();
    a.signal('SIGCONT');
    await until('it knows', () => a.said('this replica does not lead any more').length > 0, 60_000);
    await ready(a, /standing by/);
    fleet.push({ 'apps/b.yaml': configMapYaml('b', 'one') });
    await until('the other one goes on', async () => (await values()).b === 'one', 60_000);
    expect((await values()).a).toBe('two');
    const writes = audited.audit().filter((request) => request.at >= startedAt && isWrite(request));
    const ofFirst = writes.filter(({ user }) => user === 'replica-a');
    const ofSecond = writes.filter(({ user }) => user === 'replica-b');
    expect(ofFirst.length).toBeGreaterThan(0);
    // What was between its last check and the wire when it fell asleep arrives, and is refused; what was half sent by then
    // the API server has given up itself (504).
    const late = ofFirst.filter(({ at }) => at >= wokenAt);
    expect(late.length).toBeLessThanOrEqual(AT_ONCE);
    expect(late.filter(({ status }) => status !== 409 && status !== 504)).toEqual([]);
    // One after the other, and never both.
    const [begin = 0] = ofSecond.map(({ at }) => at).sort((x, y) => x - y);
    expect(ofFirst.filter(({ at, status }) => at >= begin && status < 300)).toEqual([]);
  });
});
