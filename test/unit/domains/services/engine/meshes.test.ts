import { beforeEach, describe, expect, it } from 'vitest';
import { sliceAddressOf } from '../../../../../src/domains/services/engine/slice-address.ts';
import type { EngineDiagnostic } from '../../../../../src/engine/domain.ts';
import { explainObject } from '../../../../../src/engine/explain/explain.ts';
import { engineDiagnostics } from '../../../../../src/engine/status/diagnostics.ts';
import type { ObjectResult } from '../../../../../src/model/agent/agent.ts';
import { servedService } from '../../../../../src/model/objects/endpoints.ts';
import type { ObjectKey } from '../../../../../src/model/objects/object-key.ts';
import { objectDigest } from '../../../../../src/model/text/digest.ts';
import { type JsonObject, objectOf, objectsOf } from '../../../../../src/model/text/json.ts';
import { stageFile } from '../../../../../src/runtime/replica/sources.ts';
import { decodeFile } from '../../../../support/decode-file.ts';
import { createEngineWorld } from '../../../../support/engine-world.ts';
import { clusterYaml } from '../../../../support/manifests.ts';
import { dataplaneYaml, inbound, rowsOf, service } from '../../health/engine/support.ts';

/** Services of declared data planes in clusters, over several commits of one engine. */

let world: ReturnType<typeof createEngineWorld>;
beforeEach(() => {
  world = createEngineWorld();
  world.file('edge.yaml', clusterYaml('edge'));
  mirror();
});

function mirror(from = '{meshes: [default], namespace: machines}', to = '[edge]'): void {
  const spec = `{from: ${from}, to: {names: ${to}}}`;
  world.file(
    'mirror.yaml',
    `apiVersion: fleetrelay.dev/v1alpha1\nkind: ServiceMirror\nmetadata: {name: machines}\nspec: ${spec}\n`,
  );
}

function declare(name: string, networking: JsonObject, mesh = 'default'): void {
  world.file(`dataplanes/${mesh}/${name}.yaml`, dataplaneYaml({ mesh, name, networking }));
}

/** Stages a file of another source. */
function other(path: string, text: string | null): void {
  world.engine.inputs.sources.set('', 'other', { order: 1, read: true });
  const reading = text === null ? null : decodeFile(path, new TextEncoder().encode(text), text).reading;
  stageFile(world.engine, 'other', path, reading);
}

function report(name: string, workloads: JsonObject, mesh = 'default'): void {
  const value = { envoyHealthy: true, envoySince: 0, workloads };
  world.engine.domainInputs.health?.reports?.set('', `${mesh}/${name}`, value);
}

/** The objects that edge should hold, by kind and name. */
function wanted(): Readonly<Record<string, JsonObject>> {
  world.engine.commit();
  const objects = [...world.engine.outputs.entries('edge')].flatMap(({ value }) =>
    value.type === 'object'
      ? [[`${value.value.kind} ${objectOf(value.value.metadata).name}`, value.value] as const]
      : [],
  );
  return Object.fromEntries(objects.sort());
}

/** The addresses of a slice, `!` before those that are not ready. */
function addressesOf(slice: string): readonly string[] | undefined {
  const endpoints = wanted()[`EndpointSlice ${slice}`]?.endpoints;
  if (endpoints === undefined) return undefined;
  return objectsOf(endpoints).map(({ addresses, conditions }) => {
    const { ready, serving } = objectOf(conditions);
    expect(serving).toBe(ready);
    return `${ready === true ? '' : '!'}${String(addresses)}`;
  });
}

/** Edge has accepted its output. */
function accept(): void {
  const { inputs, outputs } = world.engine;
  world.engine.commit();
  for (const { key, value } of outputs.entries('edge')) {
    if (value.type !== 'object') continue;
    const { digest, origins, scope } = value;
    const serves = servedService(key as ObjectKey, value.value);
    inputs.ledger.set('edge', key, {
      ...{ digest, origins, scope, phase: 'accepted' },
      ...(serves === undefined ? {} : { serves }),
    });
  }
  world.engine.commit();
}

