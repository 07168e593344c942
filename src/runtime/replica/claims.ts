import type { AgentHello } from '../../model/agent.ts';
import { objectOf, parseJsonBytes, textOf } from '../../model/json.ts';
import type { AdmissionPosition } from '../../model/output.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore, StoreWrite } from '../../ports/snapshot-store.ts';
import type { AgentSession, HelloDecision } from '../../relay/session.ts';
import type { WriteGuard } from '../stored/group.ts';
import { positionJson } from './admission-record.ts';
import type { Peers } from './peers.ts';
import { type JsonRecord, jsonWrite, readAdmission, readJson } from './records.ts';
import { createSingleFlight } from './single-flight.ts';

/** Which replica serves a cluster's agent. */
export interface Claim {
  readonly replica: string;
  /** Of the agent's process; empty: the cluster was taken away from whoever served it, and nobody serves it. */
  readonly instance: string;
  /** Of this very claim. */
  readonly session: string;
  /** The admission that what the agent holds was computed from, as it states; undefined: it does not count. */
  readonly claimed: AdmissionPosition | undefined;
}

/** Decides which replica speaks with an agent: one at a time, by compare-and-set in the store. */
export interface Claims {
  start(): void;
  /** What another replica has to do with this hello; undefined: nothing. */
  judge(hello: AgentHello): HelloDecision | undefined;
  /** `claimed`: the admission that the agent states, if it counts (`firstClaim`). */
  connected(session: AgentSession, claimed: AdmissionPosition | undefined): void;
  disconnected(session: AgentSession): void;
  /** This replica's claim of the cluster is in the store. */
  holds(cluster: string): boolean;
  /** This replica has a session of the cluster, with or without its claim. */
  serves(cluster: string): boolean;
  /** It has, or has had one and has not let go of it yet: nobody else writes what is kept of the cluster. */
  owns(cluster: string): boolean;
  /** Claims of other replicas, as read last. */
  others(): ReadonlyMap<string, Claim>;
  /** The store takes no claims just now: whoever is here is served without one. */
  isStuck(): boolean;
  /** Leave to write what is kept of a cluster: while the claim holds. */
  guard(cluster: string): WriteGuard;
  /** Whoever serves the cluster loses it, and in the same moment this is written; its agent has to come anew. */
  takeAway(cluster: string, write: StoreWrite): void;
  /** The store has changed there, or may have (all of it). */
  wake(cluster?: string): void;
  stop(): Promise<void>;
}

interface Own {
  readonly session: AgentSession;
  readonly claim: Claim;
  /** In the store, with this version. */
  version: string | undefined;
}

export interface ClaimsDeps {
  readonly store: SnapshotStore;
  readonly peers: Peers;
  readonly clock: Clock;
  readonly log: Log;
  /** A claim has come or gone, own or another's. */
  readonly changed: (cluster: string) => void;
  /** Makes durable what is kept of a cluster whose session is over, and writes nothing of it any more. */
  readonly release: (cluster: string) => Promise<void>;
  /** Asks the replica that has the claim whether its agent lives. */
  readonly probe: (cluster: string, claim: Claim) => 'asked' | 'alive';
}

const PREFIX = 'claims/';
export const claimKey = (cluster: string): string => PREFIX + cluster;
export const claimedCluster = (key: string): string | undefined =>
  key.startsWith(PREFIX) ? key.slice(PREFIX.length) : undefined;

interface State {
  readonly deps: ClaimsDeps;
  readonly id: string;
  readonly own: Map<string, Own>;
  readonly others: Map<string, Claim>;
  /** Versions of claims whose sessions are over. */
  readonly leaving: Map<string, string>;
  /** Clusters to look at. */
  readonly due: Set<string>;
  /** Clusters to take away, and what is written with that. */
  readonly takings: Map<string, StoreWrite>;
  /** All that are in the store are to be looked at. */
  readsAll: boolean;
  isStuck: boolean;
}

