import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { type Agent, createAgent } from '../../../src/agent/agent.ts';
import { mirroredSlices } from '../../../src/domains/services/engine/translate.ts';
import { NO_SETTINGS } from '../../../src/model/agent/agent-settings.ts';
import type { DriftMode } from '../../../src/model/fleet/drift.ts';
import { type Digest, parseClusterName } from '../../../src/model/fleet/ids.ts';
import { type ObjectKey, objectKey } from '../../../src/model/objects/object-key.ts';
import { objectDigest } from '../../../src/model/text/digest.ts';
import { type JsonObject, objectOf, objectsOf } from '../../../src/model/text/json.ts';
import { must } from '../../../src/model/values/result.ts';
import { createMemoryDisk, type MemoryDisk } from '../../support/agent-disk.ts';
import { createScriptedServer, type ScriptedServer } from '../../support/agent-world.ts';
import { type ApiRequests, createApiRequests } from '../../support/kubernetes/api-request.ts';
import { objectPath } from '../../support/kubernetes/clusters.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { createFaultyClient, type FaultyClient } from '../../support/kubernetes/faulty-client.ts';
import { noProgram } from '../../support/programs.ts';
import { nameOf } from '../../support/test-clusters.ts';
import { createKubernetesWorld, type KubernetesWorld, type OpenOptions } from './kubernetes-harness.ts';
import { configMap, keyOf } from './suite.ts';