function rawDiagnostics(reason: string): readonly EngineDiagnostic[] {
  world.engine.commit();
  return engineDiagnostics(world.engine).filter((one) => one.reason === reason);
}

function diagnostics(reason: string): readonly string[] {
  return rawDiagnostics(reason).map(({ message }) => message);
}

function sliceKeyOf(name: string): string {
  return `discovery.k8s.io/EndpointSlice/machines/${name}`;
}

const IPV4 = 'default-postgres-5432-ipv4';

describe('services of declared data planes', () => {
  it('are headless Services, with a slice for each port and IP family', () => {
    declare('db-1', { address: '10.0.0.1', inbound: [inbound('postgres', 5432), inbound('postgres', 9187)] });
    declare('db-2', { address: '2001:DB8:0::1', inbound: [inbound('postgres', 5432, { health: { ready: false } })] });
    const labels = {
      'gimbal.projectcontour.io/backend': 'default',
      'gimbal.projectcontour.io/service': 'postgres',
    };
    const slice = (name: string, addressType: string, port: number, address: string, ready: boolean) => ({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name,
        namespace: 'machines',
        labels: {
          ...labels,
          'kubernetes.io/service-name': 'default-postgres',
          'endpointslice.kubernetes.io/managed-by': 'fleetrelay.dev',
        },
      },
      addressType,
      endpoints: [{ addresses: [address], conditions: { ready, serving: ready } }],
      ports: [{ name: `port-${port}`, port, protocol: 'TCP' }],
    });
    expect(wanted()).toEqual({
      'Service default-postgres': {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'default-postgres', namespace: 'machines', labels },
        spec: {
          type: 'ClusterIP',
          clusterIP: 'None',
          ports: [
            { name: 'port-5432', port: 5432, protocol: 'TCP' },
            { name: 'port-9187', port: 9187, protocol: 'TCP' },
          ],
        },
      },
      [`EndpointSlice ${IPV4}`]: slice(IPV4, 'IPv4', 5432, '10.0.0.1', true),
      'EndpointSlice default-postgres-5432-ipv6': slice(
        ...(['default-postgres-5432-ipv6', 'IPv6', 5432, '2001:db8::1', false] as const),
      ),
      'EndpointSlice default-postgres-9187-ipv4': slice(
        ...(['default-postgres-9187-ipv4', 'IPv4', 9187, '10.0.0.1', true] as const),
      ),
    });
    const [first] = [...world.engine.outputs.entries('edge')];
    expect(first?.value).toMatchObject({ scope: [] });
  });

  it('have the advertised address, and are in the meshes that the mirror reads', () => {
    declare('a', { address: '10.0.0.1', advertisedAddress: '192.0.2.1', inbound: [inbound('postgres', 5432)] });
    declare('b', { address: '10.0.0.2', inbound: [inbound('postgres', 5432)] }, 'other');
    declare('c', { address: '10.0.0.3', gateway: { tags: { 'kuma.io/service': 'edge' } } });
    declare('d', { address: '10.0.0.4', inbound: [{ port: 80, tags: {} }, inbound('x', 80, { state: 'Ignored' })] });
    expect(Object.keys(wanted())).toEqual([`EndpointSlice ${IPV4}`, 'Service default-postgres']);
    expect(addressesOf(IPV4)).toEqual(['192.0.2.1']);
    mirror('{meshes: [default, other], namespace: machines}');
    expect(addressesOf('other-postgres-5432-ipv4')).toEqual(['10.0.0.2']);
    mirror('{meshes: [other], namespace: machines}');
    expect(Object.keys(wanted())).toEqual(['EndpointSlice other-postgres-5432-ipv4', 'Service other-postgres']);
    mirror('{names: [edge]}');
    expect(wanted()).toEqual({});
  });

  it('keep the addresses of inbounds outside the set, which are not ready', () => {
    declare('a', { address: '10.0.0.1', inbound: [inbound('postgres', 5432, { serviceProbe: { tcp: {} } })] });
    declare('b', { address: '10.0.0.2', inbound: [inbound('postgres', 5432, { state: 'NotReady' })] });
    declare('c', { address: '10.0.0.3', inbound: [inbound('postgres', 5432)] });
    expect(addressesOf(IPV4)).toEqual(['!10.0.0.1', '!10.0.0.2', '10.0.0.3']);
    report('a', { '10.0.0.1:5432': true });
    expect(addressesOf(IPV4)).toEqual(['10.0.0.1', '!10.0.0.2', '10.0.0.3']);
    report('c', { '10.0.0.3:5432': false });
    expect(addressesOf(IPV4)).toEqual(['10.0.0.1', '!10.0.0.2', '!10.0.0.3']);
  });

  it('have an address once, which is ready if one of its inbounds is in the set', () => {
    const networking = { address: '10.0.0.1', inbound: [inbound('postgres', 5432)] };
    declare('a', { ...networking, inbound: [inbound('postgres', 5432, { state: 'NotReady' })] });
    expect(addressesOf(IPV4)).toEqual(['!10.0.0.1']);
    declare('b', networking);
    expect(addressesOf(IPV4)).toEqual(['10.0.0.1']);
  });

  it('are one service each by their names, and a name that two share is the one of the incumbent', () => {
    declare('b', { address: '10.0.0.2', inbound: [inbound('web-shop', 80)] });
    accept();
    declare('a', { address: '10.0.0.1', inbound: [inbound('Web_shop', 80)] });
    expect(addressesOf('default-web-shop-80-ipv4')).toEqual(['10.0.0.2']);
    const [message, ...others] = diagnostics('NameCollision');
    expect(message).toContain(
      'EndpointSlice.discovery.k8s.io/machines/default-web-shop-80-ipv4 of edge would stand for the IPv4 addresses at port 80 of service',
    );
    expect(others).toEqual([
      'Service/machines/default-web-shop of edge would stand for service Web_shop of mesh default and for service web-shop of mesh default: the first one stays, so rename the other, or leave it out of the ServiceMirror',
    ]);
    // The incumbent is followed.
    declare('c', { address: '10.0.0.3', inbound: [inbound('web-shop', 80)] });
    expect(addressesOf('default-web-shop-80-ipv4')).toEqual(['10.0.0.2', '10.0.0.3']);
    for (const name of ['b', 'c']) world.file(`dataplanes/default/${name}.yaml`, null);
    expect(addressesOf('default-web-shop-80-ipv4')).toEqual(['10.0.0.1']);
  });

  it('are counted and listed as mirrored services', () => {
    declare('a', { address: '10.0.0.1', inbound: [inbound('postgres', 5432), inbound('Metrics', 9090)] });
    accept();
    expect(world.engine.statuses.get('ServiceMirror', 'machines')?.fields).toMatchObject({
      mirroredServices: 2,
      counts: { targeted: 4 },
    });
    expect(rowsOf(world.engine, 'mirrored-services')).toEqual([
      { service: 'Metrics', from: 'mesh default', to: 'edge', mirror: 'machines' },
      { service: 'postgres', from: 'mesh default', to: 'edge', mirror: 'machines' },
    ]);
  });
});

