import { describe, expect, test } from 'vitest';
import { createDiscovery } from '../../../src/agent/discovery/discovery.ts';
import { EMPTY_INVENTORY } from '../../../src/agent/reconciler/inventory.ts';
import { type AgentSettings, NO_SETTINGS } from '../../../src/model/agent/agent-settings.ts';
import type { ClusterName } from '../../../src/model/fleet/ids.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import type { ObservedObject, Stamp } from '../../../src/ports/cluster-api.ts';
import type { InputSnapshot } from '../../../src/relay/session.ts';
import { fleet, keyOf } from '../../support/agent-world.ts';

const key = 'internal.gloo.solo.io/DiscoveredGateway/istio/gw';

function service(type: string, more: JsonObject = {}, status: JsonObject = {}, name = 'gw'): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'istio', labels: { istio: 'ingressgateway' } },
    spec: {
      type,
      selector: { app: 'gw' },
      ports: [{ name: 'https', port: 443, nodePort: 30443 }, { port: 15021 }],
      ...more,
    },
    status: { loadBalancer: status },
  };
}

function node(name: string, addresses: Readonly<Record<string, string>>, labels: JsonObject = {}): JsonObject {
  const list = Object.entries(addresses).map(([type, address]) => ({ type, address }));
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, labels }, status: { addresses: list } };
}

function pod(name: string, serviceAccountName: string): JsonObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'istio' }, spec: { serviceAccountName } };
}

function slice(nodes: Readonly<Record<string, boolean>>, name = 'gw-1', of = 'gw'): JsonObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace: 'istio', labels: { 'kubernetes.io/service-name': of } },
    endpoints: Object.entries(nodes).map(([nodeName, ready]) => ({
      nodeName,
      conditions: { ready },
      targetRef: { kind: 'Pod', name: `gw-${nodeName}` },
    })),
  };
}

const east = { 'topology.kubernetes.io/region': 'eu', 'topology.kubernetes.io/zone': 'eu-1' };
const west = { 'failure-domain.beta.kubernetes.io/region': 'eu', 'topology.kubernetes.io/zone': 'eu-2' };

function createWorld() {
  const objects = new Map<ObjectKey, ObservedObject>();
  const changed = new Set<ObjectKey>();
  let settings: AgentSettings = NO_SETTINGS;
  let latest: InputSnapshot | undefined;
  const hints: (readonly string[] | undefined)[] = [];
  const discovery = createDiscovery(
    {
      publishInput: (snapshot, hint) => {
        latest = snapshot;
        hints.push(hint === undefined ? undefined : [...hint].sort());
      },
    },
    () => settings,
  );
  return {
    hints,
    set: (said: Partial<AgentSettings['discovery']>) => {
      settings = { ...NO_SETTINGS, discovery: { ...NO_SETTINGS.discovery, ...said } };
    },
    latest: () => latest,
    see: (
      values: readonly JsonObject[],
      gone: readonly JsonObject[] = [],
      unknown: readonly string[] = [],
      stamp?: Stamp,
      others: readonly string[] = [],
    ) => {
      const stamped = stamp === undefined ? {} : { stamp };
      for (const value of values) objects.set(keyOf(value), { key: keyOf(value), value, where: '', ...stamped });
      for (const value of gone) objects.delete(keyOf(value));
      for (const value of [...values, ...gone]) changed.add(keyOf(value));
      const since = new Set(changed);
      changed.clear();
      const kinds = ['/Service', '/Node', ...others].map((kind) => ({
        kind,
        state: unknown.includes(kind) ? ('unknown' as const) : ('complete' as const),
        message: '',
      }));
      discovery.take({ objects, changed: since, kinds, diagnostics: [], paused: false }, EMPTY_INVENTORY.records);
      return latest?.objects.get(key)?.value;
    },
    kind: () => latest?.kinds.find(({ kind }) => kind.startsWith('internal')),
  };
}

