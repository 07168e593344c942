import { beforeEach, describe, expect, it } from 'vitest';
import { metadataOf } from '../../../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { createEngineWorld } from '../../../../support/engine-world.ts';
import { clusterYaml } from '../../../../support/manifests.ts';
import { container, pod, removeLive, service, stageLive } from '../../health/engine/support.ts';

/** Mirrored slices and the load-balancing set of the cluster that they come from. */

const mirror = `apiVersion: fleetrelay.dev/v1alpha1
kind: ServiceMirror
metadata: {name: shared}
spec:
  from: {names: [east, north]}
  to: {names: [west]}
  serviceSelector: {}
`;

const SLICE = 'discovery.k8s.io/EndpointSlice/demo/east-web-1';
const OUT = { ready: false, serving: false };

let world: ReturnType<typeof createEngineWorld>;
beforeEach(() => {
  world = createEngineWorld();
  for (const cluster of ['east', 'north', 'west']) world.file(`${cluster}.yaml`, clusterYaml(cluster));
  world.file('mirror.yaml', mirror);
  const { inputs } = world.engine;
  for (const cluster of ['east', 'north']) {
    inputs.snapshots.set('', cluster, { since: 1 });
    for (const kind of ['/Service', 'discovery.k8s.io/EndpointSlice']) {
      inputs.kinds.set(cluster, kind, { kind, state: 'complete', message: '' });
    }
  }
  stage(service('web', { ports: [{ name: 'http', port: 80, targetPort: 8080 }] }));
});

function stage(value: JsonObject, cluster = 'east'): void {
  stageLive(world.engine, cluster, value);
}

function slice(
  endpoints: readonly JsonObject[],
  ports: readonly JsonObject[] = [{ name: 'http', port: 8080 }],
  name = 'web-1',
) {
  return {
    ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4' },
    metadata: { name, namespace: 'demo', labels: { 'kubernetes.io/service-name': 'web' } },
    ...{ endpoints, ports },
  };
}

/** The mirrored slices, by key: their ports and endpoints. */
function mirrored(): Readonly<Record<string, readonly [readonly string[], readonly JsonObject[]]>> {
  world.engine.commit();
  const slices = [...world.engine.outputs.entries('west')].flatMap(({ key, value }) => {
    if (!key.startsWith('discovery.k8s.io/') || value.type !== 'object') return [];
    const ports = (value.value.ports as readonly JsonObject[]).map(({ name }) => String(name));
    return [[key, [ports, value.value.endpoints as readonly JsonObject[]]] as const];
  });
  return Object.fromEntries(slices.sort());
}

/** What of a mirrored slice says of its one endpoint. */
function conditions(): unknown {
  const [, endpoints] = mirrored()[SLICE] ?? [];
  return endpoints?.[0]?.conditions;
}

/** West has accepted its output. */
function accept(): void {
  const { inputs, outputs } = world.engine;
  world.engine.commit();
  for (const { key, value } of outputs.entries('west')) {
    if (value.type !== 'object') continue;
    const { digest, origins, scope } = value;
    inputs.ledger.set('west', key, { digest, origins, scope, phase: 'accepted', serves: 'east-web' });
  }
}

const READY = { addresses: ['10.0.0.1'], conditions: { ready: true, serving: true, terminating: false } };