describe.skipIf(noProgram('kube-apiserver'))('an agent in a Kubernetes cluster', () => {
  let plane: ControlPlane;
  let api: ApiRequests;
  let world: KubernetesWorld;
  let server: ScriptedServer;
  let disk: MemoryDisk;
  let expected: { held: Map<ObjectKey, Digest>; sequence: number };
  let agent: Agent | undefined;
  beforeAll(async () => {
    plane = await startControlPlane({});
    api = createApiRequests(plane);
  });
  afterAll(async () => {
    api?.close();
    await plane?.stop();
  });
  beforeEach(async () => {
    world = await createKubernetesWorld(plane);
    disk = createMemoryDisk();
    expected = { held: new Map(), sequence: 0 };
  });
  afterEach(async () => {
    await agent?.stop();
    await world.close();
    // A next agent would find what bears the stamp of its fleet.
    const all = 'configmap,secret,service,endpointslice,networkpolicy,deployment';
    await plane.kubectl(['delete', all, '-l', 'fleetrelay.dev/fleet', '-n', world.web]);
  });

  async function startAgent(options: OpenOptions = {}): Promise<void> {
    await agent?.stop();
    const scripted = createScriptedServer(expected);
    server = scripted.server;
    agent = createAgent({
      cluster: await world.open(options),
      relay: scripted.client,
      disk: disk.open(),
      clock: createSystemClock(),
      random: createSystemRandom(),
      log: world.log,
    });
    await agent.start();
    server.connect();
  }

  async function until(what: string, look: () => boolean | Promise<boolean>, seconds = 90): Promise<void> {
    const deadline = performance.now() + seconds * 1_000;
    while (!(await look())) {
      if (performance.now() > deadline) throw new Error(`this was not seen: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  const hasWordOf = (value: JsonObject) => () => server.lastResults()[keyOf(value)] !== undefined;
  const isSaid = (value: JsonObject, word: string) => () => server.lastResults()[keyOf(value)] === word;
  const live = (kind: string, name: string) =>
    plane.get<JsonObject>(kind, name, '-n', world.web, '--show-managed-fields');
  const secret = (): JsonObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's', namespace: world.web },
    data: { password: 'c2VjcmV0' },
  });
  const service = (): JsonObject => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: world.web },
    spec: { ports: [{ port: 80 }], selector: { app: 'web' } },
  });

  const losses: readonly (readonly [string, () => Promise<void>])[] = [
    [
      'stored output',
      async () => {
        disk.stored = undefined;
      },
    ],
    [
      'inventory',
      async () => {
        await plane.kubectl(['delete', 'configmap', 'fleetrelay-inventory', '-n', world.own]);
      },
    ],
  ];

  test('drift that a Placement leaves is told with its manager, stays so after a restart, and is put back later', async () => {
    const [changed, removed] = ['changed', 'removed'].map((name) => configMap(name, { k: '1' }, world.web));
    if (changed === undefined || removed === undefined) throw new Error('there are two');
    const both = [changed, removed];
    await startAgent();
    expect(await server.say({ upserts: both })).toEqual({ accepted: true });
    for (const value of both) await until('it is applied', isSaid(value, 'applied Applied'));
    const told = (driftMode: DriftMode) => ({
      touches: both.map((value) => ({ key: keyOf(value), scope: [], driftMode })),
    });
    expect(await server.say(told('Report'))).toEqual({ accepted: true });
    await plane.kubectl(['patch', 'configmap', 'changed', '-n', world.web, '-p', '{"data":{"k":"theirs"}}']);
    await plane.kubectl(['delete', 'configmap', 'removed', '-n', world.web]);
    const driftOf = (value: JsonObject) => server.results.findLast(({ key }) => key === keyOf(value))?.drift;
    const isTold = () => both.every((value) => driftOf(value) !== undefined);
    const drift = [
      { drift: 'changed', fields: ['data.k'], managers: ['kubectl-patch'] },
      { drift: 'removed', fields: [], managers: [] },
    ];
    await until('the drift is told', isTold);
    expect(both.map(driftOf)).toEqual(drift);
    await startAgent();
    await until('the next agent tells it, too', isTold);
    expect(both.map(driftOf)).toEqual(drift);
    expect(await live('configmap', 'changed')).toMatchObject({ data: { k: 'theirs' } });
    await expect(live('configmap', 'removed')).rejects.toThrow('not found');
    expect(await server.say(told('Repair'))).toEqual({ accepted: true });
    await until('both are put back', () => agent?.health().driftCorrections.changed === 1);
    await until('both are put back', () => agent?.health().driftCorrections.removed === 1);
    for (const name of ['changed', 'removed'])
      expect(await live('configmap', name)).toMatchObject({ data: { k: '1' } });
    expect(both.map(driftOf)).toEqual([undefined, undefined]);
  });

  test('an object that git removes and declares again while a finalizer holds it is made anew, also where drift is only reported', async () => {
    const value = configMap('held', { k: '1' }, world.web);
    await startAgent();
    server.settings({ ...NO_SETTINGS, driftMode: 'Report' });
    expect(await server.say({ upserts: [value] })).toEqual({ accepted: true });
    await until('it is applied', isSaid(value, 'applied Applied'));
    const hold = (finalizers: readonly string[]) =>
      plane.kubectl([
        ...['patch', 'configmap', 'held', '-n', world.web, '--type=merge'],
        ...['-p', JSON.stringify({ metadata: { finalizers } })],
      ]);
    await hold(['example.com/hold']);
    const first = objectOf((await live('configmap', 'held')).metadata).uid;
    expect(await server.say({ removals: [keyOf(value)] })).toEqual({ accepted: true });
    await until('its removal waits', isSaid(value, 'removing Waiting'));
    expect(await server.say({ upserts: [value] })).toEqual({ accepted: true });
    await until('it waits for its end', isSaid(value, 'failed BeingDeleted'));
    await hold([]);
    await until('it is made anew', isSaid(value, 'applied Applied'));
    const { metadata } = await live('configmap', 'held');
    expect(objectOf(metadata).uid).not.toBe(first);
    expect(server.results.filter(({ key, drift }) => key === keyOf(value) && drift !== undefined)).toEqual([]);
  });

  test('what a late request of an earlier agent brings back is removed again', async () => {
    const [value, other] = [configMap('late', { k: '1' }, world.web), service()];
    await startAgent();
    expect(await server.say({ upserts: [value, other] })).toEqual({ accepted: true });
    await until('it is applied', isSaid(value, 'applied Applied'));
    const { metadata, ...rest } = (await live('configmap', 'late')) as { readonly metadata: JsonObject };
    const { uid: _uid, resourceVersion: _version, managedFields: _fields, creationTimestamp: _at, ...ours } = metadata;
    // The next agent removes it while a request of this one is under way. It is the last one of its kind.
    await startAgent();
    expect(await server.say({ removals: [keyOf(value)] })).toEqual({ accepted: true });
    await until('it is removed', isSaid(value, 'removed Removed'));
    await plane.kubectl(['create', '-f', '-'], { input: JSON.stringify({ ...rest, metadata: ours }) });
    await until('it is gone again', async () => (await live('configmap', 'late').catch(() => undefined)) === undefined);
  });

  test.each(losses)('what the %s held is not made up from live objects: they are left as they are', async (_, lose) => {
    const values = [configMap('a', { k: '1' }, world.web), secret(), service()];
    await startAgent();
    await server.say({ upserts: values });
    for (const value of values) await until('it is applied', isSaid(value, 'applied Applied'));
    await agent?.stop();
    const before = await Promise.all([live('configmap', 'a'), live('secret', 's'), live('service', 'web')]);
    await lose();
    await startAgent();
    for (const value of values) await until('it has been looked at', hasWordOf(value));
    expect(await Promise.all([live('configmap', 'a'), live('secret', 's'), live('service', 'web')])).toEqual(before);
    // The server sends again what the agent reports as lost.
    const lost = server.holding().entries.flatMap((entry) => (entry.lost === true ? [entry.key] : []));
    expect(lost).toEqual(expect.arrayContaining([keyOf(secret()), keyOf(service())]));
    const { digest: from } = server.holding();
    expect(await server.say({ upserts: values, forged: { from } })).toEqual({ accepted: true });
    for (const value of values) await until('it is applied', isSaid(value, 'applied Applied'));
    expect(await Promise.all([live('configmap', 'a'), live('secret', 's'), live('service', 'web')])).toEqual(before);
  });

  test('refuses objects in its own namespace, and leaves what a tenant has stamped before its first start', async () => {
    const declared = configMap('b', { k: '1' }, world.web);
    const stamp = { 'fleetrelay.dev/fleet': 'fleet', 'fleetrelay.dev/object': keyOf(declared) };
    const metadata = {
      name: 'b',
      namespace: world.web,
      labels: { 'fleetrelay.dev/fleet': 'fleet' },
      annotations: stamp,
    };
    const made = JSON.stringify({ ...configMap('b', { k: 'of a tenant' }), metadata });
    await plane.kubectl(['create', '-f', '-'], { input: made });
    const pausing = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: world.own, annotations: { 'fleetrelay.dev/adopt': 'true', 'fleetrelay.dev/paused': 'true' } },
    };
    const inOwn = configMap('a', { k: '1' }, world.own);
    await startAgent();
    expect(server.holding().entries.map(({ key }) => key)).toEqual([keyOf(declared)]);
    await sayAnew({ upserts: [declared, pausing, inOwn, service()] });
    await until('the service is applied', isSaid(service(), 'applied Applied'));
    await until('the stamped object is a conflict', isSaid(declared, 'conflict Conflict'));
    for (const value of [pausing, inOwn]) await until('it is refused', isSaid(value, 'failed OwnNamespace'));
    expect(await live('configmap', 'b')).toMatchObject({ data: { k: 'of a tenant' } });
    expect(agent?.health().paused).toBe(false);
    await sayAnew({ removals: [keyOf(declared), keyOf(inOwn)] });
    await until('both are released', () => server.holding().entries.length === 2);
    expect(await live('configmap', 'b')).toMatchObject({ data: { k: 'of a tenant' } });
  });

  /** An agent whose process ends before or after one of its writes; which, counts from 0. False: it came to its end. */
  async function endsAt(write: number, fault: 'crash' | 'crashAfter', work: () => Promise<unknown>): Promise<boolean> {
    let faulty: FaultyClient | undefined;
    const through = (client: KubeClient): KubeClient => {
      const dying = createFaultyClient(client);
      faulty = dying;
      // The reads of a dead process get no answer.
      const away = { type: 'unreachable', message: 'the process is gone' } as const;
      const request: KubeClient['request'] = async (asked) =>
        dying.crashed() && asked.method === 'GET' ? away : dying.request(asked);
      return { ...dying, request };
    };
    await startAgent({ through });
    let writes = 0;
    faulty?.fail(({ method }) => (method !== 'GET' && writes++ === write ? fault : 'none'));
    const ended = until('the process ends', () => faulty?.crashed() === true).catch(() => undefined);
    await Promise.race([ended, work().catch(async () => ended)]);
    return faulty?.crashed() === true;
  }

  test('an agent that ends before or after any write leaves nothing behind that is not known to be ours', async () => {
    const values = [configMap('a', { k: '1' }, world.web), secret(), service()];
    const keys = values.map(keyOf);
    const isThere = async (value: JsonObject): Promise<boolean> => {
      const { status } = await api.send('GET', objectPath(nameOf(value)));
      if (status !== 200 && status !== 404) throw new Error(`the API server answered ${status}`);
      return status === 200;
    };
    const makeAndRemove = async (): Promise<void> => {
      const mine = server;
      // What was begun with a process that has ended does not go on with the next one.
      const ofThisLife = (look: () => boolean | Promise<boolean>) => (): boolean | Promise<boolean> => {
        if (server !== mine) throw new Error('the process is gone');
        return look();
      };
      await sayAnew({ upserts: values });
      for (const value of values) await until('it is applied', ofThisLife(isSaid(value, 'applied Applied')));
      await sayAnew({ removals: keys });
      for (const value of values)
        await until(
          'it is gone',
          ofThisLife(async () => !(await isThere(value))),
        );
      await until(
        'nothing is held',
        ofThisLife(() => mine.holding().entries.length === 0),
      );
    };
    for (const fault of ['crash', 'crashAfter'] as const) {
      for (let write = 0; ; write += 1) {
        const ended = await endsAt(write, fault, makeAndRemove);
        await startAgent();
        // Whatever has become of it: what is there of ours is in the inventory, and goes when the server says so.
        const held = new Set(server.holding().entries.map(({ key }) => key));
        for (const value of values) if (await isThere(value)) expect([...held]).toContain(keyOf(value));
        await makeAndRemove();
        if (ended) continue;
        expect(write).toBeGreaterThan(8);
        break;
      }
    }
  });

  test('a field that was given up is a conflict until its other manager lets it go, also after a restart', async () => {
    const before = configMap('given', { k: '1', other: '2' }, world.web);
    const after = configMap('given', { k: '1' }, world.web);
    const team = (data: Record<string, string>) =>
      plane.kubectl(['apply', '--server-side', '--field-manager', 'team', '-f', '-'], {
        input: JSON.stringify(configMap('given', data, world.web)),
      });
    await startAgent();
    await server.say({ upserts: [before] });
    await until('it is applied', isSaid(before, 'applied Applied'));
    await team({ other: '2' });
    await server.say({ upserts: [after] });
    await until('it is a conflict', isSaid(after, 'conflict Conflict'));
    await startAgent();
    await until('it is a conflict', isSaid(after, 'conflict Conflict'));
    expect(await live('configmap', 'given')).toMatchObject({ data: { k: '1', other: '2' } });
    await team({});
    await until('it is applied', isSaid(after, 'applied Applied'));
    expect((await live('configmap', 'given')).data).toEqual({ k: '1' });
    // The next step of the inventory has it no more.
    await startAgent();
    await until('it is applied', isSaid(after, 'applied Applied'));
    const head = await plane.get<JsonObject>('configmap', 'fleetrelay-inventory', '-n', world.own);
    const lines = String((head.data as JsonObject).journal)
      .trim()
      .split('\n');
    expect(lines.filter((line) => line.includes('givenUp')).length).toBeGreaterThan(0);
    expect(lines.at(-1)).not.toContain('givenUp');
  });

  test('a mirrored slice keeps a port until the slice that gets it is applied, and gets it back before that loses it', async () => {
    const source = {
      ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4' },
      metadata: { name: 'api', namespace: world.web, labels: { 'kubernetes.io/service-name': 'api' } },
      endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true } }],
      ports: [
        { name: 'http', port: 80, protocol: 'TCP' },
        { name: 'admin', port: 90, protocol: 'TCP' },
      ],
    };
    /** What is mirrored of it while this is the load-balancing set at the port `admin`. */
    const mirrored = (isIn: boolean | undefined): readonly JsonObject[] =>
      mirroredSlices(
        must(parseClusterName('east')),
        objectKey({ group: '', kind: 'Service', namespace: world.web, name: 'api' }),
        { key: keyOf(source), value: source, digest: objectDigest(source) },
        (_, port) => (port === 90 ? isIn : undefined),
      ).map(({ value }) => value);
    const policy = (refused: string): string =>
      [
        {
          ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicy' },
          metadata: { name: world.web },
          spec: {
            matchConstraints: {
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': world.web } },
              resourceRules: [
                {
                  ...{ apiGroups: ['discovery.k8s.io'], apiVersions: ['v1'], resources: ['endpointslices'] },
                  operations: ['CREATE', 'UPDATE'],
                },
              ],
            },
            validations: [{ expression: `object.metadata.name != "${refused}"`, message: 'not today' }],
          },
        },
        {
          ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicyBinding' },
          metadata: { name: world.web },
          spec: { policyName: world.web, validationActions: ['Deny'] },
        },
      ]
        .map((value) => JSON.stringify(value))
        .join('\n---\n');
    const refuse = async (name: string): Promise<void> => {
      await plane.kubectl(['apply', '-f', '-'], { input: policy(name) });
      const probe = JSON.stringify({ ...source, metadata: { name, namespace: world.web } });
      const isRefused = (): Promise<boolean> =>
        plane
          .kubectl(['apply', '--server-side', '--force-conflicts', '--dry-run=server', '-f', '-'], { input: probe })
          .then(
            () => false,
            () => true,
          );
      await until('the policy is in force', isRefused);
    };
    const portsOf = async (name: string): Promise<readonly unknown[]> => {
      const { ports, endpoints } = await live('endpointslice', name);
      return endpoints === null ? [] : objectsOf(ports).map((port) => port.name);
    };
    const main = keyOf(mirrored(true)[0] as JsonObject);
    const lastOf = (key: ObjectKey) => server.results.findLast((result) => result.key === key);
    await startAgent();
    const [whole = {}] = mirrored(undefined);
    await server.say({ upserts: [whole] });
    await until('it is applied', isSaid(whole, 'applied Applied'));

    await refuse('east-api-admin');
    const apart = mirrored(false);
    const part = apart[1] as JsonObject;
    await server.say({ upserts: apart });
    await until('the first slice waits', () => lastOf(main)?.reason === 'WaitsForOther');
    expect(lastOf(main)?.message).toContain('not today');
    expect(await portsOf('east-api')).toEqual(['http', 'admin']);
    await startAgent();
    await until('the first slice waits', () => lastOf(main)?.reason === 'WaitsForOther');
    expect(await portsOf('east-api')).toEqual(['http', 'admin']);

    await refuse('east-api');
    await until('the new slice is applied', isSaid(part, 'applied Applied'));
    await until('the first slice is refused now', () => lastOf(main)?.message.startsWith('it stays') === false);
    expect(await portsOf('east-api')).toEqual(['http', 'admin']);
    await plane.kubectl(['delete', 'validatingadmissionpolicybinding', world.web]);
    await until('the first slice has lost the port', isSaid(whole, 'applied Applied'));
    expect([await portsOf('east-api'), await portsOf('east-api-admin')]).toEqual([['http'], ['admin']]);

    await refuse('east-api-admin');
    await plane.kubectl(['delete', 'endpointslice', 'east-api-admin', '-n', world.web]);
    await until('the other one is refused', () => server.lastResults()[keyOf(part)]?.startsWith('failed') === true);
    const endpoints = [{ addresses: ['10.0.0.2'], conditions: { ready: true } }];
    await sayAnew({ upserts: [{ ...apart[0], endpoints }] });
    const firstEndpoints = async () => (await live('endpointslice', 'east-api')).endpoints;
    await until('the first slice follows', async () => JSON.stringify(await firstEndpoints()).includes('10.0.0.2'));
    await plane.kubectl(['delete', 'validatingadmissionpolicybinding', world.web]);
    await until('the other one is applied', isSaid(part, 'applied Applied'));

    await refuse('east-api');
    const together = mirrored(true);
    await server.say({ upserts: together });
    await until('the first slice is refused', () => server.lastResults()[main]?.startsWith('failed') === true);
    await until('the other one waits', isSaid(part, 'failed WaitsForOther'));
    expect([await portsOf('east-api'), await portsOf('east-api-admin')]).toEqual([['http'], ['admin']]);
    await plane.kubectl(['delete', 'validatingadmissionpolicybinding', world.web]);
    await until('both are applied', () => together.every((value) => isSaid(value, 'applied Applied')()));
    expect([await portsOf('east-api'), await portsOf('east-api-admin')]).toEqual([['http', 'admin'], []]);

    await server.say({ upserts: apart });
    await until('both are applied', async () => (await portsOf('east-api')).length === 1);
    await refuse('east-api');
    await server.say({ upserts: together });
    await until('the other one waits', isSaid(part, 'failed WaitsForOther'));
    await server.say({ removals: [keyOf(part)] });
    await until('its removal waits', isSaid(part, 'removing WaitsForOther'));
    expect([await portsOf('east-api'), await portsOf('east-api-admin')]).toEqual([['http'], ['admin']]);
    await plane.kubectl(['delete', 'validatingadmissionpolicybinding', world.web]);
    await until('it is removed', isSaid(part, 'removed Removed'));
    expect(await portsOf('east-api')).toEqual(['http', 'admin']);
  });

  /** As a server that has learned what the agent holds. */
  async function sayAnew(said: Parameters<ScriptedServer['say']>[0]): Promise<void> {
    const { entries, digest, position } = server.holding();
    expected.held = new Map(entries.flatMap((entry) => (entry.phase === 'held' ? [[entry.key, entry.digest]] : [])));
    expected.sequence = Math.max(expected.sequence, position.sequence);
    expect(await server.say({ ...said, forged: { from: digest } })).toEqual({ accepted: true });
  }
});
