import { beforeEach, describe, expect, it } from 'vitest';
import type { Dataplane } from '../../../../../src/domains/health/model/dataplane.ts';
import { engineDiagnostics } from '../../../../../src/engine/status/diagnostics.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { createEngineWorld } from '../../../../support/engine-world.ts';
import { container, type PodParts, pod, removeLive, rowsOf, service, stageLive } from './support.ts';

/** Data planes of Pods: which Pods are one, their inbounds, their readiness and their life. */

const C = 'east';
let world: ReturnType<typeof createEngineWorld>;
beforeEach(() => {
  world = createEngineWorld();
});

function live(...objects: readonly JsonObject[]): void {
  for (const object of objects) stageLive(world.engine, C, object);
}

function policy(health: JsonObject): void {
  const metadata = { name: 'fleet' };
  world.file(
    'policy.yaml',
    JSON.stringify({ apiVersion: 'fleetrelay.dev/v1alpha1', kind: 'FleetPolicy', metadata, spec: { health } }),
  );
}

function rows(view: string): readonly JsonObject[] {
  world.engine.commit();
  return rowsOf(world.engine, view);
}

/** Service, port and whether the inbound is in the set. */
function inbounds(): readonly string[] {
  world.engine.commit();
  const { inbounds: found } = collections();
  return [...found.entries('')]
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ value }) => `${value.service}:${value.port}${value.isInSet ? '' : ' out'}`);
}

function collections() {
  const found = world.engine.derived.find(({ name }) => name === 'inbounds');
  if (found === undefined) throw new Error('there is no collection of inbounds');
  return { inbounds: found as unknown as { entries(of: string): Iterable<{ key: string; value: InboundLook }> } };
}

/** The first data plane of Pods. */
function dataplane(): Dataplane | undefined {
  world.engine.commit();
  const found = world.engine.derived.find(({ name }) => name === 'podDataplanes');
  const pods = found as unknown as { entries(of: string): Iterable<{ value: { dataplane: Dataplane } }> } | undefined;
  return [...(pods?.entries(C) ?? [])][0]?.value.dataplane;
}

/** The tags of its gateway, else of its first inbound. */
function tags(): Dataplane['inbounds'][number]['tags'] {
  const found = dataplane();
  return found?.gateway?.tags ?? found?.inbounds[0]?.tags ?? {};
}

interface InboundLook {
  readonly service: string;
  readonly port: number;
  readonly isInSet: boolean;
}

describe('the address of an inbound', () => {
  it.each<[string, JsonObject, readonly string[]]>([
    [
      'is the primary one of the Pod',
      { podIP: 'fd00::1', podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }] },
      ['fd00::1'],
    ],
    ['is the first of its list without a primary one', { podIP: '', podIPs: [{ ip: '10.0.0.2' }] }, ['10.0.0.2']],
    ['is never a text that is no address', { podIP: 'nowhere' }, []],
  ])('%s', (_what, status, expected) => {
    live(pod({ status }), service('web', {}));
    expect(rows('endpoints').map(({ address }) => address)).toEqual(expected);
  });
});

