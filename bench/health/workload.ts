import type { LiveObject } from '../../src/model/agent/agent.ts';
import type { FileReading } from '../../src/model/fleet/desired.ts';
import { objectKey, refOfObject } from '../../src/model/objects/object-key.ts';
import { objectDigest } from '../../src/model/text/digest.ts';
import type { JsonObject } from '../../src/model/text/json.ts';
import { must } from '../../src/model/values/result.ts';
import { decodeFile } from '../../test/support/decode-file.ts';

/**
 * The workload: 10,000 data planes, half of them declared and half of them Pods in 10 clusters, in 1,000 services of 10, or
 * all in one service.
 */
export const dataplaneCount = 10_000;
export const serviceCount = 1_000;
const clusterCount = 10;
const declaredCount = dataplaneCount / 2;
const podsPerCluster = (dataplaneCount - declaredCount) / clusterCount;
const perService = dataplaneCount / serviceCount;

const NAMESPACE = 'shop';
const CONNECTED_AT = 1_767_603_600_000;

/** All inputs, built before anything is measured. */
export interface Inputs {
  readonly services: number;
  readonly files: readonly { readonly path: string; readonly reading: FileReading }[];
  /** Keys of the declared data planes. */
  readonly declared: readonly string[];
  readonly connectedAt: number;
  /** Live objects by cluster. */
  readonly clusters: ReadonlyMap<string, readonly LiveObject[]>;
}

/** Builds the inputs, the same ones each time. */
export function buildInputs({ inOneService }: { readonly inOneService: boolean }): Inputs {
  const serviceOf = (at: number): string => (inOneService ? 'all' : `s${Math.floor(at / perService)}`);
  const numbers = (count: number) => Array.from({ length: count }, (_none, at) => at);
  const files = numbers(declaredCount).map((at) => {
    const path = `dataplanes/d${at}.yaml`;
    const text = JSON.stringify(declaredDataplane(at, serviceOf(at)));
    return { path, reading: decodeFile(path, new TextEncoder().encode(text), text).reading };
  });
  const clusters = numbers(clusterCount).map((cluster) => {
    const first = cluster * podsPerCluster;
    const pods = numbers(podsPerCluster).map((at) => pod(first + at, serviceOf(first + at), true));
    const names = [...new Set(numbers(podsPerCluster).map((at) => serviceOf(first + at)))];
    const objects = [namespace(), ...names.flatMap((name) => [service(name), replicaSet(name)]), ...pods];
    return [`c${cluster}`, objects.map(liveObject)] as const;
  });
  return {
    services: inOneService ? 1 : serviceCount,
    files,
    declared: numbers(declaredCount).map((at) => `default/d${at}`),
    connectedAt: CONNECTED_AT,
    clusters: new Map(clusters),
  };
}

/** One report about one data plane: a Pod changes, or an Envoy reports. */
export type Update =
  | { readonly type: 'pod'; readonly cluster: string; readonly object: LiveObject }
  | { readonly type: 'report'; readonly key: string; readonly workload: string; readonly isHealthy: boolean };

/** Updates in an order that looks random and is the same each time; each changes the readiness of its data plane. */
export function buildUpdates(count: number, { inOneService }: { readonly inOneService: boolean }): readonly Update[] {
  const isReady = new Map<number, boolean>();
  let state = 12345;
  return Array.from({ length: count }, (_none, index): Update => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const at = Math.floor((state / 2 ** 32) * declaredCount);
    const isPod = index % 2 === 0;
    const place = isPod ? at + declaredCount : at;
    const next = !(isReady.get(place) ?? true);
    isReady.set(place, next);
    if (!isPod)
      return { type: 'report', key: `default/d${at}`, workload: `${addressOf(20, at)}:8080`, isHealthy: next };
    const name = inOneService ? 'all' : `s${Math.floor(at / perService)}`;
    return { type: 'pod', cluster: `c${Math.floor(at / podsPerCluster)}`, object: liveObject(pod(at, name, next)) };
  });
}

function addressOf(net: number, at: number): string {
  return `10.${net}.${at >> 8}.${at & 255}`;
}

/** In the service of Pods of the same name, if there are any. */
function declaredDataplane(at: number, name: string): JsonObject {
  const service = name === 'all' ? `${name}_${NAMESPACE}_svc_80` : `universal-${name}`;
  const inbound = [
    { port: 8080, tags: { 'kuma.io/service': service, 'kuma.io/zone': 'rack-1' }, serviceProbe: { tcp: {} } },
  ];
  return { type: 'Dataplane', mesh: 'default', name: `d${at}`, networking: { address: addressOf(20, at), inbound } };
}

function pod(at: number, name: string, isReady: boolean): JsonObject {
  const [hash, id] = ['5d9c7b8f6d', at.toString(36).padStart(5, '0')];
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: `${name}-${hash}`,
    uid: `rs-${name}`,
    controller: true,
  };
  const running = { started: true, state: { running: { startedAt: '2026-01-05T09:00:00Z' } } };
  return {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: {
      ...{ name: `${name}-${hash}-${id}`, namespace: NAMESPACE, uid: `pod-${at}`, ownerReferences: [owner] },
      labels: { app: name, 'app.kubernetes.io/name': name, 'pod-template-hash': hash, version: 'v1' },
      annotations: { 'kuma.io/sidecar-injected': 'true', 'kuma.io/mesh': 'default' },
    },
    spec: {
      ...{ nodeName: `n${at % 50}`, serviceAccountName: name },
      containers: [
        { name: 'kuma-sidecar', image: 'kuma-dp:2.14.3' },
        { name: 'app', image: 'app:1', ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }] },
      ],
    },
    status: {
      ...{ phase: 'Running', podIP: addressOf(1, at), podIPs: [{ ip: addressOf(1, at) }] },
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False', reason: '' }],
      containerStatuses: [
        { name: 'kuma-sidecar', ready: true, ...running },
        { name: 'app', ready: isReady, ...running },
      ],
    },
  };
}

function service(name: string): JsonObject {
  return {
    ...{ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: NAMESPACE } },
    spec: { selector: { app: name }, ports: [{ name: 'http', port: 80, targetPort: 'http', appProtocol: 'http' }] },
  };
}

function replicaSet(name: string): JsonObject {
  const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name, controller: true };
  const metadata = { name: `${name}-5d9c7b8f6d`, namespace: NAMESPACE, ownerReferences: [owner] };
  return { apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata };
}

function namespace(): JsonObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } };
}

function liveObject(value: JsonObject): LiveObject {
  return { key: objectKey(must(refOfObject(value))), value, digest: objectDigest(value) };
}