describe('an endpoint of a mirrored slice that is an inbound of a data plane', () => {
  it('is not ready while the inbound is outside the set, and keeps its address', () => {
    stage(pod());
    stage(slice([READY]));
    expect(mirrored()).toEqual({ [SLICE]: [['http'], [READY]] });
    accept();
    stage(pod({ ready: { app: false } }));
    const out = { addresses: ['10.0.0.1'], conditions: { ...OUT, terminating: false } };
    expect(mirrored()).toEqual({ [SLICE]: [['http'], [out]] });
    accept();
    stage(pod());
    expect(mirrored()).toEqual({ [SLICE]: [['http'], [READY]] });
  });

  it('is not ready although its own cluster says nothing of it', () => {
    stage(pod({ ready: { 'kuma-sidecar': false } }));
    stage(slice([{ addresses: ['10.0.0.1'] }]));
    expect(conditions()).toEqual(OUT);
  });

  it('stays not ready if its own cluster says so', () => {
    stage(pod());
    stage(slice([{ addresses: ['10.0.0.1'], conditions: { ready: false, serving: true } }]));
    expect(conditions()).toEqual({ ready: false, serving: true });
  });

  it.each(['pod', 'live Dataplane'])('is not ready at the Pod’s address of the other family either (%s)', (source) => {
    const stagePod = (isReady: boolean): void => {
      const status = { podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }] };
      stage(pod({ status, ready: { app: isReady } }));
      if (source === 'pod') return;
      const inbound = { port: 8080, tags: { 'kuma.io/service': 'web' }, health: { ready: isReady } };
      stage({
        ...{ apiVersion: 'kuma.io/v1alpha1', kind: 'Dataplane', mesh: 'default' },
        metadata: { name: 'example', namespace: 'demo', ownerReferences: [{ kind: 'Pod', name: 'example' }] },
        spec: { networking: { address: '10.0.0.1', inbound: [inbound] } },
      });
    };
    stagePod(true);
    stage({ ...slice([{ addresses: ['fd00:0::1'] }]), addressType: 'IPv6' });
    expect(conditions()).not.toEqual(OUT);
    accept();
    stagePod(false);
    expect(conditions()).toEqual(OUT);
  });

  it('is as it is in its cluster if another inbound at its address and port is in the set', () => {
    const dataplane = (name: string, ready: boolean) => ({
      ...{ apiVersion: 'kuma.io/v1alpha1', kind: 'Dataplane', mesh: 'default', metadata: { name, namespace: 'demo' } },
      spec: { networking: { address: '10.0.0.1', inbound: [{ port: 8080, health: { ready }, tags: {} }] } },
    });
    stage(dataplane('a', false));
    stage(slice([READY]));
    expect(conditions()).toMatchObject(OUT);
    stage(dataplane('b', true));
    expect(conditions()).toEqual(READY.conditions);
    removeLive(world.engine, 'east', dataplane('b', true));
    expect(conditions()).toMatchObject(OUT);
  });

  it('is the same however its IPv6 address is written', () => {
    stage({
      ...{
        apiVersion: 'kuma.io/v1alpha1',
        kind: 'Dataplane',
        mesh: 'default',
        metadata: { name: 'a', namespace: 'demo' },
      },
      spec: { networking: { address: '2001:DB8:0::1', inbound: [{ port: 8080, state: 'NotReady', tags: {} }] } },
    });
    stage(slice([{ addresses: ['2001:db8::1'] }]));
    expect(conditions()).toEqual(OUT);
  });

  it('is not ready if the inbound at one of its addresses is outside the set', () => {
    stage(pod({ name: 'other', status: { podIP: '10.0.0.2' } }));
    stage(pod({ ready: { app: false } }));
    stage(slice([{ addresses: ['10.0.0.9', '10.0.0.2', '10.0.0.1'] }]));
    expect(conditions()).toEqual(OUT);
  });
});

describe('an endpoint of a mirrored slice that is no inbound', () => {
  it.each<[string, readonly JsonObject[], readonly JsonObject[]]>([
    ['has another address', [{ addresses: ['10.0.0.2'], conditions: { ready: true } }], [{ name: 'http', port: 8080 }]],
    ['has another port', [READY], [{ name: 'http', port: 8081 }]],
    ['has another protocol', [READY], [{ name: 'http', port: 8080, protocol: 'UDP' }]],
    ['has all ports', [READY], [{ name: 'http' }]],
    ['has no ports', [READY], []],
    ['has malformed addresses', [{ addresses: '10.0.0.1' }, { addresses: [8080, null] }, {}], [{ port: 8080 }]],
  ])('is as it is in its cluster: it %s', (_what, endpoints, ports) => {
    stage(pod({ ready: { app: false } }));
    stage(slice(endpoints, ports));
    expect(mirrored()[SLICE]?.[1]).toEqual(endpoints);
  });

  it('is not changed by a data plane of another cluster with its address', () => {
    stage(slice([READY]));
    stage(service('web', {}), 'north');
    stage(pod({ ready: { app: false } }), 'north');
    expect(mirrored()).toEqual({ [SLICE]: [['http'], [READY]] });
    expect(world.engine.outputs.get('west', SLICE)).toMatchObject({ scope: ['east'] });
  });
});

