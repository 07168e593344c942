/**
 * A process that is one hostile agent with a valid token: in turn it sends snapshots at its quota, results of objects that it was
 * never sent, reconnects, and registers, each as fast as it can. It has the lowest priority, since it stands for a machine of its own.
 */
import { readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import process from 'node:process';
import { createGrpcClientTransport } from '../../src/adapters/grpc/client.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import type { KindState, LiveObject } from '../../src/model/agent/agent.ts';
import { inventoryDigest } from '../../src/model/agent/inventory-digest.ts';
import { type ObjectKey, objectKey, refOfObject } from '../../src/model/objects/object-key.ts';
import { objectDigest, snapshotDigest } from '../../src/model/text/digest.ts';
import type { JsonObject } from '../../src/model/text/json.ts';
import { must } from '../../src/model/values/result.ts';
import { createRelayClient, type ObservedRelayClient } from '../../src/relay/client.ts';
import type { InputSnapshot, ServerListener } from '../../src/relay/session.ts';
import { displayAddress, type ListenAddress } from '../../src/server/listen-address.ts';
import { enrolled, type Identity } from '../../test/support/enrolled.ts';
import { clusterId, clusterName } from '../../test/support/relay-world.ts';
import { silentLog } from '../../test/support/silent-log.ts';

/** What the process is told first. */
export interface AttackRequest {
  readonly server: ListenAddress;
  readonly caFile: string;
  readonly cluster: string;
  readonly tokenFile: string;
  /** Of a snapshot. */
  readonly objects: number;
  readonly bytesPerObject: number;
  /** Of each kind of attack in turn. */
  readonly turnMs: number;
}

/** What it says after each round of all kinds of attack. */
export interface AttackRound {
  readonly finished: number;
}

/** What it answers when it is told to end: how often it did what; snapshots that the server took. */
export type AttackCounts = Readonly<Record<'snapshots' | 'results' | 'reconnects' | 'registrations', number>>;

const clock = createSystemClock();
const counts = { snapshots: 0, results: 0, reconnects: 0, registrations: 0 };
let isOver = false;

process.on('message', (request: AttackRequest | { readonly end: true }) => {
  if ('end' in request) isOver = true;
  else void attack(request);
});

async function attack(request: AttackRequest): Promise<void> {
  setPriority(constants.priority.PRIORITY_LOW);
  const identity = await enrolledAs(request);
  const snapshots = [0, 1].map((variant) => snapshotOf(request, variant));
  process.send?.({ ready: true });
  const turns = [
    () => sendSnapshots(request, identity, snapshots),
    () => sendResults(request, identity),
    () => reconnect(request, identity),
    () => registerAgain(request),
  ];
  for (let round = 1; !isOver; round += 1) {
    for (const turn of turns) if (!isOver) await turn();
    process.send?.({ finished: round });
  }
  process.send?.({ counts });
}

const untilTurnEnds = (request: AttackRequest): (() => boolean) => {
  const end = clock.monotonic() + request.turnMs;
  return () => isOver || clock.monotonic() >= end;
};

function transportOf({ server, caFile }: AttackRequest) {
  return createGrpcClientTransport({
    server: displayAddress(server),
    security: { type: 'tls', ca: () => readFileSync(caFile) },
  });
}

function enrol(request: AttackRequest) {
  return enrolled(transportOf(request), {
    cluster: request.cluster,
    token: readFileSync(request.tokenFile, 'utf8').trim(),
  });
}

async function enrolledAs(request: AttackRequest): Promise<Identity> {
  for (;;) {
    const issued = await enrol(request);
    if (!('code' in issued)) return issued;
    await clock.sleep(500);
  }
}

interface Listening {
  readonly acknowledged?: () => void;
  readonly connected?: () => void;
}

/** A relay client that holds nothing and takes no delta. */
function clientOf(
  request: AttackRequest,
  identity: Identity,
  { acknowledged, connected }: Listening,
): ObservedRelayClient {
  const name = clusterName(request.cluster);
  const client = createRelayClient(
    { transport: transportOf(request), clock, random: createSystemRandom(), log: silentLog },
    {
      cluster: name,
      clusterId: clusterId(`${request.cluster}-id`),
      version: '1.0.0',
      token: () => '',
      instance: `hostile-${Math.round(clock.monotonic())}-${counts.reconnects}`,
      capabilities: [],
      certificates: { type: 'given', read: () => identity },
    },
  );
  const claim = { position: { epoch: 0, sequence: 0 }, digest: snapshotDigest([]) };
  const listener: ServerListener = {
    holding: () => ({ ...claim, entries: [] }),
    claim: () => ({ ...claim, inventory: inventoryDigest([]) }),
    fleet: () => undefined,
    kubernetesVersion: () => undefined,
    delta: async () => ({ accepted: false, reason: 'Hostile', message: 'it takes nothing' }),
    settings: () => undefined,
    inputAcknowledged: () => acknowledged?.(),
    connection: ({ type }) => {
      if (type === 'connected') connected?.();
    },
  };
  client.start(listener);
  return client;
}

async function sendSnapshots(
  request: AttackRequest,
  identity: Identity,
  snapshots: readonly InputSnapshot[],
): Promise<void> {
  const isUp = untilTurnEnds(request);
  const before = counts.snapshots;
  const publish = (): void => {
    const next = snapshots[counts.snapshots % snapshots.length];
    if (next !== undefined) client.publishInput(next);
  };
  const acknowledged = (): void => {
    counts.snapshots += 1;
    if (!isUp()) publish();
  };
  const client = clientOf(request, identity, { acknowledged });
  publish();
  // A turn has at least one whole snapshot.
  while (!isOver && (!isUp() || counts.snapshots === before)) await clock.sleep(50);
  await client.stop();
}

async function sendResults(request: AttackRequest, identity: Identity): Promise<void> {
  const isUp = untilTurnEnds(request);
  const connected = Promise.withResolvers<void>();
  const client = clientOf(request, identity, { connected: connected.resolve });
  await Promise.race([connected.promise, clock.sleep(request.turnMs)]);
  while (!isUp()) {
    const results = Array.from({ length: 1_000 }, () => {
      counts.results += 1;
      const key = objectKey({ group: '', kind: 'ConfigMap', namespace: 'web', name: `never-sent-${counts.results}` });
      return { key, digest: objectDigest({}), state: 'failed' as const, reason: 'Hostile', message: 'x'.repeat(500) };
    });
    client.report(results);
    await clock.sleep(1);
  }
  await client.stop();
}

async function reconnect(request: AttackRequest, identity: Identity): Promise<void> {
  const isUp = untilTurnEnds(request);
  while (!isUp()) {
    const connected = Promise.withResolvers<void>();
    const client = clientOf(request, identity, { connected: connected.resolve });
    await Promise.race([connected.promise, clock.sleep(1_000)]);
    counts.reconnects += 1;
    await client.stop();
  }
}

async function registerAgain(request: AttackRequest): Promise<void> {
  const isUp = untilTurnEnds(request);
  while (!isUp()) {
    await Promise.all(Array.from({ length: 4 }, () => enrol(request)));
    counts.registrations += 4;
  }
}

const KINDS: readonly KindState[] = ['/Service', 'discovery.k8s.io/EndpointSlice'].map((kind) => ({
  kind,
  state: 'complete',
  message: '',
  scope: 'Namespaced',
}));

/** Exported Services; the contents of all differ between two variants. */
function snapshotOf({ objects, bytesPerObject }: AttackRequest, variant: number): InputSnapshot {
  const filler = 'x'.repeat(Math.max(0, bytesPerObject - 400));
  const live = new Map<string, LiveObject>();
  for (let at = 0; at < objects; at += 1) {
    const value: JsonObject = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: `s${at}`,
        namespace: 'web',
        labels: { 'fleetrelay.dev/service-export': 'true' },
        annotations: { variant: String(variant), filler },
      },
      spec: { ports: [{ port: 80 + variant }] },
    };
    const key: ObjectKey = objectKey(must(refOfObject(value)));
    live.set(key, { key, value, digest: objectDigest(value) });
  }
  return { objects: live, kinds: KINDS };
}