describe('a Service of the name that lives in the cluster', () => {
  const live = service('default-postgres', {});
  const key = '/Service/machines/default-postgres' as ObjectKey;
  const stage = (): void => {
    const value = { ...live, metadata: { name: 'default-postgres', namespace: 'machines' } };
    world.engine.inputs.live.set('edge', key, { key, value, digest: objectDigest(value) });
  };
  const result = (state: ObjectResult['state']): void => {
    const digest = objectDigest(live);
    world.engine.inputs.results.set('edge', key, { key, digest, state, reason: '', message: '' });
  };
  const address = (last: number) => declare('a', { address: `10.0.0.${last}`, inbound: [inbound('postgres', 5432)] });
  const typeOfSlice = () => {
    world.engine.commit();
    return world.engine.outputs.get('edge', sliceKeyOf(IPV4))?.type;
  };

  it('of another owner gets no addresses', () => {
    stage();
    address(1);
    expect(typeOfSlice()).toBe(undefined);
    accept();
    expect(typeOfSlice()).toBe('absent');
    result('conflict');
    expect(typeOfSlice()).toBe(undefined);
  });

  it('is the own one once it was applied, also while its agent reports nothing of it', () => {
    address(1);
    accept();
    stage();
    expect(typeOfSlice()).toBe('object');
    address(2);
    expect(typeOfSlice()).toBe('keep');
    for (const state of ['applied', 'failed'] as const) {
      result(state);
      expect(addressesOf(IPV4)).toEqual(['10.0.0.2']);
    }
  });
});

