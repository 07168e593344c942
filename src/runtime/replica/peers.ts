import type { AdmissionPosition } from '../../model/fleet/output.ts';
import { objectOf, parseJsonBytes, textOf, textsOf } from '../../model/text/json.ts';
import type { ServerCore } from '../core.ts';
import type { ServerBus } from '../events.ts';
import type { Sessions } from '../sessions.ts';
import { createKeyedTask } from '../single-flight.ts';
import { jsonWrite, readJson } from '../stored/json-record.ts';
import { parsePosition, positionJson } from './admission.ts';

/** The heartbeat of a replica: its state, written to the store every three seconds. */
interface Heartbeat {
  /** HOST:PORT or URL of its HTTP, for the clients of the others; empty: it advertises none. */
  readonly address: string;
  readonly version: string;
  readonly engine: number;
  readonly sources: readonly string[];
  /** The admission that it has staged. */
  readonly admitted: AdmissionPosition;
}

interface Peer extends Heartbeat {
  readonly id: string;
}

const BEAT_MS = 3_000;
/** A replica is not alive this long after its last heartbeat. */
const SILENT_MS = 10_000;
/** A heartbeat is deleted this long after it was last renewed. */
const FORGET_MS = 10 * 60_000;
const PREFIX = 'replicas/';
const PROBES = 'probes/';
/** How long an answer counts. */
const ANSWER_MS = 15_000;

interface Seen {
  readonly peer: Peer;
  readonly version: string;
  /** It has written that it leaves. */
  readonly hasLeft: boolean;
  /** Monotonic milliseconds of the first observation of this version. */
  readonly at: number;
}

interface PeerDeps extends Pick<ServerCore, 'store' | 'clock' | 'log'> {
  readonly sessions: Sessions;
  readonly heartbeat: () => Heartbeat;
  readonly events: Pick<ServerBus, 'emit'>;
}

export type Peers = ReturnType<typeof createPeers>;

/**
 * The other replicas of a fleet. They write heartbeats to the store, and answer probes there. Whether another replica lives
 * is judged by the monotonic clock of this one.
 */
export function createPeers(deps: PeerDeps, id: string) {
  const { store, clock, log } = deps;
  const seen = new Map<string, Seen>();
  const stopping = new AbortController();
  const probes = createProbes(deps, id);
  let lookedAt = 0;
  let beats = 0;
  let running: Promise<void> = Promise.resolve();

  const write = async (isLeaving = false): Promise<void> => {
    const { admitted, sources, ...heartbeat } = deps.heartbeat();
    beats += 1;
    const left = isLeaving ? { left: true } : {};
    await store.write([
      jsonWrite(PREFIX + id, { ...heartbeat, sources, admitted: positionJson(admitted), beats, ...left }),
    ]);
  };
  const look = async (): Promise<void> => {
    const now = clock.monotonic();
    const before = livingIds();
    const found = new Set<string>();
    for await (const { key, value, version } of store.list(PREFIX)) {
      const peer = key.slice(PREFIX.length);
      if (peer === id) continue;
      found.add(peer);
      const known = seen.get(peer);
      if (known?.version !== version) seen.set(peer, { ...parsePeer(peer, value), version, at: now });
      else if (now - known.at > FORGET_MS) await store.write([jsonWrite(key, null, version)]);
    }
    lookedAt = now;
    // A missing heartbeat may be lost with the store, and be written again soon.
    for (const [peer, known] of seen) if (!found.has(peer) && !lives(known)) seen.delete(peer);
    deps.events.emit('peersRead', before.symmetricDifference(livingIds()));
  };
  const beat = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await write()
        .then(look)
        .catch((error: unknown) => log.debug('the other replicas cannot be observed', { reason: String(error) }));
      await clock.sleep(BEAT_MS, stopping.signal);
    }
  };
  // Compared with the last look: while the store does not answer, no heartbeat becomes older.
  function lives({ at, hasLeft }: Seen): boolean {
    return !hasLeft && lookedAt - at < SILENT_MS;
  }
  function livingIds(): ReadonlySet<string> {
    return new Set([...seen].filter(([, known]) => lives(known)).map(([peer]) => peer));
  }

  return {
    start: (): void => {
      running = beat();
    },
    /** The others whose heartbeat has changed in the last ten seconds. */
    alive: (): readonly Peer[] => [...seen.values()].filter(lives).map(({ peer }) => peer),
    isAlive: (other: string): boolean => {
      const found = seen.get(other);
      return found !== undefined && lives(found);
    },
    get: (other: string): Peer | undefined => seen.get(other)?.peer,
    probe: probes.probe,
    /** The probe of the cluster has changed in the store. */
    wakeProbe: probes.wake,
    /** Writes that this replica leaves: the others need not wait until its heartbeat is old. */
    stop: async (): Promise<void> => {
      stopping.abort();
      await running;
      await probes.stop();
      await write(true).catch(() => undefined);
    },
  };
}

