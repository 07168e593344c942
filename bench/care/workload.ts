import type { LiveObject } from '../../src/model/agent/agent.ts';
import type { FileReading } from '../../src/model/fleet/desired.ts';
import { objectKey, refOfObject } from '../../src/model/objects/object-key.ts';
import { objectDigest } from '../../src/model/text/digest.ts';
import type { JsonObject } from '../../src/model/text/json.ts';
import { must } from '../../src/model/values/result.ts';
import { decodeFile } from '../../test/support/decode-file.ts';

/** The workload: 1,000 Shoots of 100 objects and 20 Nodes each in 10 Seeds, and one Shoot more with 5,000 Nodes. */
export const shootCount = 1_000;
const seedCount = 10;
export const nodeCount = 20;
const objectCount = 100;
export const wideNodeCount = 5_000;

/** When everything was found good, in milliseconds since 1970. */
export const GOOD_SINCE = 1_767_603_600_000;

const SHOOTS = 'garden-fleet';
const POOL = 'worker';

/** The inputs of one Shoot. */
export interface ShootInputs {
  readonly key: string;
  readonly cluster: string;
  readonly seed: string;
  readonly files: readonly { readonly path: string; readonly reading: FileReading }[];
  readonly inCluster: readonly LiveObject[];
  readonly inSeed: readonly LiveObject[];
}

/** Builds the inputs of all Shoots, the same ones each time; the last Shoot is the wide one. */
export function buildShoots(): readonly ShootInputs[] {
  const numbers = Array.from({ length: shootCount }, (_none, at) => at);
  return [...numbers.map((at) => shootInputs(at, nodeCount)), shootInputs(shootCount, wideNodeCount)];
}

/** The files that declare the Seeds. */
export function seedFiles(): ShootInputs['files'] {
  return Array.from({ length: seedCount }, (_none, at) => file(`seeds/${at}.yaml`, kubernetesCluster(`seed-${at}`)));
}

/** A Node of a Shoot as it is while it is ready or not. */
export function node(at: number, isReady: boolean): LiveObject {
  const kubelet = { kubeletVersion: 'v1.33.2' };
  return liveObject({
    ...{ apiVersion: 'v1', kind: 'Node' },
    metadata: {
      name: nodeName(at),
      labels: { 'worker.gardener.cloud/pool': POOL },
      annotations: { 'checksum/cloud-config-data': 'one' },
    },
    spec: {},
    status: {
      nodeInfo: kubelet,
      conditions: [
        { type: 'Ready', status: isReady ? 'True' : 'False', reason: isReady ? 'KubeletReady' : 'KubeletNotReady' },
        ...['DiskPressure', 'MemoryPressure', 'PIDPressure'].map((type) => ({ type, status: 'False' })),
      ],
    },
  });
}

function shootInputs(at: number, nodes: number): ShootInputs {
  const name = `s${at}`;
  const seed = `seed-${at % seedCount}`;
  const namespace = `shoot--fleet--${name}`;
  const control = controlPlane(namespace, nodes);
  const filled = objectCount - nodeCount - control.length;
  const own = [
    ...Array.from({ length: nodes }, (_none, index) => node(index, true)),
    liveObject({
      ...{ apiVersion: 'internal.fleetrelay.dev/v1', kind: 'ApiServerProbe', metadata: { name: 'healthz' } },
      status: { code: 200 },
    }),
    liveObject({
      ...{ apiVersion: 'internal.fleetrelay.dev/v1', kind: 'LeaseReport', metadata: { name: 'leases' } },
      status: { valid: leasesOf(nodes), expired: [] },
    }),
    liveObject({
      ...{ apiVersion: 'v1', kind: 'Secret' },
      metadata: {
        ...{ name: 'osc', namespace: 'kube-system' },
        labels: { 'gardener.cloud/role': 'operating-system-config', 'worker.gardener.cloud/pool': POOL },
        annotations: { 'checksum/data-script': 'one' },
      },
    }),
    liveObject({
      ...{ apiVersion: 'v1', kind: 'Pod' },
      metadata: { name: 'vpn', namespace: 'kube-system', labels: { type: 'tunnel' } },
      status: { phase: 'Running' },
    }),
    ...Array.from({ length: Math.max(0, filled) }, (_none, index) =>
      liveObject({
        ...{ apiVersion: 'v1', kind: 'ServiceAccount' },
        metadata: { name: `account-${index}`, namespace: 'default' },
      }),
    ),
  ];
  return {
    ...{ key: `${SHOOTS}/${name}`, cluster: name, seed, inCluster: own, inSeed: control },
    files: [
      file(`clusters/${name}.yaml`, kubernetesCluster(name)),
      file(`shoots/${name}.yaml`, shoot(name, seed, nodes)),
    ],
  };
}