describe('an address that no slice can have', () => {
  it.each([
    ['db.example.com', 'none', 'is a host name'],
    ['127.0.0.1', 'none', 'is a loopback address'],
    ['::1', 'none', 'is a loopback address'],
    ['::ffff:127.0.0.1', 'none', 'is a loopback address'],
    ['0.0.0.0', 'none', 'is unspecified'],
    ['::', 'none', 'is unspecified'],
    ['169.254.1.1', 'none', 'is a link-local address'],
    ['fe80::1', 'none', 'is a link-local address'],
    ['febf::1', 'none', 'is a link-local address'],
    ['224.0.0.1', 'none', 'is a link-local multicast address'],
    ['ff02::1', 'none', 'is a link-local multicast address'],
    ['ff32::1', 'none', 'is a link-local multicast address'],
    ['ff05::1', 'IPv6', undefined],
    ['169.253.0.1', 'IPv4', undefined],
    ['224.0.1.1', 'IPv4', undefined],
    ['fec0::1', 'IPv6', undefined],
    ['::ffff:10.0.0.1', 'IPv4', undefined],
  ])('%s: %s, %s', (address, family, because) => {
    const found = sliceAddressOf(address);
    expect([found.family, 'because' in found ? found.because : undefined]).toEqual([family, because]);
  });

  it('is left out with a warning at its field, and the Service stays', () => {
    declare('a', { address: 'db.example.com', inbound: [inbound('postgres', 5432), inbound('metrics', 9090)] });
    declare('b', { address: '10.0.0.1', advertisedAddress: '127.0.0.1', inbound: [inbound('postgres', 5432)] });
    declare('c', {
      address: '10.0.0.1',
      inbound: [inbound('postgres', 5432), inbound('metrics', 80, { address: '::1' })],
    });
    declare('unread', { address: 'db.example.com', inbound: [inbound('postgres', 5432)] }, 'other');
    expect(Object.keys(wanted())).toEqual([
      `EndpointSlice ${IPV4}`,
      'Service default-metrics',
      'Service default-postgres',
    ]);
    const found = rawDiagnostics('AddressNotMirrored');
    const so = 'so it is in no EndpointSlice of its mirrored services';
    expect(found.map(({ message, at }) => [message, at[0]?.path, at[0]?.field])).toEqual([
      [
        `the address db.example.com of Dataplane default/a is a host name, ${so}`,
        ...['dataplanes/default/a.yaml', ['networking', 'address']],
      ],
      [
        `the address 127.0.0.1 of Dataplane default/b is a loopback address, ${so}`,
        ...['dataplanes/default/b.yaml', ['networking', 'advertisedAddress']],
      ],
      [
        `the address ::1 of Dataplane default/c is a loopback address, ${so}`,
        ...['dataplanes/default/c.yaml', ['networking', 'inbound', 1, 'address']],
      ],
    ]);
    mirror('{meshes: [nothing], namespace: machines}');
    expect(rawDiagnostics('AddressNotMirrored')).toEqual([]);
  });
});

