import type { ServerApi } from '../../api/server-api.ts';
import { joinReceipts } from '../../model/fleet/receipt.ts';
import type { AgentListener } from '../../relay/session.ts';
import type { Windows } from '../../runtime/removals/windows.ts';
import type { Replica } from '../../runtime/replica/replica.ts';
import type { Sessions } from '../../runtime/sessions.ts';

/** Adds the view of the replica to the status, and ends the lease of another replica for a replaced cluster. */
export function apiOfReplica(api: ServerApi, replica: Replica): ServerApi {
  const alsoElsewhere =
    (change: ServerApi['replaceCluster']): ServerApi['replaceCluster'] =>
    async (cluster, by) => {
      const done = await change(cluster, by);
      // The replica that serves the cluster would go on with the registration of before.
      return done.ok ? { ...done, receipt: joinReceipts([done.receipt, replica.revoke(cluster)]) } : done;
    };
  return {
    ...api,
    status: () => ({ ...api.status(), replica: replica.view() }),
    replaceCluster: alsoElsewhere(api.replaceCluster),
    giveBackCluster: alsoElsewhere(api.giveBackCluster),
  };
}

/** Undefined: this server leads. Otherwise the address of the leader; null: it is not known. */
export function leaderElsewhere(replica: Replica): { readonly leader: string | null } | undefined {
  return replica.leads() ? undefined : { leader: replica.view().leader?.address ?? null };
}

/** A follower does not count removals: the leader that permits them counts them. */
export function countedWhileLeading(windows: Windows, { leads }: Replica): Windows {
  return { ...windows, leaving: (...args) => (leads() ? windows.leaving(...args) : undefined) };
}

/** Lets the replica take part in the hellos and sessions of agents. */
export function listenerOfReplica(
  listener: AgentListener,
  { replica, sessions }: { readonly replica: Replica; readonly sessions: Sessions },
): AgentListener {
  return {
    ...listener,
    caughtUp: replica.caughtUp,
    admit: (hello, certificate) => {
      const admission = listener.admit(hello, certificate);
      return admission.type === 'admitted' ? (replica.judge(hello) ?? admission) : admission;
    },
    connected: (session, holding) => {
      replica.connected(session, holding);
      listener.connected(session, holding);
      const connected = sessions.get(session.hello.cluster);
      if (connected?.session === session) connected.admitted = holding.admitted;
    },
    latestEpoch: () => Math.max(listener.latestEpoch(), replica.admitted().epoch),
    disconnected: (session, reason) => {
      listener.disconnected(session, reason);
      replica.disconnected(session);
    },
  };
}
