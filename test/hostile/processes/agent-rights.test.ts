import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentKubeconfig } from '../../../scripts/local/agent-kubeconfig.ts';
import type { WritableNamespaces } from '../../../src/compose/manifests/agent-rights.ts';
import { agentRights } from '../../../src/compose/manifests/agent-roles.ts';
import { remediateConfiguration } from '../../../src/domains/care/model/remediate.ts';
import { webhookConfiguration } from '../../../src/domains/health/adapters/admission/webhook-configuration.ts';
import { until } from '../../support/fleet-processes.ts';
import { type ApiAnswer, type ApiRequests, createApiRequests } from '../../support/kubernetes/api-request.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';

/** A stolen ServiceAccount of an agent tries to reach the control plane of its cluster, and the management server in it. */

const AGENT = 'system:serviceaccount:fleetrelay:fleetrelay-agent';
const PROTECTED = ['kube-system', 'fleetrelay-server', 'fleetrelay'];
const RBAC = 'rbac.authorization.k8s.io';
const FURTHER: readonly string[] = ['secrets', 'rbac', 'crds', 'care', 'tunnel', 'webhooks'];

let plane: ControlPlane;
let admin: ApiRequests;
let agent: ApiRequests;

beforeAll(async () => {
  if (noProgram('kube-apiserver')) return;
  plane = await startControlPlane();
  admin = createApiRequests(plane);
  for (const name of ['fleetrelay-server', 'web', 'shop']) {
    await admin.send('POST', '/api/v1/namespaces', { metadata: { name } });
  }
  agent = await agentWith('all', FURTHER);
});
afterAll(async () => {
  agent?.close();
  admin?.close();
  await plane?.stop();
});