describe('a Pod is a data plane', () => {
  const plain = [container('app', 8080)];
  it.each<[string, PodParts, number]>([
    ['not without sidecar', { containers: plain }, 0],
    ['with a container named kuma-sidecar', {}, 1],
    ['with a container named istio-proxy', { containers: [...plain, container('istio-proxy')] }, 1],
    ['with a sidecar among its init containers', { containers: plain, initContainers: [container('kuma-sidecar')] }, 1],
    [
      'with the annotation of injection',
      { containers: plain, metadata: { annotations: { 'kuma.io/sidecar-injected': 'true' } } },
      1,
    ],
    [
      'not with another value of it',
      { containers: plain, metadata: { annotations: { 'kuma.io/sidecar-injected': 'false' } } },
      0,
    ],
    ['not after it has succeeded', { status: { phase: 'Succeeded' } }, 0],
    ['after it has failed', { status: { phase: 'Failed' } }, 1],
    ['while it is pending', { status: { phase: 'Pending' } }, 1],
    ['not without an address', { status: { podIP: '' } }, 0],
    ['not after it was evicted', { status: { phase: 'Failed', reason: 'Evicted' } }, 0],
  ])('%s', (_what, parts, expected) => {
    live(pod(parts));
    expect(rows('dataplanes')).toHaveLength(expected);
  });

  it('by the sidecars and the selector of the FleetPolicy', () => {
    const names = () => rows('dataplanes').map(({ name }) => name);
    live(
      pod({ name: 'a', containers: [container('app'), container('my-proxy')] }),
      pod({ name: 'b', containers: [container('app')], metadata: { labels: { 'app.kind': 'proxied' } } }),
      pod({ name: 'c' }),
    );
    expect(names()).toEqual(['c.demo']);
    policy({ sidecars: ['my-proxy'] });
    expect(names()).toEqual(['a.demo']);
    policy({ podSelector: { matchLabels: { 'app.kind': 'proxied' } } });
    expect(names()).toEqual(['b.demo', 'c.demo']);
  });

  it('with its namespace in its name, its cluster, and no more when the Pod is gone', () => {
    live(pod());
    expect(rows('dataplanes')).toEqual([
      {
        mesh: 'default',
        name: 'example.demo',
        cluster: C,
        status: 'Online',
        notes: [],
        connection: { state: 'connected' },
      },
    ]);
    removeLive(world.engine, C, pod());
    expect(rows('dataplanes')).toEqual([]);
  });

  it('in the first mesh that label and annotation of the Pod, then of the Namespace name', () => {
    const named = (mesh: string, field: 'labels' | 'annotations') => ({ [field]: { 'kuma.io/mesh': mesh } });
    const namespace = (metadata: JsonObject) =>
      live({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'demo', ...metadata } });
    const meshes = (metadata: JsonObject = {}) => {
      live(pod({ metadata }));
      return rows('dataplanes').map(({ mesh }) => mesh);
    };
    expect(meshes()).toEqual(['default']);
    namespace(named('four', 'annotations'));
    expect(meshes()).toEqual(['four']);
    namespace({ ...named('three', 'labels'), ...named('four', 'annotations') });
    expect(meshes()).toEqual(['three']);
    expect(meshes(named('two', 'annotations'))).toEqual(['two']);
    expect(meshes({ ...named('one', 'labels'), ...named('two', 'annotations') })).toEqual(['one']);
  });
});

