import { durableAlready } from '../../model/fleet/receipt.ts';
import type { JsonValue } from '../../model/text/json.ts';
import type { AgentSession, ReportedHolding } from '../../relay/session.ts';
import { recordKey } from '../ledger/records.ts';
import { jsonWrite } from '../stored/json-record.ts';
import { catchUp } from './catch-up.ts';
import { behindAgent, provenAdmission, type Replica } from './replica.ts';
import { createParts, type Parts, RELEASE_MS, type ReplicaDeps, type ReplicaOptions } from './replica-parts.ts';
import { createReplicaView, otherGeneration } from './replica-view.ts';
import { wakeParts } from './wake-parts.ts';

/** One of several servers of a fleet, which share a store. */
export function createSharedReplica(deps: ReplicaDeps, options: ReplicaOptions): Replica {
  const { candidacy, counter, ownTurn, own, role, sessions, staged } = deps;
  const parts = createParts(deps, options);
  const { admitting, clusters, epoch, leases, peers, permits, records } = parts;
  const view = createReplicaView(deps, parts, options);
  const wakes = wakeParts(deps, parts);
  const isOpen = (): boolean => staged.published()?.open === true;

  return {
    ...role,
    admitted: counter.current,
    // An admission is published as a whole: once it is seen to be open, all that it admits is seen.
    mayStart: isOpen,
    hasCommitted: isOpen,
    hasReadAnew: (source) => own.hasCommitted(source) ?? !counter.isBehind(),
    obstacle: (cluster) => {
      // This process was suspended beyond the end of its turn: another leader may have judged otherwise since.
      if (ownTurn.isOver()) return '';
      const engine = staged.published()?.engine;
      if (engine !== undefined && engine !== options.engine) return otherGeneration(engine, options.engine);
      if (!leases.holds(cluster) && !view.isStoreDown() && !leases.isStuck()) return '';
      return behindAgent(cluster, counter.current(), sessions.get(cluster)?.admitted);
    },
    caughtUp: () => catchUp(deps, parts),
    judge: leases.judge,
    connected: (session, holding) => connect(deps, parts, session, holding),
    disconnected: leases.disconnected,
    revoke: (cluster) => {
      if (leases.serves(cluster)) return durableAlready;
      const registration = deps.ledger.registration(cluster) as unknown as JsonValue | undefined;
      return leases.revoke(cluster, jsonWrite(recordKey.registration(cluster), registration ?? null));
    },
    accepted: parts.admissionReceipt,
    lastAdmitted: (source) => staged.publishedSource(source)?.revision?.revision,
    isAlive: peers.isAlive,
    view: view.now,
    start: async () => {
      wakes.start();
      await admitting.follow();
      for (const part of [clusters, records, leases]) part.wake();
      peers.start();
      candidacy.start();
    },
    stop: async () => {
      // While the guards still let this replica write.
      await deps.journal.flush(RELEASE_MS);
      await leases.stop();
      await admitting.stop();
      await candidacy.stop();
      await Promise.all([clusters, permits, records, peers, epoch].map((part) => part.stop()));
      wakes.stop();
    },
  };
}

/** An agent is connected: this replica writes its cluster from now on, and requests the lease. */
function connect(
  { counter, ledger, outcomes, role }: ReplicaDeps,
  { leases, clusters }: Parts,
  session: AgentSession,
  holding: ReportedHolding,
): void {
  const { cluster } = session.hello;
  const stated = provenAdmission(holding);
  counter.stated(stated);
  // A follower may not have read yet what its leader has admitted.
  if (role.leads()) outcomes.lose(counter.provenLoss());
  // First: it ends the writing of an earlier session whose lease was lost.
  leases.connected(session, stated);
  ledger.own(cluster, clusters.readings(cluster), leases.guard(cluster));
  clusters.forget(cluster);
}
