import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { type Agent, createAgent } from '../../../src/agent/agent.ts';
import { type JsonObject, objectOf } from '../../../src/model/text/json.ts';
import { createMemoryDisk } from '../../support/agent-disk.ts';
import { createScriptedServer, type ScriptedServer } from '../../support/agent-world.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { createKubernetesWorld, type KubernetesWorld, manifest } from './kubernetes-harness.ts';
import { keyOf } from './suite.ts';

describe.skipIf(noProgram('kube-apiserver'))('what an API server refuses', () => {
  let plane: ControlPlane;
  let world: KubernetesWorld;
  let server: ScriptedServer;
  let agent: Agent;
  beforeAll(async () => {
    plane = await startControlPlane({});
  });
  afterAll(() => plane?.stop());
  beforeEach(async () => {
    world = await createKubernetesWorld(plane);
    const scripted = createScriptedServer({ held: new Map(), sequence: 0 });
    server = scripted.server;
    const deps = { clock: createSystemClock(), random: createSystemRandom(), log: world.log };
    agent = createAgent({
      ...deps,
      cluster: await world.open(),
      relay: scripted.client,
      disk: createMemoryDisk().open(),
    });
    await agent.start();
    server.connect();
  });
  afterEach(async () => {
    await agent.stop();
    await world.close();
    await plane.kubectl(['delete', 'service', '--all', '-n', world.web]);
  });

  async function untilSaid(value: JsonObject, word: string): Promise<void> {
    const deadline = performance.now() + 90_000;
    while (server.lastResults()[keyOf(value)] !== word) {
      if (performance.now() > deadline) throw new Error(`not seen: ${word}, but ${server.lastResults()[keyOf(value)]}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  const service = (name: string, nodePort: number): JsonObject => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: world.web },
    spec: {
      type: 'NodePort',
      ports: [{ port: 80, protocol: 'TCP', targetPort: 80, nodePort }],
      selector: { app: name },
    },
  });

  test('a Service takes over the port of a node of one that is removed in the same step', async () => {
    await server.say({ upserts: [service('old', 30_080)] });
    await untilSaid(service('old', 30_080), 'applied Applied');
    await server.say({ upserts: [service('new', 30_080)], removals: [keyOf(service('old', 30_080))] });
    await untilSaid(service('new', 30_080), 'failed Invalid');
    await untilSaid(service('new', 30_080), 'applied Applied');
  });

  test('a Service takes the port of a node as soon as the Service of a person is gone that had it', async () => {
    await plane.kubectl(['create', '-f', '-'], { input: manifest(service('of-a-person', 30_081)) });
    await server.say({ upserts: [service('web', 30_081)] });
    await untilSaid(service('web', 30_081), 'failed Invalid');
    await plane.kubectl(['delete', 'service', 'of-a-person', '-n', world.web]);
    await untilSaid(service('web', 30_081), 'applied Applied');
  });

  test('an object is applied after the definition of its kind allows what it declares', async () => {
    const widget = {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w', namespace: world.web },
      spec: { size: 9 },
    };
    await plane.kubectl(['apply', '-f', '-'], { input: manifest(definition(5)) });
    await plane.kubectl(['wait', '--for=condition=Established', 'crd/widgets.example.com']);
    await server.say({ upserts: [widget] });
    await untilSaid(widget, 'failed Invalid');
    const cluster = await world.begin();
    await plane.kubectl(['apply', '-f', '-'], { input: manifest(definition(10)) });
    await untilSaid(widget, 'applied Applied');
    const redefined = new Set<string>();
    const deadline = performance.now() + 90_000;
    while (!redefined.has('example.com/Widget') && performance.now() < deadline) {
      for (const kind of (await cluster.list('hinted')).redefined ?? []) redefined.add(kind);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect([...redefined]).toEqual(['example.com/Widget']);
    await plane.kubectl(['delete', 'crd', 'widgets.example.com']);
  });

  // The last one: what stays keeps its stamp, which the inventory of the next agent lacks.
  test('what every cluster has, and what its API server never lets go, stays: that is said once, with the reason', async () => {
    const adopted = (apiVersion: string, kind: string, name: string, more: JsonObject = {}): JsonObject => {
      const { namespace, ...rest } = more;
      const annotations = { 'fleetrelay.dev/adopt': 'true' };
      return {
        apiVersion,
        kind,
        metadata: { name, annotations, ...(namespace === undefined ? {} : { namespace }) },
        ...rest,
      };
    };
    const service = await plane.get<JsonObject>('service', 'kubernetes', '-n', 'default');
    const priority = await plane.get<JsonObject>('priorityclass', 'system-node-critical');
    const values = [
      ...['default', 'kube-system', 'kube-public', 'kube-node-lease'].map((name) => adopted('v1', 'Namespace', name)),
      adopted('v1', 'Service', 'kubernetes', {
        namespace: 'default',
        spec: { ports: objectOf(service.spec).ports ?? null },
      }),
      adopted('scheduling.k8s.io/v1', 'PriorityClass', 'system-node-critical', { value: priority.value ?? null }),
    ];
    await server.say({ upserts: values });
    for (const value of values) await untilSaid(value, 'applied Applied');
    const { uid } = objectOf(service.metadata);
    const before = world.sent.filter((line) => line.startsWith('DELETE')).length;
    await server.say({ removals: values.map(keyOf).toSorted() });
    for (const value of values) await untilSaid(value, 'removed Released');
    expect(server.holding().entries).toEqual([]);
    expect(objectOf((await plane.get<JsonObject>('service', 'kubernetes', '-n', 'default')).metadata).uid).toBe(uid);
    // Only the priority class is asked for: that it stays is known to the API server alone.
    expect(world.sent.filter((line) => line.startsWith('DELETE'))).toHaveLength(before + 1);
    const messages = server.results.filter(({ reason }) => reason === 'Released').map(({ message }) => message);
    expect(messages).toHaveLength(values.length);
    expect(messages.filter((message) => !/stays, and is not managed any more: .{10}/.test(message))).toEqual([]);
    expect(world.log.lines.filter(({ text }) => text.includes('stays'))).toHaveLength(values.length);
  });
});

function definition(maximum: number): JsonObject {
  const size = { type: 'integer', maximum };
  const schema = { type: 'object', properties: { spec: { type: 'object', properties: { size } } } };
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }];
  const names = { kind: 'Widget', plural: 'widgets' };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: { group: 'example.com', scope: 'Namespaced', names, versions },
  };
}