describe('the inbounds of a Pod', () => {
  it('are the TCP ports of its Services, sorted by name, with their target ports', () => {
    live(
      pod({ containers: [container('kuma-sidecar'), container('app', { name: 'http', containerPort: 8080 }, 9090)] }),
      service('web', { ports: [{ port: 80, targetPort: 'http' }, { port: 9090 }, { port: 53, protocol: 'UDP' }] }),
      service('admin', { ports: [{ port: 81, targetPort: 9090, protocol: 'TCP' }] }),
      service('other', { selector: { app: 'other' } }),
      service('narrow', { selector: { app: 'example', tier: 'gold' } }),
    );
    expect(inbounds()).toEqual(['admin_demo_svc_81:9090', 'web_demo_svc_80:8080', 'web_demo_svc_9090:9090']);
    expect(rows('endpoints')[0]).toEqual({
      ...{ mesh: 'default', service: 'admin_demo_svc_81', address: '10.0.0.1', port: 9090, weight: 1, zone: C },
    });
  });

  it('leave out a port whose name no container has for TCP, and do not look at init containers', () => {
    const udp = { name: 'http', containerPort: 8080, protocol: 'UDP' };
    live(
      pod({
        containers: [container('kuma-sidecar'), container('app', udp)],
        initContainers: [container('init', { name: 'http', containerPort: 1 })],
      }),
      service('web', {
        ports: [
          { port: 80, targetPort: 'http' },
          { port: 81, targetPort: 8080 },
        ],
      }),
    );
    expect(inbounds()).toEqual(['web_demo_svc_81:8080']);
  });

  it('leave out Services that are ignored or stand for other names', () => {
    live(
      pod(),
      service('ignored', {}, { 'kuma.io/ignore': 'true' }),
      service('external', { type: 'ExternalName', externalName: 'example.com' }),
    );
    expect(inbounds()).toEqual(['example_demo_svc:49151']);
  });

  it('follow the Services as they come, change and go', () => {
    live(pod(), service('web', { selector: { app: 'else' } }));
    expect(inbounds()).toEqual(['example_demo_svc:49151']);
    live(service('web', {}));
    expect(inbounds()).toEqual(['web_demo_svc_80:8080']);
    live(service('web', { ports: [{ port: 81, targetPort: 8080 }] }));
    expect(inbounds()).toEqual(['web_demo_svc_81:8080']);
    live(pod({ metadata: { labels: { app: 'else' } } }));
    expect(inbounds()).toEqual(['example_demo_svc:49151']);
    live(pod());
    removeLive(world.engine, C, service('web', {}));
    expect(inbounds()).toEqual(['example_demo_svc:49151']);
  });

  describe('of a Service without selector', () => {
    const slice = (targetRef: JsonObject): JsonObject => ({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'web-1', namespace: 'demo', labels: { 'kubernetes.io/service-name': 'web' } },
      endpoints: [{ addresses: ['10.0.0.1'], targetRef }],
    });
    const withUid = pod({ metadata: { uid: 'u1' } });
    const none = ['example_demo_svc:49151'];
    const one = ['web_demo_svc_80:8080'];
    it.each([
      ['the UID of the Pod', withUid, { kind: 'Pod', name: 'example', uid: 'u1' }, one],
      ['the UID alone', withUid, { kind: 'Pod', uid: 'u1' }, one],
      ['the UID of an earlier Pod of the name', withUid, { kind: 'Pod', name: 'example', uid: 'u0' }, none],
      ['the name alone', withUid, { kind: 'Pod', name: 'example' }, one],
      ['another kind', withUid, { kind: 'Node', name: 'example', uid: 'u1' }, none],
      ['another namespace', withUid, { kind: 'Pod', namespace: 'else', uid: 'u1' }, none],
    ])('are its ports if a slice has %s', (_what, of, targetRef, expected) => {
      live(of, service('web', { selector: {} }), slice(targetRef));
      expect(inbounds()).toEqual(expected);
    });

    it('come and go with the selector', () => {
      live(withUid, slice({ kind: 'Pod', uid: 'u1' }), service('web', { selector: { app: 'else' } }));
      expect(inbounds()).toEqual(none);
      live(service('web', { selector: {} }));
      expect(inbounds()).toEqual(one);
    });
  });

  describe('without Service are one at port 49151, named after', () => {
    const owned = (kind: string, name: string, more: JsonObject = {}): JsonObject => ({
      ownerReferences: [{ apiVersion: 'v1', kind, name, controller: true }],
      ...more,
    });
    const object = (kind: string, name: string, metadata: JsonObject): JsonObject => ({
      ...{ apiVersion: kind === 'Job' ? 'batch/v1' : 'apps/v1', kind },
      metadata: { name, namespace: 'demo', ...metadata },
    });
    it.each<[string, JsonObject, readonly JsonObject[], string]>([
      ['itself', {}, [], 'example'],
      [
        'its Deployment',
        owned('ReplicaSet', 'web-5d'),
        [object('ReplicaSet', 'web-5d', owned('Deployment', 'web'))],
        'web',
      ],
      ['its CronJob', owned('Job', 'night-1'), [object('Job', 'night-1', owned('CronJob', 'night'))], 'night'],
      [
        'its ReplicaSet of another owner',
        owned('ReplicaSet', 'r'),
        [object('ReplicaSet', 'r', owned('Rollout', 'x'))],
        'r',
      ],
      ['its ReplicaSet that is not known', owned('ReplicaSet', 'r'), [], 'r'],
      ['its Job', owned('Job', 'once'), [object('Job', 'once', {})], 'once'],
      ['its StatefulSet', owned('StatefulSet', 'db'), [], 'db'],
      ['its owner of any kind', owned('constructor', 'odd'), [], 'odd'],
    ])('%s', (_what, metadata, others, name) => {
      live(pod({ metadata }), ...others);
      expect(inbounds()).toEqual([`${name}_demo_svc:49151`]);
    });
  });

  it('of a gateway are none: it has the tags of the first that it would have', () => {
    const gateway = (value: string) => pod({ metadata: { annotations: { 'kuma.io/gateway': value } } });
    for (const value of ['enabled', 'provided']) {
      live(gateway(value), service('edge', {}));
      expect(inbounds()).toEqual([]);
      expect(rows('services')).toMatchObject([
        { name: 'edge_demo_svc_80', serviceType: 'gateway_delegated', dataplanes: { total: 1, online: 1 }, zones: [C] },
      ]);
    }
    live(gateway('disabled'));
    expect(inbounds()).toEqual(['edge_demo_svc_80:8080']);
    removeLive(world.engine, C, service('edge', {}));
    live(gateway('enabled'));
    expect(rows('services')).toMatchObject([{ name: 'example_demo_svc', endpoints: { ready: 0, total: 0 } }]);
  });
});