describe.skipIf(noProgram('kube-apiserver'))('an agent that may write in all Namespaces', () => {
  it('writes in a Namespace of the fleet', async () => {
    expect(await statusOf(agent.send('POST', deployments('web'), deployment('web')))).toBe(201);
  });

  it('lists the events that say whether an autoscaler adds nodes for a Pod, and reads no single event', async () => {
    const events = '/api/v1/namespaces/web/events';
    const query = 'fieldSelector=involvedObject.kind%3DPod%2Creason%3DTriggeredScaleUp&limit=500';
    expect(await statusOf(agent.send('GET', `${events}?${query}`))).toBe(200);
    expect(await statusOf(agent.send('GET', `${events}/one`))).toBe(403);
  });

  it.each(PROTECTED)('makes no workload in %s, though RBAC lets it', async (namespace) => {
    expect(await may('create', 'deployments', 'apps', namespace)).toBe(true);
    for (const [path, body] of [
      [deployments(namespace), deployment('hostile')],
      [`/apis/apps/v1/namespaces/${namespace}/daemonsets`, { ...deployment('hostile'), kind: 'DaemonSet' }],
      [`/apis/batch/v1/namespaces/${namespace}/jobs`, job()],
      [`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'hostile' } }],
      [`/apis/${RBAC}/v1/namespaces/${namespace}/roles`, { metadata: { name: 'hostile' }, rules: [] }],
      [`/api/v1/namespaces/${namespace}/secrets`, { metadata: { name: 'hostile' } }],
    ] as const) {
      expectProtected(await agent.send('POST', path, body), namespace);
    }
  });

  it.each(PROTECTED)('neither changes nor removes what is in %s, nor the Namespace itself', async (namespace) => {
    const name = 'theirs';
    await admin.send('POST', `/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name } });
    const configMap = `/api/v1/namespaces/${namespace}/configmaps/${name}`;
    expectProtected(await merge(configMap, { data: { a: 'b' } }), namespace);
    expectProtected(await agent.send('DELETE', configMap), namespace);
    const annotations = { 'fleetrelay.dev/paused': 'true' };
    expectProtected(await merge(`/api/v1/namespaces/${namespace}`, { metadata: { annotations } }), namespace);
    // The API server itself guards kube-system against its removal, before policies are asked.
    if (namespace === 'kube-system') return;
    expectProtected(await agent.send('DELETE', `/api/v1/namespaces/${namespace}`), namespace);
  });

  it('does in its own Namespace what an agent has to, and nothing else', async () => {
    const own = '/api/v1/namespaces/fleetrelay';
    const leases = '/apis/coordination.k8s.io/v1/namespaces/fleetrelay/leases';
    expect(await statusOf(agent.send('POST', leases, { metadata: { name: 'fleetrelay-agent' } }))).toBe(201);
    expectProtected(await agent.send('POST', leases, { metadata: { name: 'other' } }), 'fleetrelay');
    for (const name of ['fleetrelay-inventory', 'fleetrelay-inventory-1-1-0', 'fleetrelay-remediations']) {
      expect(await statusOf(agent.send('POST', `${own}/configmaps`, { metadata: { name } })), name).toBe(201);
      expect(await statusOf(agent.send('DELETE', `${own}/configmaps/${name}`)), name).toBe(200);
    }
    const settings = { metadata: { name: 'fleetrelay-agent-settings' }, data: { server: 'hostile.example.com:1' } };
    expectProtected(await agent.send('POST', `${own}/configmaps`, settings), 'fleetrelay');
    expect(await statusOf(applySecret('fleetrelay-agent-credentials'))).toBe(201);
    expectProtected(await applySecret('fleetrelay-agent-token'), 'fleetrelay');
  });

  it('gives its rights to no other account of the whole cluster', async () => {
    const roleRef = { apiGroup: RBAC, kind: 'ClusterRole', name: 'fleetrelay-agent-apply' };
    const subjects = [{ kind: 'ServiceAccount', name: 'default', namespace: 'web' }];
    const bindings = { metadata: { name: 'hostile' }, roleRef, subjects };
    const refused = await agent.send('POST', `/apis/${RBAC}/v1/clusterrolebindings`, bindings);
    expect([refused.status, refused.body.message]).toEqual([403, expect.stringContaining('could pass on rights')]);
    const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' };
    const rules = [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['create'] }];
    const role = { metadata: { name: 'hostile', labels }, rules };
    const widened = await agent.send('POST', `/apis/${RBAC}/v1/clusterroles`, role);
    expect([widened.status, widened.body.message]).toEqual([403, expect.stringContaining('could pass on rights')]);
    // In one Namespace of the fleet it may.
    expect(await statusOf(agent.send('POST', `/apis/${RBAC}/v1/namespaces/web/rolebindings`, bindings))).toBe(201);
  });

  it('mends webhooks, and sends no request to a webhook of its own', async () => {
    const path = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
    await admin.send('POST', path, webhookConfiguration({ namespace: 'fleetrelay', name: 'theirs' }));
    await admin.send('POST', path, webhookConfiguration({ namespace: 'fleetrelay' }));
    const change = (name: string, change: object): Promise<ApiAnswer> =>
      agent.send(
        'PATCH',
        `${path}/${name}`,
        { webhooks: [{ name: 'pods.probe-proxy.fleetrelay.dev', ...change }] },
        'application/strategic-merge-patch+json',
      );
    const selector = { matchLabels: { a: 'b' } };
    expect(
      await statusOf(change('fleetrelay-agent', { failurePolicy: 'Ignore', clientConfig: { caBundle: '' } })),
    ).toBe(200);
    const rules = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'], scope: '*' }];
    for (const [name, hostile] of [
      ['theirs', { clientConfig: { service: { name: 'hostile', namespace: 'web' } } }],
      ['theirs', { rules }],
      ['theirs', { namespaceSelector: selector }],
      ['theirs', { clientConfig: { caBundle: Buffer.from('x').toString('base64') } }],
      // No webhook for Pods has to ignore failures: selectors leave out those that a cluster needs.
      ['theirs', { failurePolicy: 'Ignore' }],
      ['fleetrelay-agent', { rules }],
      ['fleetrelay-agent', { namespaceSelector: selector }],
      ['fleetrelay-agent', { timeoutSeconds: 1 }],
    ] as const) {
      const { status, body } = await change(name, hostile);
      expect([status, body.message]).toEqual([403, expect.stringContaining('whom a webhook calls')]);
    }
  });

  describe.each(['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'])('of a %s', (kind) => {
    const path = `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}s`;
    const clientConfig = { service: { name: 'theirs', namespace: 'web', path: '/' } };
    const rule = { apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'], scope: '*' };
    const kept = { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['playground'] };
    const webhook = {
      ...{ name: 'all.example.com', clientConfig, rules: [rule], admissionReviewVersions: ['v1'], timeoutSeconds: 30 },
      ...{ sideEffects: 'None', failurePolicy: 'Fail', matchConditions: [{ name: 'a', expression: 'true' }] },
      ...{ namespaceSelector: { matchExpressions: [kept] } },
    };
    const ofPods = { ...webhook, name: 'pods.example.com', rules: [{ ...rule, resources: ['pods'] }] };
    const configuration = {
      ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind, webhooks: [webhook, ofPods] },
      metadata: { name: 'broad', labels: { app: 'theirs' }, annotations: { note: 'theirs' } },
    };
    const patch = (body: object, form = 'application/strategic-merge-patch+json'): Promise<ApiAnswer> =>
      agent.send('PATCH', `${path}/broad?dryRun=All`, body, form);
    const change = (of: object) => ({ webhooks: [{ name: 'all.example.com', ...of }] });
    const notIn = (key: string, value: string) => ({ key, operator: 'NotIn', values: [value] });

    beforeAll(async () => {
      if (!noProgram('kube-apiserver')) expect(await statusOf(admin.send('POST', path, configuration))).toBe(201);
    });
    // Nothing answers it, and it judges everything.
    afterAll(() => (noProgram('kube-apiserver') ? undefined : admin.send('DELETE', `${path}/broad`)));

    it('makes every change of the remediator', async () => {
      const live = (await admin.send('GET', `${path}/broad`)).body;
      const { configuration: mended, changes } = remediateConfiguration(live);
      expect(new Set(changes.map(({ field }) => field)).size).toBe(4);
      const { status, body } = await patch({
        metadata: { annotations: (mended.metadata as { readonly annotations: object }).annotations },
        webhooks: mended.webhooks as object,
      });
      expect([status, body.message]).toEqual([200, undefined]);
      expect(remediateConfiguration(body).changes).toEqual([]);
    });

    it.each<[string, object, string?]>([
      ['removes all webhooks', { webhooks: [] }, 'application/merge-patch+json'],
      ['leaves the list out', { webhooks: null }, 'application/merge-patch+json'],
      ['removes one', { webhooks: [{ $patch: 'delete', name: 'all.example.com' }] }],
      ['adds one', { webhooks: [{ ...ofPods, name: 'more.example.com' }] }],
      ['renames one', { webhooks: [webhook, { ...ofPods, name: 'x.example.com' }] }, 'application/merge-patch+json'],
      ['sets a condition that is never true', change({ matchConditions: [{ name: 'a', expression: 'false' }] })],
      ['adds a condition', change({ matchConditions: [{ name: 'b', expression: 'false' }] })],
      ['selects no namespace', change({ namespaceSelector: { matchLabels: { a: 'b' } } })],
      ['selects no object', change({ objectSelector: { matchLabels: { a: 'b' } } })],
      ['leaves a namespace out', change({ namespaceSelector: { matchExpressions: [kept, notIn(kept.key, 'web')] } })],
      ['leaves objects out', change({ objectSelector: { matchExpressions: [notIn('app', 'mine')] } })],
      ['leaves all objects out', change({ objectSelector: { matchExpressions: [{ key: 'a', operator: 'Exists' }] } })],
      ['selects more namespaces', change({ namespaceSelector: { matchExpressions: [] } })],
      [
        'leaves out objects of the cluster where no rule needs it',
        {
          webhooks: [
            { name: 'pods.example.com', objectSelector: { matchExpressions: [notIn(kept.key, 'kube-system')] } },
          ],
        },
      ],
      ['ignores failures of a webhook for Pods', { webhooks: [{ name: 'pods.example.com', failurePolicy: 'Ignore' }] }],
      ['lets it time out at once', change({ timeoutSeconds: 1 })],
      ['lets a webhook for Pods time out early', { webhooks: [{ name: 'pods.example.com', timeoutSeconds: 3 }] }],
      ['trusts another authority', change({ clientConfig: { caBundle: Buffer.from('x').toString('base64') } })],
      ['calls another service', change({ clientConfig: { service: { name: 'mine', namespace: 'web' } } })],
      ['judges fewer requests', change({ rules: [{ ...rule, operations: ['CONNECT'] }] })],
      ['matches exactly', change({ matchPolicy: 'Exact' })],
      ['has side effects, so that dry runs fail', change({ sideEffects: 'NoneOnDryRun' })],
      ['gives it an owner that is gone', { metadata: { ownerReferences: [gone()] } }],
      ['holds its removal', { metadata: { finalizers: ['example.com/mine'] } }],
      ['takes it out of the remediator', { metadata: { labels: { app: 'mine' } } }],
      [
        'lets another program write it',
        { metadata: { annotations: { 'cert-manager.io/inject-ca-from': 'web/mine' } } },
      ],
      ['removes a note', { metadata: { annotations: { note: null } } }],
    ])('%s: refused', async (_, body, form) => {
      const { status, body: answer } = await patch(body, form);
      expect([status, answer.message]).toEqual([403, expect.stringContaining('only as its remediator does')]);
    });
  });

  it('has no way into Pods, no tokens of others, and no right to the policy', async () => {
    for (const namespace of ['web', ...PROTECTED]) {
      for (const subresource of ['exec', 'attach', 'ephemeralcontainers']) {
        for (const verb of ['create', 'patch', 'get']) {
          expect(await may(verb, 'pods', '', namespace, subresource), `${verb} ${subresource}`).toBe(false);
        }
      }
      expect(await may('create', 'pods', '', namespace)).toBe(false);
      expect(await may('create', 'serviceaccounts', '', namespace, 'token')).toBe(false);
    }
    const policies = '/apis/admissionregistration.k8s.io/v1';
    for (const kind of ['validatingadmissionpolicies', 'validatingadmissionpolicybindings']) {
      for (const verb of ['create', 'update', 'patch', 'delete', 'deletecollection']) {
        expect(await may(verb, kind, 'admissionregistration.k8s.io', ''), `${verb} ${kind}`).toBe(false);
      }
      const path = `${policies}/${kind}/fleetrelay-agent`;
      expect(await statusOf(agent.send('DELETE', path))).toBe(403);
      expect(await statusOf(merge(path, { metadata: { labels: { a: 'b' } } }))).toBe(403);
      expect(await statusOf(admin.send('GET', path))).toBe(200);
    }
  });

  it('is refused a way into Pods of protected Namespaces even where a role gives it', async () => {
    const rules = [
      { apiGroups: [''], resources: ['pods/exec', 'pods/ephemeralcontainers', 'pods/portforward'], verbs: ['*'] },
      { apiGroups: [''], resources: ['pods', 'serviceaccounts/token'], verbs: ['*'] },
    ];
    const labels = { 'rbac.fleetrelay.dev/aggregate-to-agent': 'true' };
    await admin.send('POST', `/apis/${RBAC}/v1/clusterroles`, { metadata: { name: 'more', labels }, rules });
    // There is no controller here that adds it to the agent's own.
    const subjects = [{ kind: 'ServiceAccount', name: 'fleetrelay-agent', namespace: 'fleetrelay' }];
    const roleRef = { apiGroup: RBAC, kind: 'ClusterRole', name: 'more' };
    await admin.send('POST', `/apis/${RBAC}/v1/clusterrolebindings`, { metadata: { name: 'more' }, roleRef, subjects });
    await until('the right is there', () => may('create', 'pods', '', 'kube-system', 'exec'));
    for (const namespace of PROTECTED) {
      await admin.send('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } });
      const pods = `/api/v1/namespaces/${namespace}/pods`;
      const pod = { metadata: { name: 'theirs' }, spec: harmlessPod() };
      expect((await admin.send('POST', pods, pod)).body.message).toBeUndefined();
      expectProtected(await agent.send('POST', `${pods}/theirs/exec?command=sh&stdout=true`), namespace);
      expectProtected(await agent.send('POST', pods, { ...pod, metadata: { name: 'hostile' } }), namespace);
      const token = `/api/v1/namespaces/${namespace}/serviceaccounts/default/token`;
      expectProtected(await agent.send('POST', token, { spec: {} }), namespace);
    }
  });

  it('leaves requests of other users alone', async () => {
    expect(await statusOf(admin.send('POST', deployments('kube-system'), deployment('by-admin')))).toBe(201);
  });
});