describe('a slice', () => {
  const many = (count: number, more: readonly JsonObject[] = []): void =>
    declare('many', {
      address: '10.0.0.1',
      inbound: [
        ...Array.from({ length: count }, (_, at) =>
          inbound('postgres', 5432, { address: `10.1.${Math.floor(at / 250)}.${at % 250}` }),
        ),
        ...more,
      ],
    });
  const one = (address: string, more: JsonObject = {}) => inbound('postgres', 5432, { address, ...more });

  it('has at most 1,000 addresses, and one more address changes one slice', () => {
    many(1000);
    expect(addressesOf(IPV4)).toHaveLength(1000);
    many(2500, [one('10.2.0.1', { state: 'NotReady' })]);
    const slices = Object.entries(wanted()).filter(([name]) => name.startsWith('EndpointSlice'));
    expect(slices.map(([name]) => name)).toEqual([
      ...[IPV4, `${IPV4}-4`, `${IPV4}-8`, `${IPV4}-c`].map((name) => `EndpointSlice ${name}`),
    ]);
    const sizes = slices.map(([, { endpoints }]) => objectsOf(endpoints).length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1000);
    const addresses = slices.flatMap(([, { endpoints }]) => objectsOf(endpoints).map((each) => String(each.addresses)));
    expect(new Set(addresses).size).toBe(2501);
    expect(addresses).toHaveLength(2501);
    const changes = world.engine.graph.watch(world.engine.outputs);
    changes.take();
    many(2500, [one('10.2.0.1', { state: 'NotReady' }), one('10.2.0.2')]);
    world.engine.commit();
    expect(changes.take()).toHaveLength(1);
    many(2500, [one('10.2.0.1'), one('10.2.0.2')]);
    world.engine.commit();
    expect(changes.take()).toHaveLength(1);
    many(1);
    expect(Object.keys(wanted())).toEqual([`EndpointSlice ${IPV4}`, 'Service default-postgres']);
  });

  it('that is cut keeps its name and half of its addresses', () => {
    many(1000);
    const before = new Set(addressesOf(IPV4));
    many(1000, [one('10.2.0.1')]);
    const after = addressesOf(IPV4) ?? [];
    expect(after.length).toBeGreaterThan(300);
    expect(after.filter((address) => !before.has(address) && address !== '10.2.0.1')).toEqual([]);
    expect(addressesOf(`${IPV4}-8`)).toHaveLength(1001 - after.length);
  });

  it('is computed alone when one of its addresses changes', () => {
    const computedWith = (services: number): number => {
      for (let at = 0; at < services; at += 1) {
        declare(`db-${at}`, { address: `10.0.0.${at + 1}`, inbound: [inbound(`service-${at}`, 5432)] });
      }
      world.engine.commit();
      report('db-0', { '10.0.0.1:5432': false });
      const { computed } = world.engine.commit();
      report('db-0', { '10.0.0.1:5432': true });
      world.engine.commit();
      return computed;
    };
    expect(computedWith(100)).toBe(computedWith(3));
  });

  it('is computed at a cost that does not follow the other slices of its service', () => {
    const computedWith = (count: number): number => {
      many(count);
      declare('db', { address: '10.9.0.1', inbound: [inbound('postgres', 5432)] });
      world.engine.commit();
      report('db', { '10.9.0.1:5432': false });
      const { computed } = world.engine.commit();
      report('db', { '10.9.0.1:5432': true });
      world.engine.commit();
      return computed;
    };
    expect(computedWith(2500)).toBe(computedWith(3));
  });
});

