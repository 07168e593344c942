import { isJsonObject, type JsonObject, parseJsonBytes, textOf, textsOf } from '../../model/json.ts';
import type { AdmissionPosition } from '../../model/output.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import { positionJson } from './admission-record.ts';
import { jsonWrite, readAdmission } from './records.ts';

/** What a replica says of itself, again and again. */
export interface PeerWord {
  /** HOST:PORT or URL of its HTTP, for the clients of the others; empty: it says none. */
  readonly address: string;
  readonly version: string;
  readonly engine: number;
  readonly sources: readonly string[];
  /** What it has staged. */
  readonly admitted: AdmissionPosition;
}

export interface Peer extends PeerWord {
  readonly id: string;
}

/** The replicas of a fleet, by what they say of themselves in the store. */
export interface Peers {
  start(): void;
  /** The others that have said something lately. */
  alive(): readonly Peer[];
  isAlive(id: string): boolean;
  get(id: string): Peer | undefined;
  /** Says that it leaves: the others need not wait until its word is old. */
  stop(): Promise<void>;
}

const BEAT_MS = 3_000;
/** Who says nothing for so long is gone. */
const SILENT_MS = 10_000;
/** What nobody has renewed for so long is taken away. */
const FORGET_MS = 10 * 60_000;
const PREFIX = 'replicas/';

interface Seen {
  readonly peer: Peer;
  readonly version: string;
  /** It has said that it leaves. */
  readonly hasLeft: boolean;
  /** Monotonic, when it was first seen like this. */
  readonly at: number;
}

/** Whether another one lives is judged by the time that passes here. */
export function createPeers(
  deps: {
    readonly store: SnapshotStore;
    readonly clock: Clock;
    readonly log: Log;
    readonly own: () => PeerWord;
    /** `moved`: those that have fallen silent, or have begun to speak, since the last look. */
    readonly changed: (moved: ReadonlySet<string>) => void;
  },
  id: string,
): Peers {
  const { store, clock, log } = deps;
  const seen = new Map<string, Seen>();
  const stopping = new AbortController();
  let lookedAt = 0;
  let beats = 0;
  let running: Promise<void> = Promise.resolve();

  const say = async (isLeaving = false): Promise<void> => {
    const { admitted, sources, ...word } = deps.own();
    beats += 1;
    const said = { ...word, sources, admitted: positionJson(admitted), beats, ...(isLeaving ? { left: true } : {}) };
    await store.write([jsonWrite(PREFIX + id, said)]);
  };
  const look = async (): Promise<void> => {
    const now = clock.monotonic();
    const before = livingIds();
    const found = new Set<string>();
    for await (const { key, value, version } of store.list(PREFIX)) {
      const { hasLeft, ...peer } = parsePeer(key.slice(PREFIX.length), parseJsonBytes(value));
      if (peer.id === id) continue;
      found.add(peer.id);
      if (seen.get(peer.id)?.version !== version) seen.set(peer.id, { peer, hasLeft, version, at: now });
      else if (now - (seen.get(peer.id)?.at ?? now) > FORGET_MS) await store.write([jsonWrite(key, null, version)]);
    }
    lookedAt = now;
    // Its word is missing: the store has lost it, and the replica may be about to say it again.
    for (const [peer, known] of seen) if (!found.has(peer) && !lives(known)) seen.delete(peer);
    const after = livingIds();
    deps.changed(before.symmetricDifference(after));
  };
  const beat = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await say()
        .then(look)
        .catch((error: unknown) => log.debug('the other replicas cannot be heard', { reason: String(error) }));
      await clock.sleep(BEAT_MS, stopping.signal);
    }
  };
  // While the store cannot be asked, nobody grows older.
  function lives({ at, hasLeft }: Seen): boolean {
    return !hasLeft && lookedAt - at < SILENT_MS;
  }
  function livingIds(): ReadonlySet<string> {
    return new Set([...seen].filter(([, known]) => lives(known)).map(([peer]) => peer));
  }

  return {
    start: () => {
      running = beat();
    },
    alive: () => [...seen.values()].filter(lives).map(({ peer }) => peer),
    isAlive: (other) => {
      const found = seen.get(other);
      return found !== undefined && lives(found);
    },
    get: (other) => seen.get(other)?.peer,
    stop: async () => {
      stopping.abort();
      await running;
      await say(true).catch(() => undefined);
    },
  };
}

function parsePeer(id: string, value: unknown): Peer & Pick<Seen, 'hasLeft'> {
  const word: JsonObject = isJsonObject(value as never) ? (value as JsonObject) : {};
  return {
    id,
    hasLeft: word.left === true,
    address: textOf(word.address),
    version: textOf(word.version),
    engine: typeof word.engine === 'number' ? word.engine : 0,
    sources: textsOf(word.sources),
    admitted: readAdmission(word.admitted) ?? { epoch: 0, sequence: 0 },
  };
}