describe.skipIf(noProgram('kube-apiserver'))('an agent that may write in named Namespaces', () => {
  let named: ApiRequests;

  beforeAll(async () => {
    // What an installation takes away when it is narrowed.
    for (const manifest of agentRights({ namespace: 'fleetrelay', writable: 'all', access: FURTHER })) {
      const { name, namespace } = manifest.metadata as { readonly name: string; readonly namespace?: string };
      const where = namespace === undefined ? 'clusterrolebindings' : `namespaces/${namespace}/rolebindings`;
      if (/Binding$/.test(String(manifest.kind))) await admin.send('DELETE', `/apis/${RBAC}/v1/${where}/${name}`);
    }
    await admin.send('DELETE', `/apis/${RBAC}/v1/clusterrolebindings/more`);
    named = await agentWith(['web'], ['secrets', 'rbac']);
  });
  afterAll(() => named?.close());

  it('has by RBAC alone no right to write elsewhere', async () => {
    await until('the rights are there', () => may('create', 'deployments', 'apps', 'web'));
    await until('the rights of before are gone', async () => !(await may('create', 'deployments', 'apps', 'shop')));
    for (const namespace of ['shop', 'default', 'kube-system', 'fleetrelay-server', '']) {
      for (const [kind, group] of [
        ['deployments', 'apps'],
        ['daemonsets', 'apps'],
        ['jobs', 'batch'],
        ['configmaps', ''],
        ['secrets', ''],
        ['rolebindings', RBAC],
      ] as const) {
        for (const verb of ['create', 'patch', 'delete']) {
          expect(await may(verb, kind, group, namespace), `${verb} ${kind} in "${namespace}"`).toBe(false);
        }
      }
      expect(await may('get', 'secrets', '', namespace)).toBe(false);
      expect(await may('list', 'configmaps', '', namespace)).toBe(false);
    }
    expect(await statusOf(named.send('POST', deployments('shop'), deployment('hostile')))).toBe(403);
    expect(await statusOf(named.send('POST', deployments('web'), deployment('ours')))).toBe(201);
  });

  it('applies these Namespaces themselves, and no other', async () => {
    const namespace = (name: string): Promise<number> =>
      statusOf(
        named.send(
          'PATCH',
          `/api/v1/namespaces/${name}?fieldManager=fleetrelay`,
          { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { team: 'a' } } },
          'application/apply-patch+yaml',
        ),
      );
    expect(await namespace('web')).toBe(200);
    expect(await namespace('shop')).toBe(403);
    expect(await namespace('new')).toBe(403);
  });

  it('gives to others what it may do there, and no more', async () => {
    const roles = `/apis/${RBAC}/v1/namespaces/web/roles`;
    const role = (resources: readonly string[]) => ({
      metadata: { name: resources.join('-') },
      rules: [{ apiGroups: [''], resources, verbs: ['create'] }],
    });
    expect(await statusOf(named.send('POST', roles, role(['configmaps'])))).toBe(201);
    expect(await statusOf(named.send('POST', roles, role(['pods'])))).toBe(403);
    const everywhere = `/apis/${RBAC}/v1/clusterroles`;
    expect(await statusOf(named.send('POST', everywhere, role(['configmaps'])))).toBe(403);
  });
});

