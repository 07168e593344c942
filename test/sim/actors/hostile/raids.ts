import type { AgentHolding } from '../../../../src/model/agent/agent.ts';
import { type ClusterId, parseClusterName } from '../../../../src/model/fleet/ids.ts';
import type { ObjectKey } from '../../../../src/model/objects/object-key.ts';
import { sha256, snapshotDigest } from '../../../../src/model/text/digest.ts';
import { must } from '../../../../src/model/values/result.ts';
import type { ClientConnection, StreamMethod } from '../../../../src/ports/transport.ts';
import { DEFAULT_LIMITS } from '../../../../src/relay/limits.ts';
import { packChunks } from '../../../../src/relay/transfer.ts';
import { connectionToken } from '../../../../src/relay/trust/tokens.ts';
import { decodeFrame, encodeFrame, type FrameInit, helloFrame } from '../../../../src/relay/wire/frames.ts';
import { inputHead, inputRecords, resultRecords } from '../../../../src/relay/wire/input.ts';
import { holdingHead, holdingRecords } from '../../../../src/relay/wire/output.ts';
import type { RecordInit } from '../../../../src/relay/wire/records.ts';
import type { Dice } from '../../core/dice.ts';
import { createProcess } from '../../core/process.ts';
import type { SimTime } from '../../core/time.ts';
import type { SimCluster } from '../../ports/cluster.ts';
import type { SimNetwork } from '../../ports/network.ts';

/** Attacks of a hostile agent beside its own link, over connections with its own valid token. */
export interface Raids {
  /** Begins one; returns its kind. */
  raid(): string;
  /** Ends all that goes on. */
  end(): void;
}

/** One connection of a raid. Writes wait for the server, as its flow control demands. */
interface Raider {
  readonly dice: Dice;
  open(method: StreamMethod, instance: string): Promise<Line | undefined>;
}

/** A stream after its welcome. */
interface Line {
  say(...frames: readonly FrameInit[]): Promise<void>;
  write(bytes: Uint8Array): Promise<boolean>;
  /** Reads until the stream ends. */
  drain(): Promise<void>;
}

type Subject = Extract<FrameInit, { case: 'begin' }>['value']['subject'];

const EMPTY_HOLDING: AgentHolding = { position: { epoch: 0, sequence: 0 }, digest: snapshotDigest([]), entries: [] };

const RAIDS: Readonly<Record<string, (raider: Raider) => Promise<void>>> = {
  'many connections': async (raider) => {
    for (let at = 0; at < 20; at += 1) void raider.open(raider.dice.pick(['Pull', 'Push']), raider.dice.id());
  },
  'bytes that are no frame': async (raider) => {
    const line = await raider.open(raider.dice.pick(['Pull', 'Push']), raider.dice.id());
    await line?.write(new Uint8Array(Array.from({ length: 1 + raider.dice.int(200) }, () => raider.dice.int(256))));
  },
  'half a transfer': async (raider) => {
    const line = await raider.open('Pull', raider.dice.id());
    await line?.say(begin(1, holdingHead(EMPTY_HOLDING)), ...chunks(1, []).slice(0, -1));
    await line?.drain();
  },
  'a transfer out of order': async (raider) => {
    const line = await raider.open('Pull', raider.dice.id());
    const [last] = chunks(2, [{ case: 'removal', value: { key: '/ConfigMap/shop/invented-0' } }]);
    await line?.say(begin(2, holdingHead(EMPTY_HOLDING)), ...(last === undefined ? [] : [last, last]));
    await line?.drain();
  },
  'results without end': async (raider) => {
    const line = await raider.open('Pull', raider.dice.id());
    await line?.say(begin(1, holdingHead(EMPTY_HOLDING)), ...chunks(1, holdingRecords(EMPTY_HOLDING)));
    const digest = sha256('invented');
    const results = Array.from({ length: 300 }, (_, index) => ({
      ...{ key: `/ConfigMap/shop/invented-${index}` as ObjectKey, digest },
      ...({ state: 'failed', reason: 'Invented', message: 'z'.repeat(200) } as const),
    }));
    for (let at = 2; at < 12; at += 1) {
      await line?.say(begin(at, { case: 'results', value: {} }), ...chunks(at, resultRecords(results, [])));
    }
    await line?.drain();
  },
  'an input that leads elsewhere': async (raider) => {
    const line = await raider.open('Push', raider.dice.id());
    const [from, to] = [sha256(raider.dice.id()), sha256(raider.dice.id())];
    const delta = { from, to, upserts: [], removals: ['/ConfigMap/shop/c1' as ObjectKey], kinds: [] };
    await line?.say(begin(1, inputHead(delta)), ...chunks(1, inputRecords(delta, DEFAULT_LIMITS.objectBytes)));
    await line?.drain();
  },
  'answers to nothing': async (raider) => {
    const line = await raider.open('Pull', raider.dice.id());
    await line?.say({ case: 'ack', value: { transfer: 7n } }, { case: 'nack', value: { transfer: 7n, reason: 'No' } });
    await line?.drain();
  },
};

