import { type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from '../../model/json.ts';
import { labelsOf, type ObjectKey, objectKey, objectRefOf } from '../../model/object-key.ts';

/** Reads objects of a cluster. */
export interface ClusterView {
  /** Undefined: the object does not exist or cannot be read. */
  get(key: ObjectKey): JsonObject | undefined;
  /** The EndpointSlices of a Service. */
  slicesOf(service: ObjectKey): readonly JsonObject[];
}

export const GATEWAY_KIND = 'internal.gloo.solo.io/DiscoveredGateway';

const ISTIO_LABEL = 'istio';
const GATEWAY_API_LABELS: readonly string[] = ['gateway.networking.k8s.io/gateway-name', 'istio.io/gateway-name'];
const LOCALITY: Readonly<Record<'region' | 'zone' | 'subZone', readonly string[]>> = {
  region: ['topology.kubernetes.io/region', 'failure-domain.beta.kubernetes.io/region'],
  zone: ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'],
  subZone: ['topology.istio.io/subzone'],
};

/**
 * Whether a Service is a gateway. It has Istio's label `istio: ...gateway`, on itself or in its pod selector, or the Gateway
 * API's label `gateway.networking.k8s.io/gateway-name` (formerly `istio.io/gateway-name`).
 */
export function isGateway(service: JsonObject): boolean {
  const labels = labelsOf(service);
  const selector = objectOf(objectOf(service.spec).selector);
  const named = [labels[ISTIO_LABEL], selector[ISTIO_LABEL]];
  return (
    named.some((value) => typeof value === 'string' && value.endsWith('gateway')) ||
    GATEWAY_API_LABELS.some((label) => typeof labels[label] === 'string')
  );
}

/** The key of the DiscoveredGateway of a Service. */
export function gatewayKey(service: ObjectKey): ObjectKey {
  const { namespace, name } = objectRefOf(service);
  return objectKey({ group: 'internal.gloo.solo.io', kind: 'DiscoveredGateway', namespace, name });
}

/**
 * The DiscoveredGateway of a Service, with the addresses that clients outside of the cluster use. A LoadBalancer has its
 * assigned IPs, else its assigned host names, else the Service's externalIPs. A NodePort has the nodes of its ready
 * endpoints. Without an address, `status.error` has the reason.
 */
export function discoverGateway(key: ObjectKey, service: JsonObject, view: ClusterView): JsonObject {
  const { namespace, name } = objectRefOf(key);
  const spec = objectOf(service.spec);
  const type = textOf(spec.type) || 'ClusterIP';
  const endpoints = readyEndpoints(view.slicesOf(key));
  const found = addresses(type, service, endpoints, view);
  return {
    apiVersion: 'internal.gloo.solo.io/v2',
    kind: 'DiscoveredGateway',
    metadata: { name, namespace },
    spec: {
      service: { name, namespace },
      serviceType: type,
      workloadLabels: objectOf(spec.selector),
      serviceAccountRefs: serviceAccounts(namespace, endpoints, view),
      externalAddresses: found.addresses,
    },
    ...(found.error === undefined ? {} : { status: { error: found.error } }),
  };
}

interface Found {
  readonly addresses: readonly JsonObject[];
  readonly error?: string;
}

interface Endpoint {
  readonly node: string;
  readonly pod: string;
}

function addresses(type: string, service: JsonObject, endpoints: readonly Endpoint[], view: ClusterView): Found {
  const spec = objectOf(service.spec);
  switch (type) {
    case 'LoadBalancer': {
      const ingress = objectsOf(objectOf(objectOf(service.status).loadBalancer).ingress);
      const given = [texts(ingress.map(({ ip }) => ip)), texts(ingress.map(({ hostname }) => hostname))];
      const own = Array.isArray(spec.externalIPs) ? texts(spec.externalIPs) : [];
      const chosen = [...given, own].find((list) => list.length > 0);
      if (chosen === undefined) return { addresses: [], error: 'the load balancer has been given no address' };
      const locality = commonLocality(nodesOf(endpoints).map((node) => view.get(nodeKey(node))));
      const ports = portsOf(spec, 'port');
      return { addresses: chosen.map((address) => ({ address, ports, locality })) };
    }
    case 'NodePort':
      return nodeAddresses(portsOf(spec, 'nodePort'), nodesOf(endpoints), view);
    default:
      return { addresses: [], error: `a Service of type ${type} has no address outside of its cluster` };
  }
}

function nodeAddresses(ports: readonly JsonObject[], nodes: readonly string[], view: ClusterView): Found {
  if (nodes.length === 0) return { addresses: [], error: 'no ready endpoint says which node it is on' };
  const missing: string[] = [];
  const found = nodes.flatMap((name): readonly JsonObject[] => {
    const node = view.get(nodeKey(name));
    const address = node && addressOfNode(node);
    if (address === undefined) missing.push(name);
    return address === undefined || node === undefined ? [] : [{ address, ports, locality: commonLocality([node]) }];
  });
  const error = missing.length === 0 ? {} : { error: `no address is known of node ${missing.join(', ')}` };
  return { addresses: found, ...error };
}

function addressOfNode(node: JsonObject): string | undefined {
  const all = objectsOf(objectOf(node.status).addresses);
  for (const type of ['ExternalIP', 'InternalIP', 'ExternalDNS', 'InternalDNS', 'Hostname']) {
    const [first] = texts(all.filter((each) => each.type === type).map(({ address }) => address));
    if (first !== undefined) return first;
  }
  return undefined;
}

function readyEndpoints(slices: readonly JsonObject[]): readonly Endpoint[] {
  return slices
    .flatMap(({ endpoints }) => objectsOf(endpoints))
    .filter((endpoint) => objectOf(endpoint.conditions).ready !== false)
    .map((endpoint) => {
      const target = objectOf(endpoint.targetRef);
      return { node: textOf(endpoint.nodeName), pod: target.kind === 'Pod' ? textOf(target.name) : '' };
    });
}

function serviceAccounts(namespace: string, endpoints: readonly Endpoint[], view: ClusterView): readonly JsonObject[] {
  const names = endpoints.flatMap(({ pod }) => {
    if (pod === '') return [];
    const value = view.get(objectKey({ group: '', kind: 'Pod', namespace, name: pod }));
    return value === undefined ? [] : [textOf(objectOf(value.spec).serviceAccountName) || 'default'];
  });
  return texts(names).map((name) => ({ name, namespace }));
}

/** The locality fields that all of these nodes share; empty without nodes. */
function commonLocality(nodes: readonly (JsonObject | undefined)[]): JsonObject {
  const parts = Object.entries(LOCALITY).flatMap(([part, labels]) => {
    const values = nodes.map((node) => {
      const of = node === undefined ? {} : labelsOf(node);
      return labels.map((label) => textOf(of[label])).find((text) => text !== '') ?? '';
    });
    const [first = ''] = values;
    return first !== '' && values.every((text) => text === first) ? [[part, first] as const] : [];
  });
  return Object.fromEntries(parts);
}

function portsOf(spec: JsonObject, number: 'port' | 'nodePort'): readonly JsonObject[] {
  return objectsOf(spec.ports)
    .filter((port) => typeof port[number] === 'number')
    .map((port) => ({
      number: port[number],
      name: textOf(port.name),
      protocol: textOf(port.protocol) || 'TCP',
    }));
}

function nodesOf(endpoints: readonly Endpoint[]): readonly string[] {
  return texts(endpoints.map(({ node }) => node));
}

function nodeKey(name: string): ObjectKey {
  return objectKey({ group: '', kind: 'Node', namespace: '', name });
}

/** The distinct non-empty texts, in canonical order. */
function texts(values: readonly (JsonValue | undefined)[]): readonly string[] {
  return [...new Set(values.map(textOf))].filter((text) => text !== '').sort();
}