function controlPlane(namespace: string, nodes: number): readonly LiveObject[] {
  const required = ['gardener-resource-manager', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
  const workers = ['machine-controller-manager', 'vpa-admission-controller', 'vpa-recommender', 'vpa-updater'];
  const deployments = [...required, ...workers].map((name) => deployment(namespace, name, 'controlplane'));
  const etcds = ['etcd-main', 'etcd-events'].map((name) => ({
    ...{ apiVersion: 'druid.gardener.cloud/v1alpha1', kind: 'Etcd' },
    metadata: { name, namespace, labels: { 'gardener.cloud/role': 'controlplane' } },
    status: { ready: true },
  }));
  const extensions = ['ControlPlane', 'Infrastructure', 'Network', 'Worker'].map((kind) => ({
    ...{ apiVersion: 'extensions.gardener.cloud/v1alpha1', kind, metadata: { name: 'own', namespace } },
    spec: { type: 'local' },
    status: { conditions: [{ type: 'ControlPlaneHealthy', status: 'True', reason: 'HealthCheckSuccessful' }] },
  }));
  const managed = Array.from({ length: 12 }, (_none, index) => managedResource(namespace, `part-${index}`));
  const machines = Array.from({ length: nodes }, (_none, index) => ({
    ...{ apiVersion: 'machine.sapcloud.io/v1alpha1', kind: 'Machine' },
    metadata: { name: `machine-${index}`, namespace, labels: { node: nodeName(index) } },
    status: { currentStatus: { phase: 'Running' } },
  }));
  const machineDeployment = {
    ...{ apiVersion: 'machine.sapcloud.io/v1alpha1', kind: 'MachineDeployment' },
    metadata: { name: POOL, namespace },
    spec: { replicas: nodes },
    status: { conditions: [] },
  };
  const objects: readonly JsonObject[] = [
    ...[...deployments, deployment(namespace, 'kube-state-metrics', 'monitoring'), ...etcds, ...extensions],
    ...[...managed, machineDeployment, ...machines],
  ];
  return objects.map(liveObject);
}

function shoot(name: string, seed: string, nodes: number): JsonObject {
  return {
    ...{ apiVersion: 'core.gardener.cloud/v1beta1', kind: 'Shoot', metadata: { name, namespace: SHOOTS } },
    spec: {
      ...{ seedName: seed, purpose: 'production', kubernetes: { version: '1.33.2' } },
      provider: { type: 'local', workers: [{ name: POOL, minimum: nodes, maximum: nodes }] },
    },
  };
}

function kubernetesCluster(name: string): JsonObject {
  return {
    ...{ apiVersion: 'admin.gloo.solo.io/v2', kind: 'KubernetesCluster' },
    metadata: { name, namespace: 'fleetrelay' },
  };
}

function deployment(namespace: string, name: string, role: string): JsonObject {
  return {
    ...{ apiVersion: 'apps/v1', kind: 'Deployment' },
    metadata: { name, namespace, generation: 1, labels: { 'gardener.cloud/role': role } },
    spec: { replicas: 1 },
    status: { observedGeneration: 1, conditions: [{ type: 'Available', status: 'True' }] },
  };
}

function managedResource(namespace: string, name: string): JsonObject {
  const conditions = [
    { type: 'ResourcesApplied', status: 'True' },
    { type: 'ResourcesHealthy', status: 'True' },
    { type: 'ResourcesProgressing', status: 'False' },
  ];
  return {
    ...{ apiVersion: 'resources.gardener.cloud/v1alpha1', kind: 'ManagedResource' },
    metadata: { name, namespace, generation: 1 },
    status: { observedGeneration: 1, conditions },
  };
}

function leasesOf(nodes: number): readonly string[] {
  const names = Array.from({ length: nodes }, (_none, at) => nodeName(at));
  return [
    ...names.map((name) => `kube-node-lease/${name}`),
    ...names.map((name) => `kube-system/gardener-node-agent-${name}`),
  ].sort();
}

function nodeName(at: number): string {
  return `node-${at}`;
}

function file(path: string, content: JsonObject) {
  const text = JSON.stringify(content);
  return { path, reading: decodeFile(path, new TextEncoder().encode(text), text).reading };
}

function liveObject(value: JsonObject): LiveObject {
  return { key: objectKey(must(refOfObject(value))), value, digest: objectDigest(value) };
}
