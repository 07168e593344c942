import { expect, test } from 'vitest';
import { bootstrapOf } from '../../../../../src/domains/health/xds/bootstrap/bootstrap.ts';
import type { JsonObject, JsonValue } from '../../../../../src/model/text/json.ts';

function made(networking: JsonObject, more: JsonObject = {}) {
  const { bootstrap, ...rest } = bootstrapOf({
    ...{ mesh: 'default', name: 'db', server: { address: '127.0.0.1', port: 5678 }, trust: undefined },
    spec: { networking: { address: '10.0.0.4', ...networking }, ...more },
  });
  const { listeners } = bootstrap.static_resources as unknown as {
    readonly listeners: readonly { readonly name: string; readonly filter_chains: JsonValue }[];
  };
  return { ...rest, bootstrap, listeners, names: listeners.map(({ name }) => name) };
}

const postgres = { tags: { 'kuma.io/service': 'postgres' } };

test('an inbound whose application has its address and port gets no listener, which would connect to itself', () => {
  const { names, warnings } = made({
    inbound: [
      { port: 5432, ...postgres },
      { port: 5433, servicePort: 5432, ...postgres },
    ],
  });
  expect(names).toEqual(['inbound:10.0.0.4:5433']);
  expect(warnings).toEqual([
    'networking.inbound[0] has no listener: its application has the same address and port; give it a servicePort or a serviceAddress',
  ]);
});

test('an address and port has one listener', () => {
  const inbound = [
    { port: 1, servicePort: 80, ...postgres },
    { port: 1, servicePort: 81, ...postgres },
  ];
  const outbound = [
    { port: 1, ...postgres },
    { port: 1, address: '127.0.0.1', ...postgres },
  ];
  const { names, warnings } = made({ inbound, outbound });
  expect(names).toEqual(['inbound:10.0.0.4:1', 'outbound:127.0.0.1:1']);
  expect(warnings).toEqual([
    'networking.inbound[1] has no listener: another inbound has its address and port',
    'networking.outbound[1] has no listener: another outbound has its address and port',
  ]);
});

test('an outbound without service is named', () => {
  const backendRef = { kind: 'MeshService', name: 'web', port: 80 };
  const { names, warnings } = made({ outbound: [{ port: 1, backendRef }, { port: 2 }] });
  expect(names).toEqual([]);
  expect(warnings).toEqual([
    'networking.outbound[0] has no listener: a backendRef is not served; name the service in its tags',
    'networking.outbound[1] has no listener: it has no tag kuma.io/service',
  ]);
});

test('names of services collide with no other cluster', () => {
  const outbound = [{ port: 1, tags: { 'kuma.io/service': 'ads_cluster' } }];
  const { clusters } = made({ outbound }).bootstrap.static_resources as unknown as { readonly clusters: JsonObject[] };
  expect(clusters.map(({ name }) => name)).toEqual(['ads_cluster', 'outbound:ads_cluster']);
});

test('the admin interface is where the server has Envoy check itself', () => {
  expect([made({}).adminPort, made({ admin: { port: 9902 } }).adminPort]).toEqual([9901, 9902]);
});

test('the path of a Virtual Probe may be a URL; its query is not matched', () => {
  const endpoint = { inboundPort: 80, inboundPath: 'http://app/healthz?x=1', path: '/80/healthz?x=1' };
  const { listeners } = made({}, { probes: { port: 9000, endpoints: [endpoint] } });
  const text = JSON.stringify(listeners[0]?.filter_chains);
  expect(text).toContain('"path":"/80/healthz"');
  expect(text).toContain('"path_redirect":"/healthz"');
});