function parsePeer(id: string, bytes: Uint8Array): Pick<Seen, 'peer' | 'hasLeft'> {
  const { left, address, version, engine, sources, admitted } = objectOf(parseJsonBytes(bytes));
  const heartbeat: Heartbeat = {
    address: textOf(address),
    version: textOf(version),
    engine: typeof engine === 'number' ? engine : 0,
    sources: textsOf(sources),
    admitted: parsePosition(admitted) ?? { epoch: 0, sequence: 0 },
  };
  return { peer: { id, ...heartbeat }, hasLeft: left === true };
}

/** Replicas ask each other through the store whether an agent that one of them serves still lives. */
export function createProbes(deps: Pick<PeerDeps, 'store' | 'sessions' | 'clock' | 'log'>, id: string) {
  const { store, sessions, clock } = deps;
  /** By cluster: the lease session of the question, the time of the question, and the answer. */
  const asked = new Map<string, { readonly session: string; readonly at: number; isAlive: boolean }>();

  const answer = async (cluster: string): Promise<void> => {
    const { value, version } = await readJson(store, PROBES + cluster);
    const { by, session, isAlive } = objectOf(value);
    const question = asked.get(cluster);
    if (question !== undefined && by === id && question.session === session) question.isAlive ||= isAlive === true;
    const connected = sessions.get(cluster)?.session;
    if (by === id || isAlive === true || connected === undefined || !textOf(session).startsWith(`${id}/`)) return;
    if (await connected.probe()) {
      const answered = { by: by ?? null, session: session ?? null, isAlive: true };
      await store.write([jsonWrite(PROBES + cluster, answered, version)]);
    } else connected.close('drain', 'PeerSilent', 'it answered no ping');
  };
  const questions = createKeyedTask(deps, 'asking whether an agent lives', {
    each: async (cluster) => {
      const question = { by: id, session: asked.get(cluster)?.session ?? null };
      await store.write([jsonWrite(PROBES + cluster, question)]);
    },
  });
  const answers = createKeyedTask(deps, 'answering whether an agent lives', { each: answer });
  return {
    /**
     * Asks the replica that holds this lease session whether its agent answers a ping. `alive`: it has answered within the
     * last 15 seconds; `asked`: the answer is not known yet.
     */
    probe: (cluster: string, session: string): 'asked' | 'alive' => {
      const known = asked.get(cluster);
      if (known?.session === session && clock.monotonic() - known.at < ANSWER_MS) {
        return known.isAlive ? 'alive' : 'asked';
      }
      asked.set(cluster, { session, at: clock.monotonic(), isAlive: false });
      questions.wake(cluster);
      return 'asked';
    },
    wake: (cluster: string): void => answers.wake(cluster),
    stop: async (): Promise<void> => {
      await questions.stop();
      await answers.stop();
    },
  };
}
