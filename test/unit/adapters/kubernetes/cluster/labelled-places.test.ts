import { describe, expect, it } from 'vitest';
import type { ApiResource, KubeAnswer, KubeClient } from '../../../../../src/adapters/kubernetes/api/types.ts';
import { labelledPlaces } from '../../../../../src/adapters/kubernetes/cluster/labelled-places.ts';

describe('looking for objects of the fleet without an inventory', () => {
  it('looks in each Namespace for a kind that the agent may not list in all of them', async () => {
    const places = await look({
      '/apis/batch/v1/cronjobs': refused(403),
      '/api/v1/namespaces': listOf('bank', 'shop'),
      '/apis/batch/v1/namespaces/bank/cronjobs': refused(403),
      '/apis/batch/v1/namespaces/shop/cronjobs': listOf('web'),
      '/apis/rbac.authorization.k8s.io/v1/clusterroles': refused(403),
    });

    expect(places).toEqual([{ kind: 'batch/CronJob', namespace: 'shop' }]);
  });

  it('asks once for a kind that the agent may list in all Namespaces', async () => {
    const places = await look({
      '/apis/batch/v1/cronjobs': listOf('web'),
      '/apis/rbac.authorization.k8s.io/v1/clusterroles': listOf('reader'),
    });

    expect(places).toEqual([
      { kind: 'batch/CronJob', namespace: '' },
      { kind: 'rbac.authorization.k8s.io/ClusterRole', namespace: '' },
    ]);
  });

  it('takes a kind that is not offered any more for one without objects', async () => {
    const places = await look({
      '/apis/batch/v1/cronjobs': refused(404),
      '/apis/rbac.authorization.k8s.io/v1/clusterroles': listOf(),
    });

    expect(places).toEqual([]);
  });

  it.each<[string, KubeAnswer]>([
    ['fails', refused(500)],
    ['does not answer', { type: 'unreachable', message: 'no answer within 30 s' }],
  ])('rejects if the API server %s', async (_what, answer) => {
    const looking = look({
      '/apis/batch/v1/cronjobs': answer,
      '/apis/rbac.authorization.k8s.io/v1/clusterroles': listOf('reader'),
    });

    await expect(looking).rejects.toThrow('objects of the fleet of kind batch/CronJob cannot be looked for');
  });

  it('rejects if the Namespaces cannot be listed', async () => {
    const looking = look({
      '/apis/batch/v1/cronjobs': refused(403),
      '/apis/rbac.authorization.k8s.io/v1/clusterroles': listOf(),
      '/api/v1/namespaces': refused(403),
    });

    await expect(looking).rejects.toThrow('the Namespaces in which objects of the fleet may be cannot be listed');
  });
});

/** Looks on an API server that offers CronJobs and ClusterRoles; a path without an answer fails the test. */
function look(answers: Readonly<Record<string, KubeAnswer>>) {
  const client: Pick<KubeClient, 'request'> = {
    request: async ({ path }) => {
      const answer = answers[path];
      if (answer === undefined) throw new Error(`${path} was not expected`);
      return answer;
    },
  };
  const preferred = [
    resource('batch', 'CronJob', 'cronjobs', true),
    resource('rbac.authorization.k8s.io', 'ClusterRole', 'clusterroles', false),
  ];
  return labelledPlaces(client as KubeClient, {
    find: () => undefined,
    resources: preferred,
    preferred,
    unreadableGroups: new Set(),
  });
}

function resource(group: string, kind: string, plural: string, namespaced: boolean): ApiResource {
  return { group, version: 'v1', kind, resource: plural, namespaced, verbs: ['list', 'watch'], subresources: [] };
}

function listOf(...names: readonly string[]): KubeAnswer {
  return { type: 'ok', status: 200, body: { items: names.map((name) => ({ metadata: { name } })) } };
}

function refused(status: number): KubeAnswer {
  return { type: 'refused', status, refusal: { reason: '', message: `status ${status}`, causes: [] } };
}
