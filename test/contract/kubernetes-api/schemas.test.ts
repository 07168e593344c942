import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectKube } from '../../../src/adapters/kubernetes/api/connect.ts';
import type { KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { must } from '../../../src/model/values/result.ts';
import { openKubernetesSchemas } from '../../../src/validation/kubernetes-schemas.ts';
import { acceptedManifests, type Disagreement, findDisagreements } from '../../support/kubernetes/disagreements.ts';
import { sharedPlane } from '../../support/kubernetes/shared-plane.ts';
import { isLong } from '../../support/long.ts';
import { noProgram } from '../../support/programs.ts';
import { silentLog } from '../../support/silent-log.ts';

/** What the decoder of manifests refuses on purpose although an API server takes it, by kind and change. */
const ON_PURPOSE: readonly RegExp[] = [
  // The data of ConfigMaps and Secrets, labels and annotations must be text: null is a mistake for an empty text.
  /^v1 \w+ (?:metadata\.(?:labels|annotations)|data|stringData|binaryData)\..+: (?:null|\[\])$/,
  // A LimitRange without a name is an omission of the API server.
  /^v1 LimitRange metadata(?:\.name)?: (?:empty|null|missing)$/,
];
/** The share of the changed manifests about which both sides must agree. */
const LEAST_AGREEMENT = 0.99;

describe.skipIf(noProgram('kube-apiserver') || !isLong)(
  'manifests changed in every way, judged by a real API server',
  () => {
    let client: KubeClient;
    let asked: number;
    let found: readonly Disagreement[];

    beforeAll(async () => {
      const { admin: kubeconfig } = await sharedPlane();
      const deps = { clock: createSystemClock(), random: createSystemRandom(), log: silentLog };
      ({ client } = must(await connectKube(deps, { kubeconfig, userAgent: 'fleetrelay-test/1' })));
      const kubernetes = await openKubernetesSchemas('1.36');
      ({ asked, disagreements: found } = await findDisagreements({ client, kubernetes }, acceptedManifests()));
    });
    afterAll(() => client?.close());

    const lines = (of: (disagreement: Disagreement) => boolean): readonly string[] =>
      found.filter(of).map(({ kind, change, message }) => `${kind} ${change} | ${message}`);

    it('are accepted by both while they are unchanged', () => {
      expect(lines(({ change }) => change === 'no change')).toEqual([]);
    });

    it('are not refused by fleetrelay alone', () => {
      const alone = lines(({ refusedBy, kind, change }) => {
        return refusedBy === 'fleetrelay' && !ON_PURPOSE.some((known) => known.test(`${kind} ${change}`));
      });
      expect(alone).toEqual([]);
    });

    it(`have the same verdict in at least ${LEAST_AGREEMENT * 100} percent of the changes`, () => {
      expect(asked).toBeGreaterThan(20_000);
      expect(1 - found.length / asked).toBeGreaterThanOrEqual(LEAST_AGREEMENT);
    });
  },
);
