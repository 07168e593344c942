import { load } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/model/json.ts';
import { type DataplaneCase, rightDataplanes, wrongDataplanes } from '../support/dataplanes.ts';
import { conditionsIn } from '../support/fake-custom-resources.ts';
import { type Fleet, startFleet, until } from '../support/fleet-processes.ts';
import { noKubernetes } from '../support/kubernetes/binaries.ts';
import { type ControlPlane, startControlPlane } from '../support/kubernetes/control-plane.ts';

/** Wrong Dataplanes that the CustomResourceDefinition lets through. */
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

const resource = (name: string, spec: string): JsonObject => ({
  apiVersion: 'kuma.io/v1alpha1',
  kind: 'Dataplane',
  metadata: { name, namespace: 'fleet' },
  spec: load(spec) as JsonObject,
});

/** All violations in one text, whatever their order. */
const sorted = (message: unknown): readonly string[] => String(message).split('; ').sort();
const expected = ({ violations }: DataplaneCase): readonly string[] => violations.map((each) => `spec.${each}`).sort();

describe.skipIf(noKubernetes)('Dataplanes as custom resources', () => {
  let plane: ControlPlane;
  let fleet: Fleet;

  const create = (object: JsonObject, ...words: readonly string[]): Promise<string> =>
    plane.kubectl(['create', '-f', '-', ...words], { input: JSON.stringify(object) });
  const isTaken = async (spec: string): Promise<boolean> =>
    create(resource('tried', spec), '--dry-run=server').then(
      () => true,
      () => false,
    );
  const start = async (): Promise<void> => {
    await plane.kubectl(['wait', '--for=condition=Established', '--timeout=120s', 'crd', '--all']);
    const where = ['--kubeconfig', plane.kubeconfig(), '-n', 'fleet'];
    fleet = await startFleet({}, { serve: ['--custom-resources', ...where] });
  };

  beforeAll(async () => {
    plane = await startControlPlane();
    await plane.kubectl(['create', 'namespace', 'fleet']);
  });
  afterAll(async () => {
    await fleet?.stop();
    await plane?.stop();
  });

  it('are refused by our definition as far as it can, and by Accepted=False beyond that', async () => {
    await plane.kubectl(['apply', '--server-side', '-f', 'deploy/crds']);
    await start();
    for (const [what, spec] of Object.entries(rightDataplanes))
      expect([what, await isTaken(spec)]).toEqual([what, true]);
    const taken: DataplaneCase[] = [];
    for (const wrong of wrongDataplanes) if (await isTaken(wrong.spec)) taken.push(wrong);
    expect(taken.map(({ what }) => what)).toEqual(LET_THROUGH);
    for (const [index, { spec }] of taken.entries()) await create(resource(`wrong-${index}`, spec));
    for (const [index, wrong] of taken.entries()) {
      const accepted = await until(`Accepted of "${wrong.what}"`, async () => {
        const { status } = await plane.get<{ status?: JsonObject }>('dataplane', '-n', 'fleet', `wrong-${index}`);
        return conditionsIn(status).Accepted;
      });
      expect(accepted).toMatchObject({ status: 'False', reason: 'Invalid' });
      expect(sorted(accepted.message), wrong.what).toEqual(expected(wrong));
    }
  });
});
