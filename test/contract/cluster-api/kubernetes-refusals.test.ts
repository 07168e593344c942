import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { type Agent, createAgent } from '../../../src/agent/agent.ts';
import type { JsonObject } from '../../../src/model/json.ts';
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
