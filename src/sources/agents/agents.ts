import {
  KINDS_AS_WRITTEN,
  TAKES_ATTEMPTS,
  TAKES_OBJECT_DRIFT_MODE,
  TAKES_STATUSES,
  TAKES_STOPPED,
} from '../../model/agent/agent.ts';
import { inventoryDigest } from '../../model/agent/inventory-digest.ts';
import type { ClusterName, Digest } from '../../model/fleet/ids.ts';
import { type Registration, reportedIn } from '../../model/fleet/ledger.ts';
import { comparePositions } from '../../model/fleet/output.ts';
import type { ClusterSize } from '../../model/limits/quotas.ts';
import { createLineLimit, type Rate } from '../../model/limits/rate-limit.ts';
import { given } from '../../model/values/given.ts';
import type {
  AgentCertificate,
  AgentListener,
  AgentSession,
  RegistrationRequest,
  ReportedHolding,
} from '../../relay/session.ts';
import type { History } from '../../runtime/history/history.ts';
import type { AssumedWarmRecovery } from '../../runtime/ledger/assumed-warm.ts';
import { inventoryOf } from '../../runtime/ledger/cluster-state.ts';
import { newRegistration } from '../../runtime/ledger/ledger.ts';
import type { ServerParts } from '../../runtime/parts.ts';
import type { RefusedAgents } from '../../runtime/refused-agents.ts';
import type { ClusterSession } from '../../runtime/sessions.ts';
import { endedRegistrations, type HelloDeps, judgeHello, judgeRegistration } from './admission.ts';
import { createInputTaker } from './inputs.ts';
import { createQuotas } from './quotas.ts';
import { createResultTaker } from './results.ts';

interface AgentSourceDeps extends HelloDeps, Pick<ServerParts, 'loop' | 'approvals' | 'clock' | 'log'> {
  readonly recovery: AssumedWarmRecovery;
  /** Of each cluster. */
  readonly quotas: ClusterSize;
  /** Number of records of a large step of an input snapshot that share a commit. */
  readonly partRecords: number;
  /** A session has begun, with the inventory that the agent reports. */
  readonly connected: (cluster: ClusterName, holding: ReportedHolding) => void;
  readonly history: Pick<History, 'disconnected' | 'results'>;
  readonly enrolledAgain: AgentListener['enrolledAgain'];
  readonly refusedAgents: Pick<RefusedAgents, 'refused' | 'connected' | 'disconnected'>;
}

/** Lines about the connections of one cluster. A line says how many were left out before it. */
const CONNECTIONS_LOGGED: Rate = { burst: 10, perSecond: 2 / 60 };

/**
 * Turns messages of agents into observations for the engine. A handler that depends on an earlier observation reads the latest
 * value of the input: a commit takes many turns of the event loop, in which more messages arrive.
 */
export function createAgentSource(deps: AgentSourceDeps): AgentListener {
  const { engine, loop, ledger, recovery, sessions, refusedAgents, clock } = deps;
  const { agents } = engine.inputs;
  const quotas = createQuotas(deps);
  const ends = { complete: (cluster: ClusterName) => markWarm(deps, cluster), failed: endAfterDefect(deps) };
  const inputs = createInputTaker({ ...deps, quotas, ...ends });
  const logConnection = createConnectionLog(deps);

  return {
    caughtUp: async () => true,
    admit: (hello, certificate) => {
      const admission = judgeHello(hello, certificate, deps);
      if (admission.type === 'admitted') ledger.noteEndedRegistrations(hello.cluster, certificate?.registration ?? 0);
      return admission;
    },
    mayRegister: (request) => judgeRegistration(request, deps),
    issued: (request, certificate) => noteIssued(deps, request, certificate),
    enrolledAgain: deps.enrolledAgain,
    connected: (session, holding) => {
      const { cluster, capabilities, version } = session.hello;
      if (engine.clusters.get('', cluster) === undefined) {
        // It was deregistered after its hello was admitted; its next hello gets the reason.
        session.close('drain', 'Undeclared', `no KubernetesCluster ${cluster} is declared any more`);
        return;
      }
      recovery.consider(cluster, holding);
      inputs.drop(cluster);
      sessions.set(cluster, newSession(session, holding));
      const { entries, isKnown } = holding;
      logConnection('an agent is connected', cluster, { version, owned: entries.length, known: isKnown });
      deps.connected(cluster, holding);
      refusedAgents.connected(cluster);
      loop.transact(() => {
        const isReplaced = bind(deps, session, holding);
        ledger.replaceEntries(cluster, holding);
        agents.set('', cluster, {
          connected: true,
          since: clock.now(),
          problem: '',
          id: session.hello.clusterId,
          warm: ledger.registration(cluster)?.warm === true,
          assumedWarm: recovery.isAssumedWarm(cluster) && !isReplaced,
          ...reportedIn(ledger.registration(cluster)),
          ...knownTo(capabilities),
        });
      });
    },
    disconnected: (session, reason) => {
      const { cluster } = session.hello;
      if (sessions.get(cluster)?.session !== session) return;
      sessions.delete(cluster);
      inputs.drop(cluster);
      refusedAgents.disconnected(cluster);
      logConnection('an agent is disconnected', cluster, { reason });
      noteDisconnected(deps, cluster);
    },
    refused: refusedAgents.refused,
    latestEpoch: ledger.epoch,
    results: createResultTaker(deps),
    remembered: (cluster, digest) => {
      const entries = inventoryOf(engine, cluster);
      return inventoryDigest(entries) === digest ? entries : undefined;
    },
    inputDigests: (cluster): readonly (readonly [string, Digest])[] => {
      inputs.drop(cluster);
      return Array.from(engine.inputs.live.latestEntries(cluster), ({ key, value }) => [key, value.digest] as const);
    },
    aboveQuota: quotas.aboveQuota,
    input: inputs.input,
  };
}