describe('the tags of a Pod', () => {
  const gateway = (value: string, metadata: JsonObject = {}) =>
    pod({ metadata: { annotations: { 'kuma.io/gateway': value }, ...metadata } });
  const http = service('edge', { ports: [{ port: 80, targetPort: 8080, appProtocol: 'HTTP' }] });
  it.each([
    ['enabled', service('edge', {}), 'tcp'],
    ['enabled', http, undefined],
    ['true', http, undefined],
    ['provided', http, 'http'],
  ])('with a gateway that is %s name its protocol if it serves that', (value, of, protocol) => {
    live(gateway(value), of);
    expect(tags()).toMatchObject({ 'kuma.io/service': 'edge_demo_svc_80', 'k8s.kuma.io/service-name': 'edge' });
    expect(tags()['kuma.io/protocol']).toBe(protocol);
  });

  it('with a gateway of no Service name the protocol tcp', () => {
    live(gateway('enabled'));
    expect(tags()).toMatchObject({ 'kuma.io/service': 'example_demo_svc', 'kuma.io/protocol': 'tcp' });
  });

  it('with a provided gateway of a Deployment are its name alone, and no service has it', () => {
    const of = (name: string) => ({
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name, controller: true }],
    });
    const set = (kind: string) => ({
      ...{ apiVersion: 'apps/v1', kind: 'ReplicaSet' },
      metadata: {
        ...{ name: 'kong-5d', namespace: 'demo' },
        ownerReferences: [{ apiVersion: 'apps/v1', kind, name: 'kong', controller: true }],
      },
    });
    live(gateway('provided', of('kong-5d')), service('edge', {}), set('Deployment'));
    expect(tags()).toEqual({ 'kuma.io/service-name': 'kong_demo_svc' });
    expect(rows('services')).toEqual([]);
    live(set('Rollout'));
    expect(tags()).toMatchObject({ 'kuma.io/service': 'edge_demo_svc_80' });
    live(gateway('enabled', of('kong-5d')), set('Deployment'));
    expect(tags()).toMatchObject({ 'kuma.io/service': 'edge_demo_svc_80' });
  });

  const node = (labels: JsonObject): JsonObject => ({
    ...{ apiVersion: 'v1', kind: 'Node' },
    metadata: { name: 'n1', labels },
  });
  const TOPOLOGY = {
    'kubernetes.io/hostname': 'n1.example.com',
    'topology.kubernetes.io/region': 'eu',
    'topology.kubernetes.io/zone': 'eu-1',
  };

  it.each([
    ['a Service', [service('web', {})]],
    ['no Service', []],
  ])('with %s come from its Node too, and follow its labels', (_what, services) => {
    const labels = { app: 'example', 'topology.kubernetes.io/zone': 'own' };
    const ofNode = () => Object.fromEntries(Object.keys(TOPOLOGY).map((label) => [label, tags()[label]]));
    live(pod({ node: 'n1', metadata: { labels } }), ...services);
    expect(ofNode()).toEqual({ 'topology.kubernetes.io/zone': 'own' });
    live(node({ ...TOPOLOGY, 'node.kubernetes.io/instance-type': 'large' }));
    expect(ofNode()).toEqual(TOPOLOGY);
    expect(tags()).not.toHaveProperty('node.kubernetes.io/instance-type');
    live(node({ ...TOPOLOGY, 'topology.kubernetes.io/zone': 'eu-2' }));
    expect(ofNode()).toEqual({ ...TOPOLOGY, 'topology.kubernetes.io/zone': 'eu-2' });
    live(node({}));
    expect(ofNode()).toEqual({ 'topology.kubernetes.io/zone': 'own' });
    live(node(TOPOLOGY), pod({ metadata: { labels } }));
    expect(ofNode()).toEqual({ 'topology.kubernetes.io/zone': 'own' });
    live(pod({ node: 'n1', metadata: { labels } }));
    removeLive(world.engine, C, node(TOPOLOGY));
    expect(ofNode()).toEqual({ 'topology.kubernetes.io/zone': 'own' });
  });

  it('select data planes by the topology of their Nodes', () => {
    live(pod({ node: 'n1' }), pod({ name: 'elsewhere', node: 'n2' }), node(TOPOLOGY), service('web', {}));
    world.engine.commit();
    const filter = { tag: ['topology.kubernetes.io/zone=eu-1'] };
    expect(rowsOf(world.engine, 'dataplanes', filter).map(({ name }) => name)).toEqual(['example.demo']);
  });
});