describe('a slice with several ports', () => {
  const PORTS = [
    { name: 'http', port: 8080 },
    { name: 'admin', port: 9090 },
    { name: 'dns', port: 53, protocol: 'UDP' },
  ];
  const containers = [container('kuma-sidecar'), container('app', 8080), container('admin', 9090)];
  const OTHER = { addresses: ['10.0.0.2'], conditions: { ready: true } };

  beforeEach(() => {
    const ports = PORTS.map(({ port, ...more }) => ({ ...more, port, targetPort: port }));
    stage(service('web', { ports }));
    stage(slice([READY, OTHER], PORTS));
  });

  it('stays one slice while all ports of each endpoint are ready alike', () => {
    stage(pod({ containers }));
    expect(mirrored()).toEqual({
      [SLICE]: [
        ['http', 'admin', 'dns'],
        [READY, OTHER],
      ],
    });
    stage(pod({ containers, ready: { 'kuma-sidecar': false } }));
    // No inbound is for UDP, so that port differs.
    const out = { ...READY, conditions: { ...READY.conditions, ...OUT } };
    expect(mirrored()).toEqual({
      [SLICE]: [
        ['http', 'admin'],
        [out, OTHER],
      ],
      [`${SLICE}-dns`]: [['dns'], [READY, OTHER]],
    });
  });

  it('gives ports that differ slices of their own, which stay without endpoints: nothing is removed', () => {
    stage(pod({ containers, ready: { admin: false } }));
    const out = { ...READY, conditions: { ...READY.conditions, ...OUT } };
    const apart = {
      [SLICE]: [
        ['http', 'dns'],
        [READY, OTHER],
      ],
      [`${SLICE}-admin`]: [['admin'], [out, OTHER]],
    };
    expect(mirrored()).toEqual(apart);
    accept();
    stage(pod({ containers }));
    const together = {
      [SLICE]: [
        ['http', 'admin', 'dns'],
        [READY, OTHER],
      ],
    };
    expect(mirrored()).toEqual({ ...together, [`${SLICE}-admin`]: [['admin'], []] });
    accept();
    stage(pod({ containers, ready: { admin: false } }));
    expect(mirrored()).toEqual(apart);
    accept();
    // Another cluster that never had the slice does not get it.
    world.file('mirror.yaml', mirror.replace('[west]', '[west, south]'));
    world.file('south.yaml', clusterYaml('south'));
    stage(pod({ containers }));
    expect(mirrored()).toHaveProperty(`${SLICE}-admin`);
    expect(keysOf('south')).toEqual(['/Service/demo/east-web', SLICE]);
    removeLive(world.engine, 'east', slice([], PORTS));
    expect(mirrored()).toEqual({});
  });

  it('names for each slice those that get its ports or endpoints, so that none is lost where another is refused', () => {
    const annotationsOf = (key: string): unknown => {
      world.engine.commit();
      const output = world.engine.outputs.get('west', key);
      return output?.type === 'object' ? metadataOf(output.value).annotations : undefined;
    };
    stage(pod({ containers }));
    expect(annotationsOf(SLICE)).toBeUndefined();
    accept();
    stage(pod({ containers, ready: { admin: false } }));
    expect(annotationsOf(SLICE)).toEqual({ 'fleetrelay.dev/updated-after': 'east-web-1-admin' });
    expect(annotationsOf(`${SLICE}-admin`)).toEqual({ 'fleetrelay.dev/removed-after': 'east-web-1' });
    accept();
    // One port goes back and another comes: the two orders do not meet.
    stage(pod({ containers, ready: { 'kuma-sidecar': false } }));
    expect(annotationsOf(SLICE)).toEqual({ 'fleetrelay.dev/updated-after': 'east-web-1-dns' });
    expect(annotationsOf(`${SLICE}-admin`)).toEqual({ 'fleetrelay.dev/updated-after': 'east-web-1' });
    expect(annotationsOf(`${SLICE}-dns`)).toEqual({ 'fleetrelay.dev/removed-after': 'east-web-1' });
  });

  function keysOf(cluster: string): readonly string[] {
    return [...world.engine.outputs.entries(cluster)].map(({ key }) => key).sort();
  }
});

it('one inbound that changes computes only the slices with its address', () => {
  const computedWith = (slices: number): number => {
    for (let at = 1; at <= slices; at += 1) {
      stage(slice([{ addresses: [`10.0.0.${at}`] }], [{ name: 'http', port: 8080 }], `web-${at}`));
    }
    stage(pod());
    world.engine.commit();
    stage(pod({ ready: { app: false } }));
    return world.engine.commit().computed;
  };
  expect(computedWith(60)).toBe(computedWith(3));
});

it('an update that takes every endpoint out of its set is not held by a guard', () => {
  stage(pod());
  stage(slice([READY]));
  accept();
  stage(pod({ ready: { app: false } }));
  world.engine.commit();
  expect(world.engine.outputs.get('west', SLICE)?.type).toBe('object');
  expect(world.engine.pending.get('west', SLICE)).toMatchObject({
    type: 'upsert',
    object: { value: { endpoints: [{ addresses: ['10.0.0.1'], conditions: OUT }] }, scope: ['east'] },
  });
});
