import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { beforeEach, expect, test } from 'vitest';
import { ClusterLoadAssignmentSchema } from '../../../generated/envoy/config/endpoint/v3/endpoint_pb.ts';
import {
  DiscoveryRequestSchema,
  type DiscoveryResponse,
  DiscoveryResponseSchema,
} from '../../../generated/envoy/service/discovery/v3/discovery_pb.ts';
import { createAssignmentEncoder, ENDPOINT_TYPE, type Member } from '../../../src/domains/health/xds/assignment.ts';
import type { IncomingCall } from '../../../src/ports/transport.ts';
import { createAds } from '../../../src/xds/ads.ts';
import { createXdsCounts } from '../../../src/xds/figures.ts';
import { XDS_LIMITS } from '../../../src/xds/limits.ts';
import { createSlices } from '../../../src/xds/slices.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

const encode = createAssignmentEncoder();
const member = (index: number, zone = ''): Member => ({ address: `10.0.${index >> 8}.${index & 255}`, port: 80, zone });
const members = (count: number): readonly Member[] => Array.from({ length: count }, (_, index) => member(index));

let clock: VirtualClock;
let sets: Map<string, readonly Member[]>;
let ads: ReturnType<typeof createAds>;

beforeEach(() => {
  clock = createVirtualClock();
  sets = new Map();
  ads = createAds({
    ...{ clock, counts: createXdsCounts(), limits: XDS_LIMITS },
    scopeOf: (node) => node.slice(0, node.indexOf('/')),
    opened: () => () => undefined,
    types: [
      {
        type: ENDPOINT_TYPE,
        get: (_, service) => encode(service, sets.get(service) ?? []),
        isAwaited: () => false,
        forget: () => undefined,
        rejected: () => undefined,
      },
    ],
  });
});

/** A stream whose written messages are taken when the test says so. */
function open(services: readonly string[]) {
  const taken: DiscoveryResponse[] = [];
  const waiting: { readonly message: Uint8Array; readonly resolve: (open: boolean) => void }[] = [];
  const write = (message: Uint8Array): Promise<boolean> =>
    new Promise((resolve) => void waiting.push({ message, resolve }));
  const session = ads.protocol.open('default/web', { write } as IncomingCall);
  const ask = (responseNonce: string, type = ENDPOINT_TYPE, names = services): void => {
    const request = { typeUrl: type, resourceNames: [...names], responseNonce };
    session.received(
      fromBinary(DiscoveryRequestSchema, toBinary(DiscoveryRequestSchema, create(DiscoveryRequestSchema, request))),
    );
  };
  ask('');
  return {
    ask,
    waiting,
    /** The stream takes the messages that wait. */
    take: async (): Promise<readonly DiscoveryResponse[]> => {
      await clock.advance(10);
      const those = waiting.splice(0).map(({ message, resolve }) => {
        resolve(true);
        return fromBinary(DiscoveryResponseSchema, message);
      });
      taken.push(...those);
      await clock.advance(10);
      return those;
    },
  };
}

const sizes = ({ resources }: DiscoveryResponse): Readonly<Record<string, number>> =>
  Object.fromEntries(
    resources
      .map(({ value }) => fromBinary(ClusterLoadAssignmentSchema, value))
      .map(({ clusterName, endpoints }) => [clusterName, endpoints.flatMap((one) => one.lbEndpoints).length]),
  );
const change = async (service: string, count: number): Promise<void> => {
  sets.set(service, members(count));
  ads.changed(ENDPOINT_TYPE, [{ scope: 'default', name: service }]);
  await clock.advance(10);
};

