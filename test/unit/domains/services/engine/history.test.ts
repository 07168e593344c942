import fc from 'fast-check';
import { expect, it } from 'vitest';
import { canonicalIp } from '../../../../../src/model/text/ip-address.ts';
import { type JsonObject, objectOf, objectsOf } from '../../../../../src/model/text/json.ts';
import { createEngineWorld } from '../../../../support/engine-world.ts';
import { clusterYaml } from '../../../../support/manifests.ts';
import { container, dataplaneYaml, pod, removeLive, service, stageLive } from '../../health/engine/support.ts';

/**
 * Mirrored endpoints after any history equal a plain reading of the last state, and the result of an engine that knows
 * nothing else.
 */

interface DeclaredInbound {
  readonly service: string;
  readonly port: number;
  readonly address: string;
  readonly state: 'Ready' | 'NotReady' | 'Ignored';
  readonly isProbed: boolean;
}

/** The whole state of the world; undefined: there is none of it. */
interface State {
  readonly meshes: readonly string[] | undefined;
  /** By `MESH/NAME`. */
  readonly declared: ReadonlyMap<string, readonly DeclaredInbound[]>;
  /** By `MESH/NAME`, whether all its applications are healthy. */
  readonly reports: ReadonlyMap<string, boolean>;
  /** By last part of the address: whether the containers of a Pod of east are ready at 8080 and at 9090. */
  readonly pods: ReadonlyMap<number, readonly [boolean, boolean]>;
  /** The last parts of the addresses of the slice in east. */
  readonly slice: readonly number[];
}

type Step = (state: State) => State;

// Some twice, so that inbounds often share an address.
const SERVICES = ['postgres', 'postgres', 'web', ''];
const ADDRESSES = ['10.0.0.1', '10.0.0.1', '2001:DB8::1', '2001:db8:0::1', '127.0.0.1'];
const MESHES = ['default', 'us.east'];
const PORTS = [80, 5432, 5432];

const inbounds = fc.array(
  fc.record({
    service: fc.constantFrom(...SERVICES),
    port: fc.constantFrom(...PORTS),
    address: fc.constantFrom(...ADDRESSES),
    state: fc.constantFrom<DeclaredInbound['state']>('Ready', 'Ready', 'NotReady', 'Ignored'),
    isProbed: fc.boolean(),
  }),
  { maxLength: 4 },
);
const id = fc.tuple(fc.constantFrom(...MESHES), fc.constantFrom('a', 'b', 'c')).map((parts) => parts.join('/'));
const octet = fc.integer({ min: 1, max: 3 });

function withEntry<Key, Value>(map: ReadonlyMap<Key, Value>, key: Key, value: Value | undefined) {
  const next = new Map(map);
  if (value === undefined) next.delete(key);
  else next.set(key, value);
  return next;
}

const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    maybe(fc.subarray(MESHES, { minLength: 1 })).map(
      (meshes): Step =>
        (state) => ({ ...state, meshes }),
    ),
    fc.tuple(id, maybe(inbounds)).map(
      ([key, value]): Step =>
        (state) => ({ ...state, declared: withEntry(state.declared, key, value) }),
    ),
    fc.tuple(id, maybe(fc.boolean())).map(
      ([key, value]): Step =>
        (state) => ({ ...state, reports: withEntry(state.reports, key, value) }),
    ),
    fc.tuple(octet, maybe(fc.tuple(fc.boolean(), fc.boolean()))).map(
      ([key, value]): Step =>
        (state) => ({ ...state, pods: withEntry(state.pods, key, value) }),
    ),
    fc.subarray([1, 2, 3]).map(
      (slice): Step =>
        (state) => ({ ...state, slice }),
    ),
  ),
  { minLength: 1, maxLength: 12 },
);

type World = ReturnType<typeof createEngineWorld>;

const EMPTY: State = { meshes: undefined, declared: new Map(), reports: new Map(), pods: new Map(), slice: [] };

/** A world with clusters, and the mirror of the Services of east. */
function createWorld(): World {
  const world = createEngineWorld();
  for (const cluster of ['east', 'edge']) world.file(`${cluster}.yaml`, clusterYaml(cluster));
  world.file('shared.yaml', mirrorYaml('shared', { names: ['east'] }));
  world.engine.inputs.snapshots.set('', 'east', { since: 1 });
  for (const kind of ['/Service', 'discovery.k8s.io/EndpointSlice']) {
    world.engine.inputs.kinds.set('east', kind, { kind, state: 'complete', message: '' });
  }
  const ports = [8080, 9090].map((port) => ({ name: `p${port}`, port, targetPort: port }));
  stageLive(world.engine, 'east', service('web', { ports }));
  return world;
}

function mirrorYaml(name: string, from: JsonObject): string {
  const spec = { from, to: { names: ['edge'] }, ...(from.names === undefined ? {} : { serviceSelector: {} }) };
  return JSON.stringify({ apiVersion: 'fleetrelay.dev/v1alpha1', kind: 'ServiceMirror', metadata: { name }, spec });
}

