import { dump } from 'js-yaml';

/** A Kubernetes object as it is sent. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>> & { readonly name: string; readonly namespace: string };
  readonly [field: string]: unknown;
}

const ENDPOINTS = 5;

/** A number of headless Services, and an EndpointSlice with five endpoints for each. */
export function servicesWithEndpoints(count: number, namespace: string): readonly Manifest[] {
  return Array.from({ length: count }, (_, index) => [
    service(`svc-${index}`, namespace),
    endpointSlice(`svc-${index}`, namespace, index),
  ]).flat();
}

function service(name: string, namespace: string): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, labels: { app: name } },
    spec: { clusterIP: 'None', ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
  };
}

function endpointSlice(service: string, namespace: string, index: number): Manifest {
  const address = (endpoint: number): string => `10.${128 + (index >> 8)}.${index & 255}.${endpoint + 1}`;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `${service}-a`, namespace, labels: { 'kubernetes.io/service-name': service } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: Array.from({ length: ENDPOINTS }, (_, endpoint) => ({
      addresses: [address(endpoint)],
      conditions: { ready: true },
    })),
  };
}

/** A number of Deployments as a cluster's own people make them, with labels, environment and probes. */
export function deployments(count: number, namespace: string): readonly Manifest[] {
  return Array.from({ length: count }, (_, index) => {
    const name = `app-${index}`;
    const labels = { app: name, 'app.kubernetes.io/part-of': 'bench', team: `team-${index % 20}` };
    const env = Array.from({ length: 8 }, (_, n) => ({ name: `SETTING_${n}`, value: `value of ${name}, ${n}` }));
    const probe = { httpGet: { path: '/healthz', port: 8080 }, periodSeconds: 10 };
    const resources = { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } };
    const ports = [{ name: 'http', containerPort: 8080 }];
    const container = { name: 'app', image: `example.org/${name}:1.2.3`, env, ports, resources, readinessProbe: probe };
    return {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace, labels },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [container] } },
      },
    };
  });
}

/** Path of an object of these kinds on an API server. */
export function pathOf({ apiVersion, kind, metadata }: Manifest): string {
  const base = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  return `${base}/namespaces/${metadata.namespace}/${kind.toLowerCase()}s/${metadata.name}`;
}

/** Files of a repository, a hundred documents each. */
export function asFiles(folder: string, manifests: readonly Manifest[]): Record<string, string> {
  const files: Record<string, string> = {};
  for (let at = 0; at < manifests.length; at += 100) {
    const documents = manifests.slice(at, at + 100).map((manifest) => dump(manifest));
    files[`${folder}/part-${at / 100}.yaml`] = documents.join('---\n');
  }
  return files;
}
