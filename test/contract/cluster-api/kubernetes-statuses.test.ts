import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { metadataOf } from '../../../src/model/objects/object-key.ts';
import { type JsonObject, objectsOf } from '../../../src/model/text/json.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { createKubernetesWorld, type KubernetesWorld } from './kubernetes-harness.ts';
import { enter, key, type StatusHarness, seen, statusContract, statusRequest, theirs } from './status-suite.ts';
import { fleet, nonce } from './suite.ts';

describe.skipIf(noProgram('kube-apiserver'))('Kubernetes', () => {
  let plane: ControlPlane;
  const worlds: KubernetesWorld[] = [];
  const apply = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
  const read = async (): Promise<JsonObject | undefined> =>
    plane.get<JsonObject>('flowers', 'theirs', '-n', 'web').catch(() => undefined);
  const withManagers = async (): Promise<JsonObject> =>
    JSON.parse(await plane.kubectl(['get', 'flowers', 'theirs', '-n', 'web', '-o', 'json', '--show-managed-fields']));
  const { status: _status, ...named } = statusRequest({}).value;
  const writes = async (status: JsonObject): Promise<void> => {
    const args = [...apply, '--subresource=status', '--field-manager=controller'];
    await plane.kubectl(args, { input: JSON.stringify({ ...named, status }) });
  };
  beforeAll(async () => {
    plane = await startControlPlane({ users: { statuses: [] } });
    await plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(FLOWERS) });
    await plane.kubectl(['wait', '--for=condition=Established', 'crd/flowers.example.com']);
  });
  afterAll(async () => {
    for (const world of worlds) await world.close();
    await plane?.stop();
  });

  statusContract('Kubernetes', make);

  it('nothing but the status subresource is written, by a manager of its own', async () => {
    const { cluster, makesObject, writes: write } = await make();
    await makesObject();
    await write({ height: 1 });
    await enter(cluster);
    const before = await read();
    await cluster.apply(statusRequest({ blooms: 2 }));
    const after = await read();
    expect(after?.spec).toEqual(before?.spec);
    expect(metadataOf(after ?? {}).generation).toBe(metadataOf(before ?? {}).generation);
    expect(metadataOf(after ?? {}).annotations).toEqual(metadataOf(before ?? {}).annotations);
    expect(managersOf(await withManagers())).toEqual([
      ['controller', 'Apply', 'status', { 'f:status': { 'f:height': {} } }],
      ['fleetrelay-agent-status', 'Apply', 'status', { 'f:status': { 'f:blooms': {} } }],
    ]);
    await cluster.remove({ key, fleet, nonce });
    expect(managersOf(await withManagers())).toEqual([
      ['controller', 'Apply', 'status', { 'f:status': { 'f:height': {} } }],
    ]);
  });

  it('a controller that removes our fields three times is left alone, and named', async () => {
    const { cluster, makesObject } = await make();
    await makesObject();
    await enter(cluster);
    const two = statusRequest({ blooms: 2 });
    await cluster.apply(two);
    const outcomes: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      // It writes the complete status, without what it does not know.
      const args = ['replace', '--subresource=status', '--field-manager=controller', '-f', '-'];
      const live = await read();
      await plane.kubectl(args, { input: JSON.stringify({ ...live, status: { height: round } }) });
      await seen(cluster, (each) => each !== undefined && !cluster.matches(two, each));
      const outcome = await cluster.apply(two);
      outcomes.push(outcome.type);
      if (round === 3) expect(outcome).toMatchObject({ owner: 'controller' });
    }
    expect(outcomes).toEqual(['applied', 'applied', 'applied', 'conflict']);
  });

  it('a kind without a status subresource is refused by name', async () => {
    const { cluster } = await make();
    const value = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'web' }, status: {} };
    const request = { ...statusRequest({}), key: '/ConfigMap/web/a/status' as typeof key, value };
    expect(await cluster.apply(request)).toMatchObject({ type: 'failed', reason: 'NoStatusSubresource' });
  });

  it('the right to patch the status is enough, where the kind can be read', async () => {
    const { makesObject, world } = await make();
    await makesObject();
    const user = 'statuses';
    const rules = [
      ['--verb=get,list,watch', '--resource=flowers.example.com'],
      ['--verb=patch', '--resource=flowers.example.com/status'],
      ['--verb=*', '--resource=configmaps,namespaces'],
    ];
    for (const [number, rule] of rules.entries()) {
      await plane.kubectl(['create', 'clusterrole', `${user}-${number}`, ...rule]);
      await plane.kubectl([
        'create',
        'clusterrolebinding',
        `${user}-${number}`,
        `--clusterrole=${user}-${number}`,
        `--user=${user}`,
      ]);
    }
    const cluster = await world.begin({ user });
    await enter(cluster);
    expect(await cluster.apply(statusRequest({ blooms: 2 }))).toEqual({ type: 'applied' });
    expect(await cluster.remove({ key, fleet, nonce })).toEqual({ type: 'gone' });
  });

  async function make(): Promise<StatusHarness & { readonly world: KubernetesWorld }> {
    const world = await createKubernetesWorld(plane, 'web');
    worlds.push(world);
    await plane.kubectl(['delete', 'flowers', '--all', '-n', 'web']);
    let cluster = await world.begin();
    return {
      cluster,
      world,
      reopen: async () => {
        await cluster.close();
        cluster = await world.begin();
        return cluster;
      },
      makesObject: async () => void (await plane.kubectl(apply, { input: JSON.stringify(theirs) })),
      removesObject: async () => void (await plane.kubectl(['delete', 'flowers', 'theirs', '-n', 'web'])),
      writes,
      status: async () => {
        const live = await read();
        return live === undefined ? undefined : ((live.status ?? {}) as JsonObject);
      },
      pause: async (on) => {
        const mark = on ? 'fleetrelay.dev/paused=true' : 'fleetrelay.dev/paused-';
        await plane.kubectl(['annotate', 'namespace', world.own, mark]);
        await cluster.list('complete');
      },
    };
  }
});

const integers = (...names: readonly string[]): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'integer' }])),
});

/** A kind that people write. */
const FLOWERS: JsonObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'flowers.example.com' },
  spec: {
    group: 'example.com',
    names: { kind: 'Flower', plural: 'flowers', singular: 'flower' },
    scope: 'Namespaced',
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true, subresources: { status: {} } },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { colour: { type: 'string' } } },
              status: integers('height', 'blooms', 'leaves'),
            },
          },
        },
      },
    ],
  },
};

/** The managers of the status. */
function managersOf(live: JsonObject): readonly unknown[] {
  return objectsOf(metadataOf(live).managedFields)
    .filter(({ subresource }) => subresource === 'status')
    .map(({ manager, operation, subresource, fieldsV1 }) => [manager, operation, subresource, fieldsV1])
    .sort();
}
