import type { KindState, LiveObject } from '../../model/agent/agent.ts';
import { kindOf, labelsOf, type ObjectKey, objectKey, objectRefOf } from '../../model/objects/object-key.ts';
import { objectDigest } from '../../model/text/digest.ts';
import { type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from '../../model/text/json.ts';
import type { LiveState } from '../../ports/cluster-api.ts';

interface Gateway {
  readonly object: LiveObject;
  /** Keys that were read to compute it, also those without an object. */
  readonly madeOf: ReadonlySet<ObjectKey>;
}

const SLICE = 'discovery.k8s.io/EndpointSlice';
const SERVICE_LABEL = 'kubernetes.io/service-name';
const MADE_OF: readonly string[] = ['/Service', SLICE, '/Node', '/Pod'];

/**
 * Maintains the gateways of a cluster: Services of an ingress gateway. A gateway is computed again when an object that it was
 * computed from changes.
 */
export function createGatewayWatch() {
  const gateways = new Map<ObjectKey, Gateway>();
  const slices = new Map<ObjectKey, Set<ObjectKey>>();
  const serviceOf = new Map<ObjectKey, ObjectKey>();
  let hadGateways = false;

  return {
    note,
    /** The gateway of a Service; undefined: the Service is no gateway. */
    of: (service: ObjectKey): LiveObject | undefined => gateways.get(service)?.object,
    kind,
  };

  /** Takes a new state, in which the objects of `keys` may have changed. Returns the Services whose gateways may have changed. */
  function note(live: LiveState, keys: Iterable<ObjectKey>): readonly ObjectKey[] {
    const due = new Set<ObjectKey>();
    for (const key of keys) {
      const kind = kindOf(key);
      if (kind === '/Service') due.add(key);
      else if (kind === SLICE) for (const service of moveSlice(live, key)) due.add(service);
      else if (kind === '/Node' || kind === '/Pod') {
        for (const [service, { madeOf }] of gateways) if (madeOf.has(key)) due.add(service);
      }
    }
    for (const service of due) {
      const gateway = makeGateway(live, service);
      if (gateway === undefined) gateways.delete(service);
      else gateways.set(service, gateway);
    }
    hadGateways ||= gateways.size > 0;
    return [...due];
  }

  /** The Services that an EndpointSlice belonged to before and belongs to now. */
  function moveSlice(live: LiveState, key: ObjectKey): readonly ObjectKey[] {
    const before = serviceOf.get(key);
    const value = live.objects.get(key)?.value;
    const now = value === undefined ? undefined : serviceOfSlice(key, value);
    if (before !== undefined && before !== now) {
      slices.get(before)?.delete(key);
      if (slices.get(before)?.size === 0) slices.delete(before);
    }
    if (now === undefined) serviceOf.delete(key);
    else {
      serviceOf.set(key, now);
      const known = slices.get(now) ?? new Set();
      slices.set(now, known.add(key));
    }
    return [before, now].filter((service) => service !== undefined);
  }

  function makeGateway(live: LiveState, service: ObjectKey): Gateway | undefined {
    const value = live.objects.get(service)?.value;
    if (value === undefined || !isGateway(value)) return undefined;
    const madeOf = new Set<ObjectKey>();
    const get = (key: ObjectKey): JsonObject | undefined => {
      madeOf.add(key);
      return live.objects.get(key)?.value;
    };
    const own = [...(slices.get(service) ?? [])].sort().map((key) => live.objects.get(key)?.value);
    const made = discoverGateway(
      service,
      value,
      own.filter((slice) => slice !== undefined),
      get,
    );
    return { object: { key: gatewayKey(service), value: made, digest: objectDigest(made) }, madeOf };
  }

  /** The state of the gateway kind; undefined if the cluster never had a gateway and its Services are readable. */
  function kind(kinds: readonly KindState[]): KindState | undefined {
    const hasUnknownServices = kinds.some(({ kind: name, state }) => name === '/Service' && state === 'unknown');
    if (!hadGateways && !hasUnknownServices) return undefined;
    const unknown = kinds.find(({ kind: name, state }) => state === 'unknown' && MADE_OF.includes(name));
    return unknown === undefined
      ? { kind: GATEWAY_KIND, state: 'complete', message: '' }
      : { kind: GATEWAY_KIND, state: 'unknown', message: `worked out from ${unknown.kind}: ${unknown.message}` };
  }
}

function serviceOfSlice(key: ObjectKey, slice: JsonObject): ObjectKey | undefined {
  const name = labelsOf(slice)[SERVICE_LABEL];
  const { namespace } = objectRefOf(key);
  return typeof name === 'string' ? objectKey({ group: '', kind: 'Service', namespace, name }) : undefined;
}

/** Reads an object of the cluster; undefined: it does not exist or cannot be read. */
type ReadObject = (key: ObjectKey) => JsonObject | undefined;

const GATEWAY_KIND = 'internal.gloo.solo.io/DiscoveredGateway';

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
function isGateway(service: JsonObject): boolean {
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
function discoverGateway(
  key: ObjectKey,
  service: JsonObject,
  slices: readonly JsonObject[],
  get: ReadObject,
): JsonObject {
  const { namespace, name } = objectRefOf(key);
  const spec = objectOf(service.spec);
  const type = textOf(spec.type) || 'ClusterIP';
  const endpoints = readyEndpoints(slices);
  const found = addresses(type, service, endpoints, get);
  return {
    apiVersion: 'internal.gloo.solo.io/v2',
    kind: 'DiscoveredGateway',
    metadata: { name, namespace },
    spec: {
      service: { name, namespace },
      serviceType: type,
      workloadLabels: objectOf(spec.selector),
      serviceAccountRefs: serviceAccounts(namespace, endpoints, get),
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

function addresses(type: string, service: JsonObject, endpoints: readonly Endpoint[], get: ReadObject): Found {
  const spec = objectOf(service.spec);
  switch (type) {
    case 'LoadBalancer': {
      const ingress = objectsOf(objectOf(objectOf(service.status).loadBalancer).ingress);
      const given = [texts(ingress.map(({ ip }) => ip)), texts(ingress.map(({ hostname }) => hostname))];
      const own = Array.isArray(spec.externalIPs) ? texts(spec.externalIPs) : [];
      const chosen = [...given, own].find((list) => list.length > 0);
      if (chosen === undefined) return { addresses: [], error: 'the load balancer has been given no address' };
      const locality = commonLocality(nodesOf(endpoints).map((node) => get(nodeKey(node))));
      const ports = portsOf(spec, 'port');
      return { addresses: chosen.map((address) => ({ address, ports, locality })) };
    }
    case 'NodePort':
      return nodeAddresses(portsOf(spec, 'nodePort'), nodesOf(endpoints), get);
    default:
      return { addresses: [], error: `a Service of type ${type} has no address outside of its cluster` };
  }
}

function nodeAddresses(ports: readonly JsonObject[], nodes: readonly string[], get: ReadObject): Found {
  if (nodes.length === 0) return { addresses: [], error: 'no ready endpoint says which node it is on' };
  const missing: string[] = [];
  const found = nodes.flatMap((name): readonly JsonObject[] => {
    const node = get(nodeKey(name));
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

function serviceAccounts(namespace: string, endpoints: readonly Endpoint[], get: ReadObject): readonly JsonObject[] {
  const names = endpoints.flatMap(({ pod }) => {
    if (pod === '') return [];
    const value = get(objectKey({ group: '', kind: 'Pod', namespace, name: pod }));
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
