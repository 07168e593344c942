import type { Engine } from '../../../../../src/engine/graph.ts';
import type { ViewFilter } from '../../../../../src/model/fleet/view-filter.ts';
import { objectKey, refOfObject } from '../../../../../src/model/objects/object-key.ts';
import { objectDigest } from '../../../../../src/model/text/digest.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { must } from '../../../../../src/model/values/result.ts';

/** A Dataplane in the Universal form; JSON is YAML. */
export function dataplaneYaml(fields: {
  readonly mesh: string;
  readonly name: string;
  readonly networking: JsonObject;
}) {
  return JSON.stringify({ type: 'Dataplane', ...fields });
}

/** An inbound of a service, as a Dataplane writes it. */
export function inbound(service: string, port: number, more: JsonObject = {}): JsonObject {
  return { port, tags: { 'kuma.io/service': service }, ...more };
}

/** The rows of a view. Throws if no domain has it. */
export function rowsOf({ domains }: Engine, view: string, filter?: ViewFilter): readonly JsonObject[] {
  const rows = domains.flatMap(({ report: { shows } }) => shows?.views?.[view] ?? []).map((list) => list(filter));
  const [first] = rows;
  if (first === undefined) throw new Error(`there is no view ${view}`);
  return first;
}

/** Stages a live object of a connected cluster. */
export function stageLive({ inputs }: Engine, cluster: string, value: JsonObject): void {
  const key = objectKey(must(refOfObject(value)));
  inputs.agents.set('', cluster, {
    ...{ connected: true, since: 0, problem: '', warm: true, assumedWarm: false, kindsAsWritten: false },
  });
  inputs.live.set(cluster, key, { key, value, digest: objectDigest(value) });
}

/** Stages that a live object is gone. */
export function removeLive({ inputs }: Engine, cluster: string, value: JsonObject): void {
  inputs.live.delete(cluster, objectKey(must(refOfObject(value))));
}

/** What of a Pod differs from a running one with a ready sidecar and one ready application. */
export interface PodParts {
  readonly name?: string;
  readonly metadata?: JsonObject;
  readonly containers?: readonly JsonObject[];
  readonly initContainers?: readonly JsonObject[];
  readonly node?: string;
  readonly status?: JsonObject;
  /** By name of the container; null: it has no status. */
  readonly ready?: Readonly<Record<string, boolean | null>>;
}

/** A container with ports. */
export function container(name: string, ...ports: readonly (number | JsonObject)[]): JsonObject {
  return { name, ports: ports.map((port) => (typeof port === 'number' ? { containerPort: port } : port)) };
}

/** A running Pod `example` of Namespace `demo` with the address 10.0.0.1. */
export function pod({ name = 'example', metadata = {}, ...parts }: PodParts = {}): JsonObject {
  const containers = parts.containers ?? [
    container('kuma-sidecar'),
    container('app', { name: 'http', containerPort: 8080 }),
  ];
  const statuses = containers.flatMap(({ name: its }) => {
    const isReady = parts.ready?.[String(its)];
    return isReady === null ? [] : [{ name: its ?? '', ready: isReady ?? true }];
  });
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'demo', labels: { app: 'example' }, ...metadata },
    spec: {
      containers,
      ...(parts.initContainers === undefined ? {} : { initContainers: parts.initContainers }),
      ...(parts.node === undefined ? {} : { nodeName: parts.node }),
    },
    status: { phase: 'Running', podIP: '10.0.0.1', containerStatuses: statuses, ...parts.status },
  };
}

/** A Service of Namespace `demo`. */
export function service(
  name: string,
  spec: JsonObject,
  annotations: JsonObject = {},
  labels: JsonObject = {},
): JsonObject {
  return {
    ...{ apiVersion: 'v1', kind: 'Service' },
    metadata: { name, namespace: 'demo', annotations, labels },
    spec: { selector: { app: 'example' }, ports: [{ port: 80, targetPort: 8080 }], ...spec },
  };
}