export function createClaims(deps: ClaimsDeps, id: string): Claims {
  const state: State = {
    ...{ deps, id, own: new Map(), others: new Map(), leaving: new Map(), due: new Set(), takings: new Map() },
    ...{ readsAll: true, isStuck: false },
  };
  const { own, others, leaving, due } = state;
  const task = createSingleFlight(deps, 'claiming clusters', () => settleDue(state));
  let sessions = 0;
  const wake = (cluster?: string): void => {
    if (cluster === undefined) state.readsAll = true;
    else due.add(cluster);
    task.wake();
  };
  return {
    start: wake,
    wake,
    judge: (hello) => judge(deps, others.get(hello.cluster), hello),
    connected: (session, claimed) => {
      const { cluster, instance } = session.hello;
      sessions += 1;
      const claim = { replica: id, instance, session: `${id}/${sessions}`, claimed };
      own.set(cluster, { session, claim, version: undefined });
      // Its claim takes the cluster as well, and what was to be written with that may be out of date by the next time.
      state.takings.delete(cluster);
      wake(cluster);
    },
    disconnected: (session) => {
      const { cluster } = session.hello;
      const mine = own.get(cluster);
      if (mine?.session !== session) return;
      own.delete(cluster);
      if (mine.version !== undefined) leaving.set(cluster, mine.version);
      wake(cluster);
    },
    takeAway: (cluster, write) => {
      state.takings.set(cluster, write);
      wake(cluster);
    },
    holds: (cluster) => own.get(cluster)?.version !== undefined,
    serves: (cluster) => own.has(cluster),
    owns: (cluster) => own.has(cluster) || leaving.has(cluster),
    others: () => others,
    isStuck: () => state.isStuck,
    guard: (cluster) => ({
      check: () => {
        const version = own.has(cluster) ? own.get(cluster)?.version : leaving.get(cluster);
        return version === undefined ? undefined : { key: claimKey(cluster), ifVersion: version };
      },
      refused: () => wake(cluster),
    }),
    stop: async () => {
      await task.stop();
      await releaseAll(state);
    },
  };
}

/** What another replica has to do with a hello. */
function judge({ peers, probe }: ClaimsDeps, other: Claim | undefined, hello: AgentHello): HelloDecision | undefined {
  if (other === undefined || other.instance === hello.instance || !peers.isAlive(other.replica)) return undefined;
  const where = `replica ${other.replica} of the server (instance ${other.instance})`;
  return probe(hello.cluster, other) === 'alive'
    ? {
        type: 'refused',
        reason: 'SecondAgent',
        message: `another agent of cluster ${hello.cluster} is connected to ${where}; one cluster has one agent`,
      }
    : {
        type: 'retry',
        reason: 'ProbingOther',
        message: `another agent of cluster ${hello.cluster} was connected to ${where}; it is being asked whether it lives`,
      };
}

async function settleDue(state: State): Promise<boolean> {
  const { deps, own, due } = state;
  try {
    if (state.readsAll) {
      state.readsAll = false;
      await lookAtAll(state).catch((error: unknown) => {
        state.readsAll = true;
        throw error;
      });
    }
    for (let [cluster] = due; cluster !== undefined; [cluster] = due) {
      // Before it is looked at: what changes meanwhile makes it due again.
      due.delete(cluster);
      await settle(state, cluster).catch((error: unknown) => {
        due.add(cluster);
        throw error;
      });
    }
    state.isStuck = false;
    return false;
  } catch (error) {
    const wasStuck = state.isStuck;
    state.isStuck = true;
    // Who waits for its claim goes on without it.
    if (!wasStuck) for (const cluster of own.keys()) deps.changed(cluster);
    throw error;
  }
}