describe('while a report of health is waited for after a start', () => {
  const probed = (port = 5432) => [inbound('postgres', port, { serviceProbe: { tcp: {} } })];
  const typeOf = (slice = IPV4) => {
    world.engine.commit();
    const { type, ...output } = world.engine.outputs.get('edge', sliceKeyOf(slice)) ?? { type: 'none' };
    return 'reason' in output ? [type, output.reason] : [type];
  };
  const start = (at: number) => world.engine.inputs.safeStart.set('', '', at);
  /** All deadlines that a clock at this moment finds passed. */
  const passUntil = (now: number): void => {
    world.engine.commit();
    for (const owner of world.engine.deadlines.partitions()) {
      for (const { key, value } of world.engine.deadlines.entries(owner)) {
        if (value.at <= now) world.engine.inputs.elapsed.set(owner, key, value.at);
      }
    }
  };

  it('the slice stays as the cluster has it, until the data plane reports', () => {
    declare('a', { address: '10.0.0.1', inbound: probed() });
    report('a', { '10.0.0.1:5432': true });
    accept();
    world.engine.domainInputs.health?.reports?.delete('', 'default/a');
    start(1000);
    expect(typeOf()).toEqual(['keep', 'HealthUnknown']);
    expect(rowsOf(world.engine, 'endpoints')).toEqual([]);
    // Another change of the slice waits too.
    declare('b', { address: '10.0.0.2', inbound: [inbound('postgres', 5432)] });
    expect(typeOf()).toEqual(['keep', 'HealthUnknown']);
    expect(world.engine.statuses.get('ServiceMirror', 'machines')?.fields).toMatchObject({ counts: { held: 1 } });
    report('a', { '10.0.0.1:5432': false });
    expect(addressesOf(IPV4)).toEqual(['!10.0.0.1', '10.0.0.2']);
  });

  it('the slice stays until reportWaitSeconds of the policy have passed, once in a process', () => {
    declare('a', { address: '10.0.0.1', inbound: probed() });
    report('a', { '10.0.0.1:5432': true });
    accept();
    world.engine.domainInputs.health?.reports?.delete('', 'default/a');
    start(1000);
    passUntil(1179);
    expect(typeOf()).toEqual(['keep', 'HealthUnknown']);
    const policy = (seconds: number) =>
      `apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: fleet}\nspec: {health: {reportWaitSeconds: ${seconds}}}\n`;
    world.file('policy.yaml', policy(300));
    passUntil(1299);
    expect(typeOf()).toEqual(['keep', 'HealthUnknown']);
    passUntil(1300);
    expect(addressesOf(IPV4)).toEqual(['!10.0.0.1']);
    world.file('policy.yaml', policy(3000));
    expect(addressesOf(IPV4)).toEqual(['!10.0.0.1']);
  });

  it('a slice that the cluster does not have is not made, and others are', () => {
    start(1000);
    declare('a', { address: '10.0.0.1', inbound: [...probed(), inbound('metrics', 9090)] });
    expect(typeOf()).toEqual(['absent', 'HealthUnknown']);
    expect(addressesOf('default-metrics-9090-ipv4')).toEqual(['10.0.0.1']);
    passUntil(1180);
    expect(addressesOf(IPV4)).toEqual(['!10.0.0.1']);
  });

  it.each<[string, JsonObject, boolean]>([
    ['is declared not ready', { serviceProbe: {}, state: 'NotReady' }, false],
    ['has no probe', {}, true],
  ])('nothing is unknown of an inbound that %s', (_what, more, isReady) => {
    start(1000);
    declare('a', { address: '10.0.0.1', inbound: [inbound('postgres', 5432, more)] });
    expect(addressesOf(IPV4)).toEqual([isReady ? '10.0.0.1' : '!10.0.0.1']);
  });

  it('nothing is unknown of a data plane that has reported another application', () => {
    start(1000);
    declare('a', { address: '10.0.0.1', inbound: probed() });
    report('a', {});
    expect(addressesOf(IPV4)).toEqual(['!10.0.0.1']);
  });

  it('a process without data planes that are probed waits for nothing', () => {
    start(1000);
    declare('a', { address: '10.0.0.1', inbound: [inbound('postgres', 5432)] });
    world.engine.commit();
    expect([...world.engine.deadlines.entries('process')].map(({ key }) => key)).toEqual(['safe-mode']);
    expect(world.engine.derived.find(({ name }) => name === 'reportWait')?.size()).toBe(0);
  });
});