describe('the Services of zone proxies', () => {
  const proxy = (name: string, type: string, spec: JsonObject = {}) =>
    service(name, spec, {}, { 'k8s.kuma.io/zone-proxy-type': type });
  const listeners = () => {
    world.engine.commit();
    return [...(dataplane()?.listeners ?? [])].map(({ type, port, state }) => `${type}:${port} ${state}`);
  };

  it('make listeners of their ports, and neither inbounds nor services', () => {
    live(
      pod({ containers: [container('kuma-sidecar'), container('app', { name: 'http', containerPort: 8080 }, 9090)] }),
      proxy('in', 'ingress', {
        ports: [
          { port: 80, targetPort: 'http' },
          { port: 53, protocol: 'UDP' },
        ],
      }),
      proxy('out', 'egress', {
        ports: [
          { port: 10002, targetPort: 9090 },
          { port: 81, targetPort: 'none' },
        ],
      }),
    );
    expect(listeners()).toEqual(['ZoneIngress:8080 Ready', 'ZoneEgress:9090 Ready']);
    expect([inbounds(), rows('services'), rows('endpoints')]).toEqual([[], [], []]);
    expect(rows('dataplanes')).toMatchObject([{ status: 'Online', notes: [] }]);
  });

  it('stand beside regular Services of the same Pod', () => {
    live(pod(), proxy('in', 'ingress', { ports: [{ port: 10001 }] }), service('web', {}));
    expect(listeners()).toEqual(['ZoneIngress:10001 Ready']);
    expect(inbounds()).toEqual(['web_demo_svc_80:8080']);
    live(service('web', { ports: [{ port: 80, targetPort: 'none' }] }));
    expect(inbounds()).toEqual(['example_demo_svc:49151']);
  });

  it.each<[string, PodParts]>([
    ['its container is not ready', { ready: { app: false } }],
    ['its sidecar is not ready', { ready: { 'kuma-sidecar': false } }],
    [
      'its Pod is to be deleted',
      { metadata: { labels: { app: 'example' }, deletionTimestamp: '2026-01-05T09:00:30Z' } },
    ],
  ])('make a listener that is not ready while %s', (_what, parts) => {
    live(pod(parts), proxy('in', 'ingress'));
    expect(listeners()).toEqual(['ZoneIngress:8080 NotReady']);
    expect(rows('dataplanes')).toMatchObject([
      { status: 'Offline', notes: ['listener[port=8080,type=ZoneIngress] is not ready'] },
    ]);
  });

  it('follow their label', () => {
    live(pod(), proxy('in', 'ingress'));
    expect(listeners()).toEqual(['ZoneIngress:8080 Ready']);
    live(proxy('in', 'egress'));
    expect(listeners()).toEqual(['ZoneEgress:8080 Ready']);
    live(service('in', {}));
    expect([listeners(), inbounds()]).toEqual([[], ['in_demo_svc_80:8080']]);
  });

  it('are warned of if the type is not known or differs, once for all Pods', () => {
    live(
      pod({ name: 'a' }),
      pod({ name: 'b' }),
      proxy('x', ''),
      proxy('in', 'ingress'),
      proxy('in2', 'ingress'),
      proxy('out', 'egress'),
    );
    world.engine.commit();
    const found = engineDiagnostics(world.engine).filter(({ reason }) => reason === 'UnreadableDataplane');
    expect(found.map(({ message }) => message)).toEqual([
      'Pod/demo/a of cluster east and 1 more: Services of zone proxies make port 8080 a ZoneIngress and a ZoneEgress: it counts as the first',
      'Pod/demo/a of cluster east and 1 more: label k8s.kuma.io/zone-proxy-type of Service x is "", not ingress or egress: its ports count nowhere',
    ]);
    expect(listeners()).toEqual(['ZoneIngress:8080 Ready']);
  });

  it('count for a gateway as all others do', () => {
    live(pod({ metadata: { annotations: { 'kuma.io/gateway': 'enabled' } } }), proxy('in', 'ingress'));
    expect(tags()).toMatchObject({ 'kuma.io/service': 'in_demo_svc_80' });
    expect(listeners()).toEqual([]);
  });
});