/** What an agent knows of outputs, by its capabilities. */
function knownTo(capabilities: readonly string[]) {
  return {
    kindsAsWritten: capabilities.includes(KINDS_AS_WRITTEN),
    ...(capabilities.includes(TAKES_STOPPED) ? { takesStopped: true as const } : {}),
    ...(capabilities.includes(TAKES_ATTEMPTS) ? { takesAttempts: true as const } : {}),
    ...(capabilities.includes(TAKES_OBJECT_DRIFT_MODE) ? { takesDriftMode: true as const } : {}),
  };
}

/** Logs that an agent has come or gone. An agent that does so all the time must not fill the disk. */
function createConnectionLog({ clock, log }: AgentSourceDeps) {
  const isDue = createLineLimit(clock.monotonic, CONNECTIONS_LOGGED);
  return (message: string, cluster: ClusterName, data: Readonly<Record<string, unknown>>): void => {
    const due = isDue(cluster);
    if (due !== undefined) log.info(message, { cluster, ...data, ...due });
  };
}

/** Ends the session of a cluster whose input could not be taken; its agent connects again. */
function endAfterDefect({ sessions, log }: AgentSourceDeps) {
  return (cluster: ClusterName, error: unknown): void => {
    log.error('taking an input failed', { cluster, error });
    sessions.get(cluster)?.session.close('drain', 'Internal', 'taking the input failed; the log says why');
  };
}

/** Stages that the agent of a cluster is away. */
function noteDisconnected({ engine, ledger, loop, clock, history }: AgentSourceDeps, cluster: ClusterName): void {
  history.disconnected(cluster);
  const { agents } = engine.inputs;
  const before = agents.latest('', cluster);
  const registration = ledger.registration(cluster);
  if (before === undefined || registration === undefined) return;
  if (engine.clusters.get('', cluster) === undefined) {
    // It connected while the commit that deregistered it was not published, which has bound the name again.
    loop.transact(() => ledger.endRegistration(cluster));
    return;
  }
  ledger.setRegistration(cluster, { ...registration, connected: false, since: clock.now() });
  loop.transact(() => agents.set('', cluster, { ...before, connected: false, since: clock.now() }));
}

function newSession(session: AgentSession, { digest: holds }: ReportedHolding): ClusterSession {
  return { session, holds, inFlight: false, isStaging: true, rejections: 0, isPaused: false };
}

/** Binds the cluster's name to the agent's cluster id; true if it belonged to another one. */
function bind(deps: AgentSourceDeps, { hello, certificate }: AgentSession, holding: ReportedHolding): boolean {
  const { cluster, clusterId, capabilities, kubernetesVersion } = hello;
  const { ledger, approvals, recovery, clock } = deps;
  const before = ledger.registration(cluster);
  const isReplaced = before !== undefined && before.id !== clusterId;
  if (isReplaced) {
    ledger.forgetCluster(cluster);
    approvals.endAll(cluster);
    recovery.end(cluster);
  }
  const known =
    before === undefined || isReplaced
      ? newRegistration(cluster, clusterId, endedRegistrations(ledger, cluster))
      : before;
  // The agent may have received more than the store records: then the store is an older copy. Every source has been read
  // again by now, so the next admissions are later ones; and approvals may have been used since.
  const isStoreOlder = comparePositions(holding.position, known.position) > 0;
  if (isStoreOlder) approvals.endAll(cluster);
  const { kubernetesVersion: _, tagKey: _tagKey, certificate: _certificate, ...others } = known;
  const { ownNamespace: _own, objectBytes: _bytes, takesStatuses: _statuses, ...rest } = others;
  ledger.setRegistration(cluster, {
    ...rest,
    ...given({ kubernetesVersion }),
    ...reportedIn({ ...hello, ...(capabilities.includes(TAKES_STATUSES) ? { takesStatuses: true } : {}) }),
    ...(holding.proof.type === 'nothing' ? {} : { tagKey: holding.proof.key }),
    ...(certificate === undefined ? {} : certificateRecord(certificate)),
    position: isStoreOlder ? holding.position : known.position,
    connected: true,
    since: clock.now(),
    kindsAsWritten: capabilities.includes(KINDS_AS_WRITTEN),
  });
  return isReplaced;
}

/** Notes the newest certificate of a connected agent. Another replica notes it when the agent shows it there. */
function noteIssued(
  { ledger, sessions }: AgentSourceDeps,
  { cluster, clusterId }: RegistrationRequest,
  certificate: AgentCertificate,
): void {
  const registration = ledger.registration(cluster);
  if (registration?.id !== clusterId || !sessions.has(cluster)) return;
  ledger.setRegistration(cluster, { ...registration, ...certificateRecord(certificate) });
}

function certificateRecord({ serial, issuedAt, expiresAt }: AgentCertificate): Pick<Registration, 'certificate'> {
  return { certificate: { serial, issuedAt, expiresAt } };
}

/** The first complete input snapshot makes a cluster warm, for good. */
function markWarm({ engine, ledger, loop, recovery }: AgentSourceDeps, cluster: ClusterName): void {
  const registration = ledger.registration(cluster);
  if (registration === undefined) return;
  const wasAssumedWarm = recovery.end(cluster);
  if (registration.warm && !wasAssumedWarm) return;
  ledger.setRegistration(cluster, { ...registration, warm: true });
  const agent = engine.inputs.agents.latest('', cluster);
  if (agent === undefined) return;
  loop.transact(() => engine.inputs.agents.set('', cluster, { ...agent, warm: true, assumedWarm: false }));
}
