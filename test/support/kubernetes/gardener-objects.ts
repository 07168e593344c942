import { roleObjects } from '../../../src/compose/manifests/agent-roles.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { AGENT_NAMESPACE, type KubernetesTestCluster } from './clusters.ts';

/** What a Gardener would have made of a Shoot with one worker pool, `worker`, in real clusters. */

export const CONTROL_PLANE = 'shoot--web--blue';

/** A Node of the pool, ready. Its Leases are valid for an hour. */
export async function addNode({ api }: KubernetesTestCluster, name: string): Promise<void> {
  await expectMade(
    api.send('POST', '/api/v1/nodes', {
      ...{ apiVersion: 'v1', kind: 'Node' },
      metadata: {
        name,
        labels: { 'worker.gardener.cloud/pool': 'worker' },
        annotations: { 'checksum/cloud-config-data': 'one' },
      },
    }),
  );
  await setReady(api, name, true);
  for (const [namespace, lease] of [
    ['kube-node-lease', name],
    ['kube-system', `gardener-node-agent-${name}`],
  ] as const) {
    await api.apply(`/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${lease}`, leaseOf(namespace, lease));
  }
}

/** Sets the condition Ready of a Node, as a kubelet does. */
export async function setReady(api: KubernetesTestCluster['api'], name: string, isReady: boolean): Promise<void> {
  const condition = isReady
    ? { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is ready' }
    : { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: 'PLEG is not healthy' };
  const status = { conditions: [condition], nodeInfo: nodeInfo() };
  await expectMade(api.send('PATCH', `/api/v1/nodes/${name}/status`, { status }, 'application/merge-patch+json'));
}

/** The operating system config and the tunnel of a Shoot's cluster. */
export async function prepareShootCluster({ api }: KubernetesTestCluster): Promise<void> {
  await expectMade(
    api.send('POST', '/api/v1/namespaces/kube-system/secrets', {
      ...{ apiVersion: 'v1', kind: 'Secret' },
      metadata: {
        name: 'osc-result-worker',
        labels: { 'gardener.cloud/role': 'operating-system-config', 'worker.gardener.cloud/pool': 'worker' },
        annotations: { 'checksum/data-script': 'one' },
      },
      stringData: { script: 'must stay here' },
    }),
  );
  await expectMade(
    api.send('POST', '/api/v1/namespaces/kube-system/pods', {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'vpn-shoot', labels: { type: 'tunnel' } } },
      spec: { containers: [{ name: 'vpn', image: 'vpn' }] },
    }),
  );
  await expectMade(
    api.send('PATCH', '/api/v1/namespaces/kube-system/pods/vpn-shoot/status', { status: { phase: 'Running' } }, MERGE),
  );
}

/** A healthy control plane in the Seed, with the rights of the agent to see it. */
export async function prepareSeed({ api, plane }: KubernetesTestCluster): Promise<void> {
  await plane.kubectl(['create', 'namespace', CONTROL_PLANE]);
  const rights = roleObjects('care', {
    namespace: AGENT_NAMESPACE,
    writable: 'all',
    accessNamespaces: { care: [CONTROL_PLANE] },
  });
  await plane.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { input: listOf(rights) });
  await plane.kubectl(['apply', '--server-side', '-f', '-'], { input: listOf(DEFINITIONS.map(definition)) });
  await plane.kubectl(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
  const objects = controlPlane();
  await plane.kubectl(['apply', '--server-side', '-f', '-'], { input: listOf(objects) });
  for (const name of DEPLOYMENTS) await setAvailable(api, name, true);
  await setAvailable(api, 'kube-state-metrics', true);
}

/** Sets the condition Available of a Deployment of the control plane, as a controller does. */
export async function setAvailable(api: KubernetesTestCluster['api'], name: string, isSo: boolean): Promise<void> {
  const path = `/apis/apps/v1/namespaces/${CONTROL_PLANE}/deployments/${name}`;
  const { body } = await api.send('GET', path);
  const reason = isSo ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable';
  const conditions = [{ type: 'Available', status: isSo ? 'True' : 'False', reason, message: 'as the test says' }];
  const status = { observedGeneration: body.metadata.generation, conditions };
  await expectMade(api.send('PATCH', `${path}/status`, { status }, MERGE));
}

