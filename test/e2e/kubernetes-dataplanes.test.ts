import { load } from 'js-yaml';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/model/text/json.ts';
import { type DataplaneCase, rightDataplanes, violationsBelow, wrongDataplanes } from '../support/dataplanes.ts';
import { conditionsIn } from '../support/fake-custom-resources.ts';
import { type Fleet, startFleet, until } from '../support/fleet-processes.ts';
import { type ApiRequests, createApiRequests } from '../support/kubernetes/api-request.ts';
import { type ControlPlane, startControlPlane } from '../support/kubernetes/control-plane.ts';
import { noProgram } from '../support/programs.ts';

/** Wrong Dataplanes that the CustomResourceDefinition lets through, beside all whose metrics alone are wrong: it checks nothing of them. */
const LET_THROUGH: readonly string[] = [
  'a serviceAddress that is the address',
  'a serviceAddress and servicePort that are address and port',
  "a serviceAddress that is the inbound's",
  'a serviceAddress that is both addresses',
  'an unknown protocol',
  'a protocol without value',
  'a tag without name',
  'the name of a tag',
  'a tag with the value null',
  'an admin port that an inbound has',
  'an admin port that an application has',
  'an admin port that an inbound has on all addresses',
  'an admin port that an outbound has',
  'a gateway with an empty tag',
  'names and addresses of listeners',
];

/** The CustomResourceDefinition of Kuma: any spec, no status. */
const DEFINITION_OF_KUMA = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'dataplanes.kuma.io' },
  spec: {
    group: 'kuma.io',
    scope: 'Namespaced',
    names: { kind: 'Dataplane', listKind: 'DataplaneList', plural: 'dataplanes', singular: 'dataplane' },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              mesh: { type: 'string' },
              metadata: { type: 'object' },
              spec: { 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
};

/** Of the Dataplanes of the namespace `fleet`. */
const DATAPLANES = '/apis/kuma.io/v1alpha1/namespaces/fleet/dataplanes';

const resource = (name: string, spec: string): JsonObject => ({
  apiVersion: 'kuma.io/v1alpha1',
  kind: 'Dataplane',
  metadata: { name, namespace: 'fleet' },
  spec: load(spec) as JsonObject,
});

/** All violations in one text, whatever their order. */
const sorted = (message: unknown): readonly string[] => String(message).split('; ').sort();
const expected = (wrong: DataplaneCase): readonly string[] => violationsBelow('spec.', wrong).toSorted();

describe.skipIf(noProgram('kube-apiserver'))('Dataplanes as custom resources', () => {
  let plane: ControlPlane;
  let api: ApiRequests;
  let fleet: Fleet | undefined;

  const apply = (name: string, object: JsonObject): Promise<void> => api.apply(`${DATAPLANES}/${name}`, object);
  // As `kubectl create` asks.
  const create = async (object: JsonObject, query = ''): Promise<number> =>
    (await api.send('POST', `${DATAPLANES}?fieldValidation=Strict${query}`, object)).status;
  const isTaken = async (spec: string): Promise<boolean> => {
    const status = await create(resource('tried', spec), '&dryRun=All');
    expect([201, 400, 422]).toContain(status);
    return status === 201;
  };
  const start = async (): Promise<Fleet> => {
    await plane.kubectl(['wait', '--for=condition=Established', '--timeout=120s', 'crd', '--all']);
    fleet = await startFleet({}, { serve: ['--custom-resources', '--kubeconfig', plane.kubeconfig(), '-n', 'fleet'] });
    return fleet;
  };

  beforeEach(async () => {
    plane = await startControlPlane();
    api = createApiRequests(plane);
    await plane.kubectl(['create', 'namespace', 'fleet']);
  });
  afterEach(async () => {
    await fleet?.stop();
    api?.close();
    await plane?.stop();
    fleet = undefined;
  });

  it('are refused by our definition as far as it can, and by Accepted=False beyond that', async () => {
    await plane.kubectl(['apply', '--server-side', '-f', 'deploy/crds']);
    await start();
    for (const [what, spec] of Object.entries(rightDataplanes)) {
      expect([what, await isTaken(spec)]).toEqual([what, true]);
    }
    const taken: DataplaneCase[] = [];
    for (const wrong of wrongDataplanes) if (await isTaken(wrong.spec)) taken.push(wrong);
    const isOfMetrics = ({ violations }: DataplaneCase): boolean =>
      violations.every((each) => each.startsWith('metrics'));
    expect(taken.filter(isOfMetrics)).toEqual(wrongDataplanes.filter(isOfMetrics));
    expect(taken.filter((each) => !isOfMetrics(each)).map(({ what }) => what)).toEqual(LET_THROUGH);
    for (const [index, { spec }] of taken.entries()) expect(await create(resource(`wrong-${index}`, spec))).toBe(201);
    for (const [index, wrong] of taken.entries()) {
      const accepted = await until(`Accepted of "${wrong.what}"`, async () => {
        const { body } = await api.send('GET', `${DATAPLANES}/wrong-${index}`);
        return conditionsIn(body.status).Accepted;
      });
      expect(accepted).toMatchObject({ status: 'False', reason: 'Invalid' });
      expect(sorted(accepted.message), wrong.what).toEqual(expected(wrong));
    }
  });

  it("are judged alike, and hold as last known good, where Kuma's definition is installed", async () => {
    await plane.kubectl(['apply', '--server-side', '-f', '-'], { input: JSON.stringify(DEFINITION_OF_KUMA) });
    const others = ['placements', 'servicemirrors', 'fleetpolicies'].map((name) => `fleetrelay.dev_${name}`);
    const rest = ['admin.gloo.solo.io_kubernetesclusters', 'core.gardener.cloud_shoots', ...others];
    for (const name of rest) await plane.kubectl(['apply', '--server-side', '-f', `deploy/crds/${name}.yaml`]);
    const { cli } = await start();
    const names = async (): Promise<readonly string[]> =>
      (JSON.parse(await cli('get', 'dataplanes', '-o', 'json')) as { name: string }[]).map(({ name }) => name);
    const right = 'networking: {address: 10.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: web}}]}';
    const owned = resource('of-pod', right);
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'of-pod', uid: 'a' }];
    await apply('of-pod', { ...owned, metadata: { name: 'of-pod', namespace: 'fleet', ownerReferences } });
    await apply('right', resource('right', right));
    await until('the right one', async () => (await names()).includes('right.fleet'));
    expect(await names()).toEqual(['right.fleet']);

    for (const [index, { spec }] of wrongDataplanes.entries())
      await apply(`wrong-${index}`, resource(`wrong-${index}`, spec));
    await apply('right', resource('right', 'networking: {address: 0.0.0.0}'));
    type Event = { readonly note: string; readonly regarding: { readonly name: string } };
    const notes = await until('events of all of them', async () => {
      const { items } = await plane.get<{ items: readonly Event[] }>('events.events.k8s.io', '-n', 'fleet');
      const found = new Map(items.map(({ note, regarding }) => [regarding.name, note]));
      return found.size > wrongDataplanes.length ? found : undefined;
    });
    expect(notes.get('right')).toBe('spec.networking.address: must not be 0.0.0.0 or ::');
    for (const [index, wrong] of wrongDataplanes.entries()) {
      const note = notes.get(`wrong-${index}`) ?? '';
      // An event has room for so much.
      if (note.length < 1024) expect(sorted(note), wrong.what).toEqual(expected(wrong));
    }
    expect(await names()).toEqual(['right.fleet']);
  });
});