describe('an address of a declaration that cannot be read', () => {
  const TYPO = 'type: Dataplane\nmesh: [';
  const postgres = (address: string) => ({ address, inbound: [inbound('postgres', 5432)] });
  const outputOf = (slice = IPV4) => {
    world.engine.commit();
    return world.engine.outputs.get('edge', sliceKeyOf(slice));
  };
  /** The store is lost: entries are as an inventory has them. */
  const loseLedger = (): void => {
    const { ledger } = world.engine.inputs;
    for (const { key, value } of [...ledger.entries('edge')]) {
      const { serves: _lost, ...entry } = value;
      ledger.set('edge', key, entry);
    }
  };

  it('stays after the ledger was lost, until every source was read completely', () => {
    declare('a', postgres('10.0.0.1'));
    declare('b', postgres('10.0.0.2'));
    accept();
    loseLedger();
    world.file('dataplanes/default/a.yaml', TYPO);
    expect(outputOf()).toMatchObject({ type: 'keep', reason: 'SourcePartial' });
    world.file('dataplanes/default/a.yaml', null);
    expect(addressesOf(IPV4)).toEqual(['10.0.0.2']);
    accept();
    // Now the ledger knows the content: declarations hold as last known good, and what can be read takes effect.
    world.file('note.yaml', TYPO);
    declare('c', postgres('10.0.0.3'));
    expect(addressesOf(IPV4)).toEqual(['10.0.0.2', '10.0.0.3']);
  });

  it('keeps its slice after the ledger was lost, also if another source declares it', () => {
    other('machines/z.yaml', dataplaneYaml({ mesh: 'default', name: 'z', networking: postgres('10.0.0.9') }));
    other('machines/b.yaml', dataplaneYaml({ mesh: 'default', name: 'b', networking: postgres('10.0.0.8') }));
    accept();
    expect(outputOf()).toMatchObject({
      type: 'object',
      origins: [
        { source: 'main', path: 'mirror.yaml' },
        { source: 'other', path: 'machines/b.yaml' },
      ],
    });
    loseLedger();
    other('machines/z.yaml', TYPO);
    other('machines/b.yaml', TYPO);
    expect(outputOf()).toMatchObject({ type: 'keep', reason: 'SourcePartial' });
    other('machines/z.yaml', null);
    other('machines/b.yaml', null);
    expect(outputOf()?.type).toBe('remove');
  });
});

it('an explanation leads to the files of the data planes, those that are not ready first', () => {
  for (let at = 1; at <= 30; at += 1) {
    declare(`db-${String(at).padStart(2, '0')}`, { address: `10.0.0.${at}`, inbound: [inbound('postgres', 5432)] });
  }
  declare('db-99', { address: '2001:db8::1', inbound: [inbound('postgres', 5432, { state: 'NotReady' })] });
  const late = { address: '10.0.9.9', inbound: [inbound('postgres', 5432)] };
  other('machines/late.yaml', dataplaneYaml({ mesh: 'default', name: 'late', networking: late }));
  world.engine.commit();
  const reasonsOf = (key: string) =>
    explainObject(world.engine, 'edge', key as ObjectKey).reasons.flatMap((reason) =>
      reason.type === 'rule' ? [`${reason.kind} ${reason.name} ${reason.at.path} ${reason.part}`] : [reason.type],
    );
  const all = reasonsOf('/Service/machines/default-postgres');
  const inSet = (at: number) =>
    `Dataplane db-0${at} dataplanes/default/db-0${at}.yaml has the address 10.0.0.${at}:5432, which is in the load-balancing set`;
  expect(all).toHaveLength(22);
  expect(all[0]).toBe(
    'Dataplane db-99 dataplanes/default/db-99.yaml has the address [2001:db8::1]:5432, which is not in the load-balancing set',
  );
  expect(all[1]).toBe(inSet(1));
  // One of each source is named, so that none is taken for a former declaration.
  expect(all.filter((reason) => reason.startsWith('Dataplane late machines/late.yaml '))).toHaveLength(1);
  expect(all).not.toContain('declared');
  expect(all.slice(-2)).toEqual([
    'ServiceMirror machines mirror.yaml selects the mesh default and the cluster',
    'KubernetesCluster edge edge.yaml declares the cluster',
  ]);
  expect(reasonsOf(sliceKeyOf('default-postgres-5432-ipv6'))).toEqual([all[0], ...all.slice(-2)]);
});