/** Stages what differs. */
function change(world: World, before: State, after: State): void {
  const { meshes } = after;
  if (before.meshes !== meshes) {
    world.file('meshes.yaml', meshes === undefined ? null : mirrorYaml('meshes', { meshes, namespace: 'machines' }));
  }
  for (const key of new Set([...before.declared.keys(), ...after.declared.keys()])) {
    const its = after.declared.get(key);
    if (before.declared.get(key) !== its) world.file(`${key}.yaml`, its === undefined ? null : declarationOf(key, its));
  }
  const reports = world.engine.domainInputs.health?.reports;
  for (const key of new Set([...before.reports.keys(), ...after.reports.keys()])) {
    const isHealthy = after.reports.get(key);
    const workloads = Object.fromEntries(
      ADDRESSES.flatMap((address) => PORTS.map((port) => [`${address}:${port}`, isHealthy === true])),
    );
    if (isHealthy === undefined) reports?.delete('', key);
    else reports?.set('', key, { envoyHealthy: true, envoySince: 0, workloads });
  }
  for (const key of new Set([...before.pods.keys(), ...after.pods.keys()])) {
    const its = after.pods.get(key);
    if (its === undefined) removeLive(world.engine, 'east', podOf(key, [true, true]));
    else stageLive(world.engine, 'east', podOf(key, its));
  }
  stageLive(world.engine, 'east', {
    ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4' },
    metadata: { name: 'web-1', namespace: 'demo', labels: { 'kubernetes.io/service-name': 'web' } },
    endpoints: after.slice.map((last) => ({
      addresses: [`10.9.0.${last}`],
      conditions: { ready: true, serving: true },
    })),
    ports: [8080, 9090].map((port) => ({ name: `p${port}`, port })),
  });
  world.engine.commit();
}

function declarationOf(key: string, its: readonly DeclaredInbound[]): string {
  const [mesh = '', name = ''] = key.split('/');
  const inbound = its.map(({ service: of, port, address, state, isProbed }) => ({
    ...{ port, address, state, tags: of === '' ? {} : { 'kuma.io/service': of } },
    ...(isProbed ? { serviceProbe: { tcp: {} } } : {}),
  }));
  return dataplaneYaml({ mesh, name, networking: { address: 'db.internal', inbound } });
}

function podOf(last: number, [web, admin]: readonly [boolean, boolean]): JsonObject {
  return pod({
    name: `web-${last}`,
    containers: [container('kuma-sidecar'), container('web', 8080), container('admin', 9090)],
    ready: { web, admin },
    status: { podIP: `10.9.0.${last}` },
  });
}

/** What edge should hold, with all content. */
function outputsOf({ engine }: World): readonly unknown[] {
  return [...engine.outputs.entries('edge')]
    .map(({ key, value }) => [key, value.type === 'object' ? value.value : value])
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
}

/** All addresses in the mirrored slices of edge: `SERVICE ADDRESS:PORT` and whether they are ready. */
function mirrored({ engine }: World): Readonly<Record<string, boolean>> {
  const found: [string, boolean][] = [];
  for (const { value } of engine.outputs.entries('edge')) {
    if (value.type !== 'object' || value.value.kind !== 'EndpointSlice') continue;
    const { 'kubernetes.io/service-name': of } = objectOf(objectOf(value.value.metadata).labels);
    for (const { addresses, conditions } of objectsOf(value.value.endpoints)) {
      const { ready, serving } = objectOf(conditions);
      expect(serving).toBe(ready);
      for (const { port } of objectsOf(value.value.ports))
        found.push([`${of} ${String(addresses)}:${port}`, ready === true]);
    }
  }
  expect(new Set(found.map(([name]) => name)).size).toBe(found.length);
  return Object.fromEntries(found.sort());
}

/** The same, by a plain reading of the state. */
function expected({ meshes = [], declared, reports, pods, slice }: State): Readonly<Record<string, boolean>> {
  const found = new Map<string, boolean>();
  for (const [key, its] of declared) {
    const [mesh = ''] = key.split('/');
    for (const { service: of, port, address, state, isProbed } of its) {
      if (!meshes.includes(mesh) || of === '' || state === 'Ignored' || address === '127.0.0.1') continue;
      const report = reports.get(key);
      const isReady = state === 'Ready' && (report ?? !isProbed);
      const name = `${mesh.replace('.', '-')}-${of} ${canonicalIp(address)}:${port}`;
      found.set(name, found.get(name) === true || isReady);
    }
  }
  for (const last of slice) {
    const its = pods.get(last) ?? [true, true];
    for (const [at, port] of [8080, 9090].entries()) found.set(`east-web 10.9.0.${last}:${port}`, its[at] === true);
  }
  return Object.fromEntries([...found].sort());
}

it('mirrored endpoints follow from the last state, after any history', () => {
  fc.assert(
    fc.property(steps, (history) => {
      const world = createWorld();
      let state = EMPTY;
      change(world, EMPTY, EMPTY);
      for (const step of history) {
        const next = step(state);
        change(world, state, next);
        state = next;
        expect(mirrored(world)).toEqual(expected(state));
      }
      const fresh = createWorld();
      change(fresh, EMPTY, state);
      expect(outputsOf(world)).toEqual(outputsOf(fresh));
    }),
    { numRuns: 150 },
  );
});