describe('the readiness of a Pod', () => {
  const web = service('web', {});
  const many = [container('kuma-sidecar'), container('app', 8080), container('other', 9090)];
  const undeclared = [container('kuma-sidecar'), container('app')];
  const IN = ['web_demo_svc_80:8080'];
  const OUT = ['web_demo_svc_80:8080 out'];
  it.each<[string, PodParts, readonly string[]]>([
    ['ready', {}, IN],
    ['the container of the port is not ready', { ready: { app: false } }, OUT],
    ['the container of the port has no status', { ready: { app: null } }, IN],
    ['no container has a status', { ready: { app: null, 'kuma-sidecar': null } }, IN],
    ['the sidecar is not ready', { ready: { 'kuma-sidecar': false } }, OUT],
    ['another container is not ready', { containers: many, ready: { other: false } }, IN],
    ['it is to be deleted', { metadata: { deletionTimestamp: '2026-01-05T09:00:30Z' } }, OUT],
    [
      'the sidecar among the init containers is not ready',
      {
        containers: [container('app', 8080)],
        initContainers: [container('kuma-sidecar')],
        status: { initContainerStatuses: [{ name: 'kuma-sidecar', ready: false }] },
      },
      OUT,
    ],
    ['the only application of an undeclared port is not ready', { containers: undeclared, ready: { app: false } }, OUT],
    ['the only application of an undeclared port is ready', { containers: undeclared }, IN],
    [
      'the probe proxy is no application',
      { containers: [...undeclared, container('fleetrelay-probe-proxy')], ready: { app: false } },
      OUT,
    ],
    [
      'of several applications of an undeclared port none decides',
      { containers: [...undeclared, container('other')], ready: { app: false, other: false } },
      IN,
    ],
    [
      'of several applications of an undeclared port the sidecar decides',
      { containers: [...undeclared, container('other')], ready: { 'kuma-sidecar': false } },
      OUT,
    ],
  ])('with a Service: %s', (_what, parts, expected) => {
    live(pod(parts), web);
    expect(inbounds()).toEqual(expected);
  });

  const ALONE = ['example_demo_svc:49151'];
  const ALONE_OUT = ['example_demo_svc:49151 out'];
  it.each<[string, PodParts, readonly string[]]>([
    ['ready', {}, ALONE],
    ['any application is not ready', { containers: many, ready: { other: false } }, ALONE_OUT],
    ['the sidecar is not ready', { ready: { 'kuma-sidecar': false } }, ALONE_OUT],
    [
      'the probe proxy is not ready',
      { containers: [...undeclared, container('fleetrelay-probe-proxy')], ready: { 'fleetrelay-probe-proxy': false } },
      ALONE,
    ],
    ['it is to be deleted', { metadata: { deletionTimestamp: '2026-01-05T09:00:30Z' } }, ALONE_OUT],
    [
      'it is to be deleted and has no status',
      { ready: { app: null, 'kuma-sidecar': null }, metadata: { deletionTimestamp: '2026-01-05T09:00:30Z' } },
      ALONE_OUT,
    ],
  ])('without Service: %s', (_what, parts, expected) => {
    live(pod(parts));
    expect(inbounds()).toEqual(expected);
  });

  it('of every sidecar that the policy names counts', () => {
    policy({ sidecars: ['kuma-sidecar', 'second'] });
    live(
      pod({
        containers: [container('kuma-sidecar'), container('second'), container('app', 8080)],
        ready: { second: false },
      }),
      web,
    );
    expect(inbounds()).toEqual(OUT);
  });

  it('warns of a port that several applications could serve, once for all Pods of a Service', () => {
    const unclear = (name: string) => pod({ name, containers: [...undeclared, container('other')] });
    live(unclear('a'), unclear('b'), unclear('c'), web);
    world.engine.commit();
    const found = engineDiagnostics(world.engine).filter(({ reason }) => reason === 'UndeclaredPort');
    expect(found.map(({ message }) => message)).toEqual([
      'Pod/demo/a of cluster east and 2 more: no container declares port 8080 of Service web, and several could serve it: only the sidecar decides whether it is ready',
    ]);
  });
});