const MERGE = 'application/merge-patch+json';

const DEPLOYMENTS = [
  ...['gardener-resource-manager', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'],
  ...['machine-controller-manager', 'vpa-admission-controller', 'vpa-recommender', 'vpa-updater'],
];

/** Group, kind and plural of the kinds that the Seed must have. */
const DEFINITIONS = [
  ['druid.gardener.cloud', 'Etcd', 'etcds', 'v1alpha1'],
  ['resources.gardener.cloud', 'ManagedResource', 'managedresources', 'v1alpha1'],
  ['machine.sapcloud.io', 'Machine', 'machines', 'v1alpha1'],
  ['machine.sapcloud.io', 'MachineDeployment', 'machinedeployments', 'v1alpha1'],
  ['extensions.gardener.cloud', 'Worker', 'workers', 'v1alpha1'],
] as const;

function controlPlane(): readonly JsonObject[] {
  const inNamespace = (apiVersion: string, kind: string, name: string, rest: JsonObject): JsonObject => ({
    ...{
      apiVersion,
      kind,
      metadata: { name, namespace: CONTROL_PLANE, labels: { 'gardener.cloud/role': 'controlplane' } },
    },
    ...rest,
  });
  const monitoring = deployment('kube-state-metrics', 'monitoring');
  const replicas = { spec: { replicas: 1 } };
  return [
    ...DEPLOYMENTS.map((name) => deployment(name, 'controlplane')),
    monitoring,
    ...['etcd-main', 'etcd-events'].map((name) =>
      inNamespace('druid.gardener.cloud/v1alpha1', 'Etcd', name, { status: { ready: true } }),
    ),
    inNamespace('machine.sapcloud.io/v1alpha1', 'MachineDeployment', 'worker', replicas),
    inNamespace('machine.sapcloud.io/v1alpha1', 'Machine', 'worker-one', {
      metadata: { name: 'worker-one', namespace: CONTROL_PLANE, labels: { node: 'one' } },
      status: { currentStatus: { phase: 'Running' } },
    }),
    inNamespace('extensions.gardener.cloud/v1alpha1', 'Worker', 'blue', { spec: { type: 'local' } }),
  ];
}

function deployment(name: string, role: string): JsonObject {
  const labels = { app: name };
  return {
    ...{ apiVersion: 'apps/v1', kind: 'Deployment' },
    metadata: { name, namespace: CONTROL_PLANE, labels: { 'gardener.cloud/role': role } },
    spec: {
      ...{ replicas: 1, selector: { matchLabels: labels } },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: name }] } },
    },
  };
}

/** A definition that takes every object; its status is no subresource. */
function definition([group, kind, plural, version]: (typeof DEFINITIONS)[number]): JsonObject {
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
    metadata: { name: `${plural}.${group}` },
    spec: {
      ...{ group, scope: 'Namespaced', names: { kind, plural, singular: kind.toLowerCase() } },
      versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}

function leaseOf(namespace: string, name: string): JsonObject {
  return {
    ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name, namespace } },
    spec: {
      holderIdentity: name,
      leaseDurationSeconds: 3_600,
      renewTime: `${new Date().toISOString().slice(0, -1)}000Z`,
    },
  };
}

function nodeInfo(): JsonObject {
  const unknown = ['machineID', 'systemUUID', 'bootID', 'kernelVersion', 'osImage', 'containerRuntimeVersion'];
  return {
    ...Object.fromEntries([...unknown, 'kubeProxyVersion'].map((field) => [field, 'test'])),
    ...{ kubeletVersion: 'v1.33.2', operatingSystem: 'linux', architecture: 'amd64' },
  };
}

function listOf(items: readonly JsonObject[]): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
}

async function expectMade(answer: ReturnType<KubernetesTestCluster['api']['send']>): Promise<void> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`the API server said ${status}: ${JSON.stringify(body)}`);
}