test('for a stream that is not read nothing queues, even if it answers: it receives the newest endpoints', async () => {
  const stream = open(['shop']);
  await clock.advance(10);
  expect(stream.waiting).toHaveLength(1);
  const guessed = fromBinary(DiscoveryResponseSchema, stream.waiting[0]?.message ?? new Uint8Array()).nonce;
  for (const count of [1, 2, 3]) {
    stream.ask(guessed);
    await change('shop', count);
  }
  for (const name of ['a', 'b', 'c']) stream.ask('', 'type.googleapis.com/envoy.config.cluster.v3.Cluster', [name]);
  await clock.advance(10);
  expect(stream.waiting).toHaveLength(1);
  expect((await stream.take()).map(sizes)).toEqual([{ shop: 0 }]);
  // One response of the other type, however often it was asked for.
  expect((await stream.take()).map(sizes)).toEqual([{}]);
  expect((await stream.take()).map(sizes)).toEqual([{ shop: 3 }]);
  expect(await stream.take()).toEqual([]);
});

test('a large answer comes in several responses', async () => {
  const services = Array.from({ length: 5 }, (_, index) => `s${index}`);
  const many = members(15_000);
  for (const service of services) sets.set(service, many);
  const stream = open(services);
  const seen: number[] = [];
  for (let responses = await stream.take(); responses.length > 0; responses = await stream.take()) {
    seen.push(...responses.map(({ resources }) => resources.length));
    stream.ask(responses[0]?.nonce ?? '');
  }
  expect(seen.length).toBeGreaterThan(1);
  expect(seen.reduce((sum, count) => sum + count, 0)).toBe(5);
});

test('endpoints that change there and back while a response waits are not sent again', async () => {
  sets.set('shop', members(1));
  const stream = open(['shop']);
  const [first] = await stream.take();
  await change('shop', 2);
  await change('shop', 1);
  stream.ask(first?.nonce ?? '');
  expect(await stream.take()).toEqual([]);
});

test('an assignment is decoded as what it was made of, by zone and without host names', () => {
  const set = [member(1, 'east'), member(2), member(3, 'east'), { address: 'db.example', port: 80, zone: '' }];
  const { response, resource, version } = encode('shop', set);
  const decoded = fromBinary(DiscoveryResponseSchema, response);
  expect(decoded).toMatchObject({ versionInfo: version, nonce: version, typeUrl: ENDPOINT_TYPE });
  expect(fromBinary(DiscoveryResponseSchema, resource).resources).toEqual(decoded.resources);
  const { clusterName, endpoints } = fromBinary(
    ClusterLoadAssignmentSchema,
    decoded.resources[0]?.value ?? new Uint8Array(),
  );
  const shown = endpoints.map(({ locality, lbEndpoints }) => [
    locality?.zone ?? '',
    ...lbEndpoints.map(({ loadBalancingWeight, hostIdentifier: { case: is, value } }) => {
      const at = is === 'endpoint' ? value.address?.address : undefined;
      const socket = at?.case === 'socketAddress' ? at.value : undefined;
      return [socket?.address, socket?.portSpecifier.value, loadBalancingWeight];
    }),
  ]);
  expect([clusterName, shown]).toEqual([
    'shop',
    [
      ['east', ['10.0.0.1', 80, 1], ['10.0.0.3', 80, 1]],
      ['', ['10.0.0.2', 80, 1]],
    ],
  ]);
});

test('tasks run in slices, each once, and those that were added last run last', async () => {
  let time = 0;
  const ran: string[] = [];
  const turns: (() => void)[] = [];
  const slices = createSlices(
    {
      monotonic: () => time,
      schedule: (_, callback) => {
        turns.push(callback);
        return () => undefined;
      },
    },
    5,
  );
  const task = (name: string) => (): void => {
    ran.push(name);
    time += 3;
  };
  const [a, b, c] = [task('a'), task('b'), task('c')];
  for (const one of [a, b, a, c]) slices.add(one);
  turns.shift()?.();
  expect(ran).toEqual(['a', 'b']);
  slices.add(a);
  turns.shift()?.();
  expect(ran).toEqual(['a', 'b', 'c', 'a']);
  expect(turns).toEqual([]);
});