describe('addresses of gateways', () => {
  test('a LoadBalancer has its IPs, else its host names, else its own externalIPs, else says so', () => {
    const { see } = createWorld();
    const addresses = (value: JsonObject = {}) => {
      const { externalAddresses } = value.spec as { externalAddresses: { address: string }[] };
      return externalAddresses.map(({ address }) => address);
    };
    const both = { ingress: [{ ip: '2.2.2.2', hostname: 'b.example' }, { ip: '1.1.1.1' }] };
    const own = { externalIPs: ['9.9.9.9'] };
    expect(addresses(see([service('LoadBalancer', own, both)]))).toEqual(['1.1.1.1', '2.2.2.2']);
    expect(addresses(see([service('LoadBalancer', own, { ingress: [{ hostname: 'b.example' }] })]))).toEqual([
      'b.example',
    ]);
    expect(addresses(see([service('LoadBalancer', own)]))).toEqual(['9.9.9.9']);
    const none = see([service('LoadBalancer')]);
    expect(addresses(none)).toEqual([]);
    expect(none?.status).toEqual({ error: 'the load balancer has been given no address' });
  });

  test('where the cluster itself has the kind, it is named once', () => {
    const { see, latest } = createWorld();
    see([service('ClusterIP')], [], [], undefined, ['internal.gloo.solo.io/DiscoveredGateway']);
    const named = latest()?.kinds.filter(({ kind }) => kind.startsWith('internal'));
    expect(named).toEqual([{ kind: 'internal.gloo.solo.io/DiscoveredGateway', state: 'complete', message: '' }]);
    expect(latest()?.objects.get(key)).toBeDefined();
  });

  test('a Service that was derived from other clusters is no gateway', () => {
    const { see, latest } = createWorld();
    const gateway = service('LoadBalancer', {}, { ingress: [{ ip: '1.1.1.1' }] });
    const stamp = { fleet, key: keyOf(gateway), nonce: 'n', origins: [], scope: ['west' as ClusterName] };
    see([pod('p', 'a')]);
    expect(see([gateway], [], [], stamp)).toBeUndefined();
    expect([...(latest()?.objects.keys() ?? [])]).toEqual([keyOf(pod('p', 'a'))]);
  });

  test('a NodePort has the nodes of its ready endpoints, with their localities', () => {
    const { see } = createWorld();
    const value = see([
      service('NodePort'),
      slice({ n1: true, n2: true, n3: false }),
      node('n1', { InternalIP: '10.0.0.1', ExternalIP: '1.1.1.1' }, east),
      node('n2', { Hostname: 'n2', InternalIP: '10.0.0.2' }, west),
      node('n3', { InternalIP: '10.0.0.3' }),
      pod('gw-n1', 'gateway'),
      pod('gw-n2', ''),
    ]);
    const ports = [{ number: 30443, name: 'https', protocol: 'TCP' }];
    expect(value).toEqual({
      apiVersion: 'internal.gloo.solo.io/v2',
      kind: 'DiscoveredGateway',
      metadata: { name: 'gw', namespace: 'istio' },
      spec: {
        service: { name: 'gw', namespace: 'istio' },
        serviceType: 'NodePort',
        workloadLabels: { app: 'gw' },
        serviceAccountRefs: [
          { name: 'default', namespace: 'istio' },
          { name: 'gateway', namespace: 'istio' },
        ],
        externalAddresses: [
          { address: '1.1.1.1', ports, locality: { region: 'eu', zone: 'eu-1' } },
          { address: '10.0.0.2', ports, locality: { region: 'eu', zone: 'eu-2' } },
        ],
      },
    });
  });

  test.each([
    ['ClusterIP', [service('ClusterIP')], 'a Service of type ClusterIP has no address outside of its cluster'],
    ['no endpoint', [service('NodePort')], 'no ready endpoint says which node it is on'],
    ['an unseen node', [service('NodePort'), slice({ n1: true })], 'no address is known of node n1'],
    ['nonsense', [service('NodePort', { ports: 'x', selector: [] })], 'no ready endpoint says which node it is on'],
  ])('%s: status.error has the reason, and the object is in the snapshot', (_what, values, error) => {
    expect(createWorld().see(values)).toMatchObject({ spec: { externalAddresses: [] }, status: { error } });
  });

  test('gateways are recognised by labels', () => {
    const { see } = createWorld();
    const labelled = (labels: JsonObject, selector: JsonObject = {}): JsonObject => ({
      ...service('LoadBalancer', { selector }),
      metadata: { name: 'gw', namespace: 'istio', labels },
    });
    expect(see([labelled({ app: 'web' })])).toBeUndefined();
    expect(see([labelled({ istio: 'pilot' })])).toBeUndefined();
    for (const value of [
      labelled({ istio: 'eastwestgateway' }),
      labelled({}, { istio: 'ingressgateway' }),
      labelled({ 'gateway.networking.k8s.io/gateway-name': 'web' }),
    ]) {
      expect(see([value])).toBeDefined();
    }
    expect(see([labelled({ app: 'web' })])).toBeUndefined();
  });

  test('a gateway changes with the objects that it is computed from, and with no others', () => {
    const { see, hints } = createWorld();
    const last = () => hints.at(-1);
    see([service('NodePort'), node('n9', {}), slice({ n9: true }, 'other', 'other')]);
    expect(see([slice({ n1: true })])).toMatchObject({ status: { error: 'no address is known of node n1' } });
    expect(see([node('n1', { InternalIP: '10.0.0.1' })])).toMatchObject({
      spec: { externalAddresses: [{ address: '10.0.0.1' }] },
    });
    expect(last()).toEqual(['/Node//n1', key]);
    see([node('n9', { InternalIP: '10.0.0.9' })]);
    expect(last()).toEqual(['/Node//n9']);
    expect(see([], [slice({})])).toMatchObject({ status: { error: 'no ready endpoint says which node it is on' } });
    expect(see([], [service('NodePort')])).toBeUndefined();
    expect(last()).toEqual(['/Service/istio/gw', key]);
  });

  test('the gateway kind is unknown while a kind that it is computed from is; an excluded Service has no gateway', () => {
    const { see, kind, set } = createWorld();
    see([]);
    expect(kind()).toBeUndefined();
    see([service('LoadBalancer')]);
    expect(kind()).toMatchObject({ state: 'complete' });
    see([], [], ['/Node']);
    expect(kind()).toMatchObject({ state: 'unknown' });
    set({ excludedNamespaces: ['istio'] });
    expect(see([])).toBeUndefined();
    set({ excludedKinds: ['internal.gloo.solo.io/DiscoveredGateway'] });
    expect(see([])).toBeUndefined();
    expect(kind()).toMatchObject({ state: 'offered' });
    set({});
    expect(see([])).toBeDefined();
  });

  test('an agent that starts while Services cannot be listed does not say that there are no gateways', () => {
    const { see, kind } = createWorld();
    see([], [], ['/Service']);
    expect(kind()).toMatchObject({ state: 'unknown' });
    see([]);
    expect(kind()).toBeUndefined();
    see([], [], ['/Node']);
    expect(kind()).toBeUndefined();
  });
});
