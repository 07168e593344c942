import type { AgentHolding } from '../../model/agent.ts';
import type { JsonValue } from '../../model/json.ts';
import type { StoreEvent } from '../../ports/snapshot-store.ts';
import type { AgentSession } from '../../relay/session.ts';
import { recordKey } from '../ledger/records.ts';
import type { Peers } from './peers.ts';
import { jsonWrite } from './records.ts';
import { behindAgent, firstClaim, type Replica, type ReplicaView } from './replica.ts';
import {
  createParts,
  hearKeys,
  type Parts,
  RELEASE_MS,
  type ReplicaDeps,
  type SharedOptions,
} from './replica-parts.ts';
import type { StagedSources } from './staged-sources.ts';
import { startSweeping } from './sweep.ts';

/** One of several servers of a fleet, which share a store. */
export function createSharedReplica(deps: ReplicaDeps, options: SharedOptions): Replica {
  const parts = createParts(deps, options);
  const { admitting, claims, elapsed, epoch, peers, mirror, probes, verdicts } = parts;
  const { candidacy, counter, loop, sources, sessions, store } = deps;
  const { staged } = deps.shared;
  let isDown = false;
  let unwatch = (): void => undefined;
  let stopSweeping = (): void => undefined;

  const hear = (event: StoreEvent): void => {
    if (event.type === 'changed') {
      hearKeys(parts, event.keys);
      return;
    }
    isDown = event.type === 'down' || (isDown && event.type !== 'up');
    if (event.type === 'lost') parts.publisher.lost();
    for (const part of [epoch, admitting, claims, mirror, elapsed]) part.wake();
    loop.transact(() => undefined);
  };
  candidacy.onChange(admitting.wake);
  deps.shared.onChange(admitting.wake);

  return {
    leads: admitting.judges,
    admitted: counter.current,
    mayStart: () => staged.record()?.open === true,
    knowsAll: () => sources.allAreComplete(),
    obstacle: (cluster) => {
      // This process has slept through the end of its turn: another one may have judged otherwise since.
      if (admitting.isOver()) return '';
      const engine = staged.record()?.engine;
      if (engine !== undefined && engine !== options.engine) return otherGeneration(engine, options.engine);
      if (!claims.holds(cluster) && !isDown && !claims.isStuck()) return '';
      return behindAgent(counter.current(), sessions.get(cluster)?.admitted);
    },
    judge: claims.judge,
    connected: (session, holding) => takeIn(deps, parts, session, holding),
    disconnected: claims.disconnected,
    takeAway: (cluster) => {
      if (claims.serves(cluster)) return;
      const registration = deps.ledger.registration(cluster) as unknown as JsonValue | undefined;
      claims.takeAway(cluster, jsonWrite(recordKey.registration(cluster), registration ?? null));
    },
    lastAdmitted: (source) => staged.source(source)?.revision?.revision,
    view: () => viewOf(deps, options, peers, admitting.judges(), isDown),
    start: async () => {
      unwatch = store.watch(hear);
      await admitting.follow();
      mirror.start();
      elapsed.wake();
      claims.start();
      peers.start();
      candidacy.start();
      stopSweeping = startSweeping(deps, parts);
    },
    stop: async () => {
      stopSweeping();
      // While it still has leave to write.
      await deps.journal.flush(RELEASE_MS);
      await claims.stop();
      await admitting.stop();
      await candidacy.stop();
      await Promise.all([mirror, probes, verdicts, elapsed, peers, epoch].map((part) => part.stop()));
      unwatch();
    },
  };
}

/** An agent is here: its cluster is written here from now on, and claimed. */
function takeIn(deps: ReplicaDeps, { claims, mirror }: Parts, session: AgentSession, holding: AgentHolding): void {
  const { cluster } = session.hello;
  deps.loop.settle();
  deps.ledger.own(cluster, mirror.readings(cluster), claims.guard(cluster));
  const claimed = firstClaim(deps, session, holding);
  deps.counter.claimed(claimed);
  claims.connected(session, claimed);
  mirror.forget(cluster);
}

function viewOf(
  { candidacy, counter, shared }: ReplicaDeps,
  options: SharedOptions,
  peers: Peers,
  leads: boolean,
  isDown: boolean,
): ReplicaView {
  const leader = candidacy.leader();
  const address = leader === candidacy.id ? options.advertise : (peers.get(leader ?? '')?.address ?? '');
  return {
    id: candidacy.id,
    leads,
    leader: leader === undefined ? undefined : { id: leader, address },
    admitted: counter.current(),
    alive: peers.alive().length + 1,
    trouble: troubleOf(shared.staged, options, leader, isDown),
  };
}

function troubleOf(
  staged: StagedSources,
  { engine, needsStore }: SharedOptions,
  leader: string | undefined,
  isDown: boolean,
): string {
  const admitted = staged.record();
  if (admitted !== undefined && admitted.engine !== engine) return otherGeneration(admitted.engine, engine);
  if (isDown && needsStore) return 'the store does not answer: what was admitted is sent, and nothing new is admitted';
  return leader === undefined ? 'no replica leads just now: nothing new is admitted' : '';
}

function otherGeneration(leaders: number, ours: number): string {
  return `OtherGeneration: what is admitted is computed by replicas of another version (engine ${leaders}, this one is ${ours}); it sends nothing until the leader is of its own`;
}