async function agentWith(writable: WritableNamespaces, access: readonly string[]): Promise<ApiRequests> {
  const path = await agentKubeconfig(plane, 'fleetrelay', access, writable);
  const { users } = JSON.parse(await readFile(path, 'utf8'));
  const requests = createApiRequests(plane, 4, users[0].user.token);
  if (writable === 'all') {
    // An API server takes a policy into account a moment after it was made.
    const probe = `${deployments('kube-system')}?dryRun=All`;
    await until('the policy is in force', async () => {
      const { status, body } = await requests.send('POST', probe, deployment('probe'));
      return status === 403 && /is protected/.test(body.message);
    });
  }
  return requests;
}

function gone() {
  const uid = '0a1b2c3d-0000-4000-8000-000000000000';
  return { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'gone', uid };
}

function merge(path: string, body: unknown): Promise<ApiAnswer> {
  return agent.send('PATCH', path, body, 'application/merge-patch+json');
}

function applySecret(name: string): Promise<ApiAnswer> {
  const path = `/api/v1/namespaces/fleetrelay/secrets/${name}?fieldManager=fleetrelay`;
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name } };
  return agent.send('PATCH', path, secret, 'application/apply-patch+yaml');
}

function expectProtected({ status, body }: ApiAnswer, namespace: string): void {
  expect([status, body.message]).toEqual([403, expect.stringContaining(`the Namespace ${namespace} is protected`)]);
}

async function statusOf(answer: Promise<ApiAnswer>): Promise<number> {
  return (await answer).status;
}

async function may(
  verb: string,
  resource: string,
  group: string,
  namespace: string,
  subresource?: string,
): Promise<boolean> {
  const { body } = await admin.send('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    spec: {
      user: AGENT,
      groups: ['system:serviceaccounts', 'system:serviceaccounts:fleetrelay', 'system:authenticated'],
      resourceAttributes: { verb, resource, group, namespace, subresource },
    },
  });
  return body.status.allowed;
}

function deployments(namespace: string): string {
  return `/apis/apps/v1/namespaces/${namespace}/deployments`;
}

/** A Pod that the Pod Security level "restricted" admits. */
function harmlessPod() {
  const securityContext = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
  return {
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [{ name: 'a', image: 'a', securityContext }],
  };
}

function template() {
  return { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'a', image: 'a' }] } };
}

function deployment(name: string) {
  return { metadata: { name }, spec: { selector: { matchLabels: { a: 'b' } }, template: template() } };
}

function job() {
  const { spec } = template();
  return { metadata: { name: 'hostile' }, spec: { template: { spec: { ...spec, restartPolicy: 'Never' } } } };
}