/** Finds the clusters whose claim is another one than is known here. */
async function lookAtAll({ deps, own, others, due }: State): Promise<void> {
  const missing = new Set([...own.keys(), ...others.keys()]);
  for await (const { key, value, version } of deps.store.list(PREFIX)) {
    const cluster = key.slice(PREFIX.length);
    const session = parseClaim({ value: parseJsonBytes(value), version })?.session;
    const known = own.get(cluster)?.version === version || others.get(cluster)?.session === session;
    if (!known) due.add(cluster);
    missing.delete(cluster);
  }
  for (const cluster of missing) due.add(cluster);
}

/** Brings one cluster's claim in the store and what is known of it here together. */
async function settle(state: State, cluster: string): Promise<void> {
  const { deps, id, own, others, leaving, takings } = state;
  for (;;) {
    const found = await readJson(deps.store, claimKey(cluster));
    const claim = parseClaim(found);
    const mine = own.get(cluster);
    const taking = takings.get(cluster);
    if (mine === undefined && taking !== undefined) {
      // It stays: whoever finds none would claim the cluster again.
      const taken = { replica: id, instance: '', session: `${id}/taken/${found.version}`, claimed: claim?.claimed };
      const writes = [jsonWrite(claimKey(cluster), claimJson(taken), found.version), taking];
      if ((await deps.store.write(writes)) === 'written') takings.delete(cluster);
      continue;
    }
    if (mine === undefined) {
      // Left over from a session of this process that is over.
      if (claim?.replica === id && claim.instance !== '') await letGo(state, cluster, found.version);
      leaving.delete(cluster);
      return noteOther(state, cluster, claim);
    }
    if (claim?.session === mine.claim.session) {
      mine.version = found.version ?? undefined;
      others.delete(cluster);
      return deps.changed(cluster);
    }
    // It was in the store, and another one is there now.
    if (mine.version !== undefined && claim !== undefined) return lose(state, cluster, mine, claim);
    mine.version = undefined;
    await deps.store.write([jsonWrite(claimKey(cluster), claimJson(mine.claim), found.version)]);
  }
}

function noteOther({ deps, id, others }: State, cluster: string, claim: Claim | undefined): void {
  const foreign = claim === undefined || claim.replica === id || claim.instance === '' ? undefined : claim;
  if (others.get(cluster)?.session === foreign?.session) return;
  if (foreign === undefined) others.delete(cluster);
  else others.set(cluster, foreign);
  deps.changed(cluster);
}

function lose(state: State, cluster: string, { session }: Own, to: Claim): void {
  const { deps, own } = state;
  own.delete(cluster);
  deps.log.info('another replica has taken a cluster over', { cluster, replica: to.replica });
  session.close('drain', 'ClaimLost', 'another replica of the server serves this cluster now');
  noteOther(state, cluster, to);
  // What is kept of it is another's word from now on.
  void deps.release(cluster).then(() => deps.changed(cluster));
}

async function letGo({ deps, own }: State, cluster: string, version: string | null): Promise<void> {
  await deps.release(cluster);
  // Its agent may have come back meanwhile, and goes on with the claim.
  if (!own.has(cluster)) await deps.store.write([jsonWrite(claimKey(cluster), null, version)]);
}

/** Whoever takes the clusters over need not wait. */
async function releaseAll({ deps, id, own, leaving }: State): Promise<void> {
  for (const cluster of new Set([...own.keys(), ...leaving.keys()])) {
    const found = await readJson(deps.store, claimKey(cluster)).catch(() => undefined);
    if (found === undefined || parseClaim(found)?.replica !== id) continue;
    await deps.release(cluster);
    await deps.store.write([jsonWrite(claimKey(cluster), null, found.version)]).catch(() => undefined);
  }
}

function claimJson({ claimed, ...claim }: Claim) {
  return { ...claim, ...(claimed === undefined ? {} : { claimed: positionJson(claimed) }) };
}

function parseClaim({ value }: JsonRecord): Claim | undefined {
  const { replica, instance, session, claimed } = objectOf(value);
  if (textOf(replica) === '' || textOf(session) === '') return undefined;
  return {
    replica: textOf(replica),
    instance: textOf(instance),
    session: textOf(session),
    claimed: readAdmission(claimed),
  };
}