describe('the connection of a Pod', () => {
  const at = (time: string) => ({ state: { running: { startedAt: time } } });
  const ended = (time: string) => ({ state: { terminated: { finishedAt: time } } });
  const statuses = (...states: readonly JsonObject[]) => ({
    containerStatuses: states.map((state, index) => ({ name: `c${index}`, ready: true, ...state })),
  });
  const deleted = { deletionTimestamp: '2026-01-05T09:00:30Z' };
  it.each<[string, PodParts, JsonObject]>([
    ['running', {}, { state: 'connected' }],
    [
      'running, since its first container was started',
      { status: statuses(at('2026-01-05T09:00:05Z'), at('2026-01-05T09:00:00Z')) },
      { state: 'connected', since: '2026-01-05T09:00:00Z' },
    ],
    ['pending', { status: { phase: 'Pending' } }, { state: 'never' }],
    ['without phase', { status: { phase: '' } }, { state: 'never' }],
    [
      'failed',
      { status: { phase: 'Failed', ...statuses(ended('2026-01-05T09:00:00Z'), ended('2026-01-05T09:00:07Z')) } },
      { state: 'disconnected', since: '2026-01-05T09:00:07Z' },
    ],
    ['unknown', { status: { phase: 'Unknown' } }, { state: 'disconnected' }],
    ['to be deleted', { metadata: deleted }, { state: 'draining' }],
    [
      'to be deleted, since the request',
      { metadata: { ...deleted, deletionGracePeriodSeconds: 30 } },
      { state: 'draining', since: '2026-01-05T09:00:00Z' },
    ],
    ['pending and to be deleted', { status: { phase: 'Pending' }, metadata: deleted }, { state: 'never' }],
  ])('%s', (_what, parts, connection) => {
    live(pod(parts));
    expect(rows('dataplanes')).toMatchObject([{ connection }]);
    expect(rows('dataplanes')[0]?.connection).toEqual(connection);
  });

  it('is stale while its agent is not connected or cannot list Pods, and its status and endpoints stay', () => {
    live(pod(), service('web', {}));
    const { inputs } = world.engine;
    const before = [rows('services'), rows('endpoints')];
    const stale = () => rows('dataplanes').map(({ status, stale: is }) => [status, is]);
    expect(stale()).toEqual([['Online', undefined]]);
    inputs.kinds.set(C, '/Pod', { kind: '/Pod', state: 'unknown', message: 'forbidden' });
    expect(stale()).toEqual([['Online', true]]);
    inputs.kinds.delete(C, '/Pod');
    expect(stale()).toEqual([['Online', undefined]]);
    const agent = inputs.agents.get('', C);
    if (agent === undefined) throw new Error('the agent is not known');
    inputs.agents.set('', C, { ...agent, connected: false });
    expect(stale()).toEqual([['Online', true]]);
    expect([rows('services'), rows('endpoints')]).toEqual(before);
  });
});
