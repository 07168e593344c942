import { expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { CONTROL_PLANE, careWorld, SINCE } from '../../../../support/care-world.ts';

/** Which live object explanations of Shoots name as a cause. */

function causesOf({ engine }: ReturnType<typeof careWorld>, name = 'garden-web/blue') {
  const kinds = engine.domains
    .flatMap(({ report: { shows } }) => shows?.entities ?? [])
    .filter(({ words }) => words[0] === 'shoot');
  const [entity] = kinds.flatMap((kind) => kind.named(name));
  const conditions = entity?.conditions?.() ?? expect.fail(name);
  return Object.fromEntries(conditions.map(({ condition, cause }) => [condition.type, cause]));
}

it('of an authority that expires: its Secret', () => {
  const made = careWorld('{seedName: seed}');
  made.wrote();
  const labels: JsonObject = { 'managed-by': 'secrets-manager', 'manager-identity': 'gardenlet', persist: 'true' };
  const key = `/Secret/${CONTROL_PLANE}/ca-1`;
  const metadata = { name: 'ca-1', labels: { ...labels, name: 'ca', 'valid-until-time': '0' } };
  made.live('seed', key, { metadata });
  made.passed(`certificate/seed/${key}`, SINCE);
  const causes = causesOf(made);
  expect(causes.CACertificateValiditiesAcceptable).toEqual({ cluster: 'seed', key });
  // The control plane does not run.
  expect(causes.APIServerAvailable).toEqual({
    cluster: 'seed',
    key: `apps/Deployment/${CONTROL_PLANE}/kube-apiserver`,
  });
});

it('without a Seed: the report of its certificates', () => {
  const made = careWorld('{}');
  made.wrote();
  const key = 'internal.fleetrelay.dev/CertificateReport//authorities';
  const certificates = [{ name: 'kube-root-ca.crt', field: 'ca.crt', notAfter: '2000-01-01T00:00:00Z' }];
  made.live('blue', key, { status: { certificates } });
  made.passed(`certificate/blue/${key} kube-root-ca.crt`, SINCE);
  expect(causesOf(made).CACertificateValiditiesAcceptable).toEqual({ cluster: 'blue', key });
});