interface RaidParts {
  readonly time: SimTime;
  readonly network: SimNetwork;
  readonly secret: Uint8Array;
}

/** How long a raid goes on, in milliseconds. */
const RAID_MS = 30_000;

export function createRaids({ time, network, secret }: RaidParts, cluster: SimCluster, dice: Dice): Raids {
  const process = createProcess(time, `${cluster.name}.raid`);
  const name = must(parseClusterName(cluster.name));
  const weather = { latencyMs: 1, jitterMs: 3, reachable: true };
  const transport = network.client(process, weather);
  const open = new Set<ClientConnection>();
  const end = (): void => {
    for (const connection of open) connection.close();
    open.clear();
  };
  return {
    raid: () => {
      const kind = dice.pick(Object.keys(RAIDS));
      const mine = new Set<ClientConnection>();
      const clusterId = `id-${cluster.name}` as ClusterId;
      const metadata = { 'fleetrelay-cluster': name, authorization: `Bearer ${connectionToken(secret, name)}` };
      const raider: Raider = {
        dice,
        open: (method, instance) => {
          const connection = transport.dial();
          mine.add(connection);
          open.add(connection);
          const who = { cluster: name, clusterId, instance, version: '9.9.9', capabilities: [] };
          return lineOf(connection.open(method, metadata), helloFrame(who, DEFAULT_LIMITS));
        },
      };
      void RAIDS[kind]?.(raider);
      time.in(RAID_MS, () => {
        for (const connection of mine) {
          connection.close();
          open.delete(connection);
        }
      });
      return kind;
    },
    end,
  };
}

/** Sends the hello; undefined if the server does not welcome it. */
async function lineOf(stream: ReturnType<ClientConnection['open']>, hello: FrameInit): Promise<Line | undefined> {
  await stream.write(encodeFrame(hello));
  const answer = await stream.read();
  if (answer === undefined || decodeFrame(answer).case !== 'welcome') return undefined;
  return {
    say: async (...frames) => {
      for (const frame of frames) if (!(await stream.write(encodeFrame(frame)))) return;
    },
    write: (bytes) => stream.write(bytes),
    drain: async () => {
      while ((await stream.read()) !== undefined) {
        // What the server says is not of interest.
      }
    },
  };
}

function begin(transfer: number, subject: Subject): FrameInit {
  return { case: 'begin', value: { transfer: BigInt(transfer), ...(subject === undefined ? {} : { subject }) } };
}

function chunks(transfer: number, records: Iterable<RecordInit>): readonly FrameInit[] {
  return [...packChunks(records)].map((chunk, index) => ({
    case: 'chunk',
    value: { transfer: BigInt(transfer), index, ...chunk },
  }));
}
