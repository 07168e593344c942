import { objectOf, textOf } from '../../model/json.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import type { Sessions } from '../sessions.ts';
import type { Claim } from './claims.ts';
import { jsonWrite, readJson } from './records.ts';
import { createSingleFlight } from './single-flight.ts';

/** Replicas ask each other through the store whether an agent that one of them serves still lives. */
export interface Probes {
  /** `alive`: it has answered lately. */
  ask(cluster: string, claim: Claim): 'asked' | 'alive';
  /** The store has changed there. */
  wake(cluster: string): void;
  stop(): Promise<void>;
}

const PREFIX = 'probes/';
/** How long an answer counts. */
const ANSWER_MS = 15_000;

export const probedCluster = (key: string): string | undefined =>
  key.startsWith(PREFIX) ? key.slice(PREFIX.length) : undefined;

export function createProbes(
  deps: { readonly store: SnapshotStore; readonly sessions: Sessions; readonly clock: Clock; readonly log: Log },
  id: string,
): Probes {
  const { store, sessions, clock } = deps;
  /** By cluster: the claim that was asked about, when, and what was said. */
  const asked = new Map<string, { readonly session: string; readonly at: number; isAlive: boolean }>();
  const questions = new Map<string, Claim>();
  const due = new Map<string, true>();

  const answer = async (cluster: string): Promise<void> => {
    const { value, version } = await readJson(store, PREFIX + cluster);
    const { by, session, isAlive } = objectOf(value);
    const question = asked.get(cluster);
    if (question !== undefined && by === id && question.session === session) question.isAlive ||= isAlive === true;
    const connected = sessions.get(cluster)?.session;
    if (by === id || isAlive === true || connected === undefined || !textOf(session).startsWith(`${id}/`)) return;
    if (await connected.probe()) {
      await store.write([
        jsonWrite(PREFIX + cluster, { by: by ?? null, session: session ?? null, isAlive: true }, version),
      ]);
    } else connected.close('drain', 'PeerSilent', 'it answered no ping');
  };
  const task = createSingleFlight(deps, 'asking whether an agent lives', async () => {
    await drain(questions, ([cluster, { session }]) => store.write([jsonWrite(PREFIX + cluster, { by: id, session })]));
    await drain(due, ([cluster]) => answer(cluster));
    return false;
  });

  return {
    ask: (cluster, claim) => {
      const known = asked.get(cluster);
      if (known?.session === claim.session && clock.monotonic() - known.at < ANSWER_MS) {
        return known.isAlive ? 'alive' : 'asked';
      }
      asked.set(cluster, { session: claim.session, at: clock.monotonic(), isAlive: false });
      questions.set(cluster, claim);
      task.wake();
      return 'asked';
    },
    wake: (cluster) => {
      due.set(cluster, true);
      task.wake();
    },
    stop: task.stop,
  };
}

/** What is put to the map again while it is worked on is worked on again; what fails is put back. */
async function drain<Value>(
  entries: Map<string, Value>,
  work: (entry: readonly [string, Value]) => Promise<unknown>,
): Promise<void> {
  for (const [key, value] of entries) {
    entries.delete(key);
    try {
      await work([key, value]);
    } catch (error) {
      if (!entries.has(key)) entries.set(key, value);
      throw error;
    }
  }
}
