import { describe, expect, it } from 'vitest';
import type { ApiCatalog, KubeAnswer, KubeClient } from '../../../../src/adapters/kubernetes/api/types.ts';
import { installAgent } from '../../../../src/compose/cluster/install-agent.ts';
import { parseClusterName } from '../../../../src/model/fleet/ids.ts';
import { must } from '../../../../src/model/values/result.ts';

const STATEFUL_SETS = '/apis/apps/v1/statefulsets';

describe('installing an agent', () => {
  it('says nothing of servers if StatefulSets can be listed', async () => {
    const { notes } = await install({});

    expect(notes).toEqual([]);
  });

  it('says that a server in the cluster could not be seen if StatefulSets cannot be listed', async () => {
    const { notes } = await install({ [STATEFUL_SETS]: forbidden('statefulsets is forbidden') });

    expect(notes).toEqual([
      'whether a management server is in this cluster could not be seen (statefulsets is forbidden): register again as a user who may list StatefulSets, so that its Namespace is protected, too',
    ]);
  });

  it('removes the webhook of an earlier installation, and no object of others, no settings and no Secrets', async () => {
    const { steps } = await install({ '/mutatingwebhookconfigurations/fleetrelay-agent': installed() });

    const ended = steps.filter(({ outcome }) => outcome === 'removed' || outcome === 'left');
    expect(ended.map(({ what, outcome }) => `${outcome} ${what}`)).toEqual([
      'removed MutatingWebhookConfiguration.admissionregistration.k8s.io/fleetrelay-agent',
      'left Service/fleetrelay/fleetrelay-agent-webhook',
      'left NetworkPolicy.networking.k8s.io/fleetrelay/fleetrelay-agent-webhook',
    ]);
  });

  it('removes the webhook before it changes the agent that serves it', async () => {
    const { steps } = await install({ '/mutatingwebhookconfigurations/fleetrelay-agent': installed() });

    expect(steps[0]).toMatchObject({
      outcome: 'removed',
      what: expect.stringContaining('MutatingWebhookConfiguration'),
    });
  });

  it('leaves a webhook that calls the agent in another Namespace', async () => {
    const { steps } = await install({ '/mutatingwebhookconfigurations/fleetrelay-agent': installed('elsewhere') });

    expect(steps.filter(({ what }) => what.startsWith('MutatingWebhookConfiguration'))).toEqual([
      expect.objectContaining({ outcome: 'left', message: 'it calls the agent in elsewhere' }),
    ]);
  });

  it('rejects if it cannot be seen whether a Namespace exists', async () => {
    const installing = install({ '/api/v1/namespaces/web': forbidden('namespaces is forbidden') });

    await expect(installing).rejects.toThrow('Namespace/web cannot be read: namespaces is forbidden');
  });

  it('rejects if other agents of the cluster cannot be seen', async () => {
    const installing = install({ '/api/v1/serviceaccounts': forbidden('serviceaccounts is forbidden') });

    await expect(installing).rejects.toThrow('the ServiceAccounts cannot be listed: serviceaccounts is forbidden');
  });
});

/** The live webhook configuration of the agent in this Namespace. */
function installed(namespace = 'fleetrelay'): KubeAnswer {
  const labels = { 'app.kubernetes.io/part-of': 'fleetrelay' };
  const webhooks = [{ clientConfig: { service: { name: 'fleetrelay-agent-webhook', namespace } } }];
  return { type: 'ok', status: 200, body: { metadata: { resourceVersion: '1', uid: 'a', labels }, webhooks } };
}

/** A dry run on an API server where everything exists, except for the given answers to GET, by the end of the path. */
function install(answers: Readonly<Record<string, KubeAnswer>>) {
  const client: Pick<KubeClient, 'server' | 'request'> = {
    server: 'https://api.example.com',
    request: async ({ method, path }) => {
      const [, given] = Object.entries(answers).find(([end]) => method === 'GET' && path.endsWith(end)) ?? [];
      return given ?? { type: 'ok', status: 200, body: { metadata: { resourceVersion: '1', uid: 'a' }, items: [] } };
    },
  };
  const kube = {
    client: client as KubeClient,
    catalog: everyKind(),
    namespace: 'fleetrelay',
    [Symbol.asyncDispose]: async () => undefined,
  };
  const options = { server: 'relay.example.com:9900', image: 'fleetrelay', namespace: kube.namespace };
  const cluster = must(parseClusterName('east'));
  const applying = { dryRun: true, force: false, progress: () => undefined };
  return installAgent(kube, { ...options, cluster, writable: ['web'] }, applying);
}

function everyKind(): ApiCatalog {
  const find: ApiCatalog['find'] = (group, kind, version = 'v1') => ({
    ...{ group, version, kind, resource: `${kind.toLowerCase()}s`, namespaced: true },
    ...{ verbs: [], subresources: [] },
  });
  return { find, resources: [], preferred: [], unreadableGroups: new Set() };
}

function forbidden(message: string): KubeAnswer {
  return { type: 'refused', status: 403, refusal: { reason: 'Forbidden', message, causes: [] } };
}
