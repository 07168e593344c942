import type { Engine } from '../../engine/graph.ts';
import { type AgentHello, type AgentHolding, KINDS_AS_WRITTEN, type ObjectResult } from '../../model/agent.ts';
import type { ClusterName, Digest, FleetName } from '../../model/ids.ts';
import { comparePositions } from '../../model/output.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { AgentListener } from '../../relay/session.ts';
import type { AssumedWarmRecovery } from '../../runtime/ledger/assumed-warm.ts';
import { type Ledger, newRegistration, unseenAgent } from '../../runtime/ledger/ledger.ts';
import type { Loop } from '../../runtime/loop.ts';
import type { Approvals } from '../../runtime/removals/approvals.ts';
import type { Sessions } from '../../runtime/sessions.ts';
import { endedRegistrations, judgeHello, judgeRegistration } from './admission.ts';

interface AgentSourceDeps {
  readonly fleet: FleetName;
  readonly engine: Engine;
  readonly loop: Loop;
  readonly ledger: Ledger;
  readonly sessions: Sessions;
  readonly mayStart: () => boolean;
  readonly knowsAll: () => boolean;
  readonly approvals: Approvals;
  readonly recovery: AssumedWarmRecovery;
  /** A session is up, and its agent has said what it holds. */
  readonly connected: (cluster: ClusterName, holding: AgentHolding) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Turns what the agents say into observations for the engine. A handler that builds on an earlier observation settles
 * the loop first: what is staged and not committed cannot be read back.
 */
export function createAgentSource(deps: AgentSourceDeps): AgentListener {
  const { engine, loop, ledger, recovery, sessions, clock, log } = deps;
  const { agents } = engine.inputs;

  return {
    admit: (hello, certificate) => {
      const admission = judgeHello(hello, certificate, deps);
      if (admission.type === 'refused') noteTrouble(deps, hello.cluster, `refused: ${admission.message}`);
      if (admission.type === 'admitted') ledger.heardOfRegistration(hello.cluster, certificate?.registration ?? 0);
      return admission;
    },
    mayRegister: (request) => {
      const admission = judgeRegistration(request, deps);
      if (admission.type === 'refused') {
        noteTrouble(deps, request.cluster, `refused a certificate: ${admission.message}`);
      }
      return admission;
    },
    connected: (session, holding) => {
      const { cluster, capabilities, version } = session.hello;
      loop.settle();
      recovery.consider(cluster, holding);
      sessions.set(cluster, { session, holds: holding.digest, inFlight: false, rejections: 0, heldBack: false });
      log.info('an agent is connected', { cluster, version, owned: holding.entries.length });
      deps.connected(cluster, holding);
      loop.transact(() => {
        const isAssumedWarm = recovery.isAssumedWarm(cluster) && !replacesAnother(deps, session.hello);
        bind(deps, session.hello, holding);
        ledger.replaceEntries(cluster, holding);
        agents.set('', cluster, {
          connected: true,
          since: clock.now(),
          trouble: '',
          warm: ledger.registration(cluster)?.warm === true,
          assumedWarm: isAssumedWarm,
          kindsAsWritten: capabilities.includes(KINDS_AS_WRITTEN),
        });
      });
    },
    disconnected: (session, reason) => {
      const { cluster } = session.hello;
      if (sessions.get(cluster)?.session !== session) return;
      sessions.delete(cluster);
      loop.settle();
      log.info('an agent is disconnected', { cluster, reason });
      const before = agents.get('', cluster);
      const registration = ledger.registration(cluster);
      if (before === undefined || registration === undefined) return;
      ledger.setRegistration(cluster, { ...registration, connected: false, since: clock.now() });
      loop.transact(() => agents.set('', cluster, { ...before, connected: false, since: clock.now() }));
    },
    broken: (cluster, reason) => noteTrouble(deps, cluster, `its session was ended: ${reason}`),
    latestEpoch: ledger.epoch,
    results: (cluster, reported) => {
      // Only an end is judged by the ledger; settling for every message would commit once per agent instead of once.
      if (reported.some(({ state }) => state === 'removed')) loop.settle();
      loop.transact(() => {
        for (const result of reported) takeResult(deps, cluster, result);
      });
    },
    inputDigests: (cluster) => {
      loop.settle();
      return inputDigests(engine, cluster);
    },
    input: (cluster, delta) => {
      loop.transact(() => ledger.takeInput(cluster, delta, clock.now()));
      markWarm(deps, cluster);
    },
  };
}

/** The name has belonged to another cluster id. */
function replacesAnother({ ledger }: AgentSourceDeps, { cluster, clusterId }: AgentHello): boolean {
  const before = ledger.registration(cluster);
  return before !== undefined && before.id !== clusterId;
}

function bind(deps: AgentSourceDeps, hello: AgentHello, holding: AgentHolding): void {
  const { ledger, approvals, recovery, clock } = deps;
  const before = ledger.registration(hello.cluster);
  const known =
    before?.id === hello.clusterId
      ? before
      : newRegistration(hello.cluster, hello.clusterId, endedRegistrations(ledger, hello.cluster));
  if (replacesAnother(deps, hello)) {
    ledger.forgetCluster(hello.cluster);
    approvals.endAll(hello.cluster);
    recovery.end(hello.cluster);
  }
  // An agent may have seen more than this server remembers: then the store is older than what was sent. Every source has
  // been read anew by now, so what follows is admitted above it; and leave to remove may have been used since.
  const isStoreOlder = comparePositions(holding.position, known.position) > 0;
  if (isStoreOlder) approvals.endAll(hello.cluster);
  ledger.setRegistration(hello.cluster, {
    ...known,
    ...{ position: isStoreOlder ? holding.position : known.position, connected: true, since: clock.now() },
    kindsAsWritten: hello.capabilities.includes(KINDS_AS_WRITTEN),
  });
}

/** Shows at the cluster why somebody who speaks for it was refused. */
function noteTrouble({ engine, loop }: AgentSourceDeps, cluster: ClusterName, trouble: string): void {
  loop.settle();
  const { agents } = engine.inputs;
  const known = agents.get('', cluster) ?? unseenAgent;
  // A second agent that is refused while the first is at work is in the log; the cluster has no trouble.
  if (known.connected || known.trouble === trouble) return;
  loop.transact(() => agents.set('', cluster, { ...known, trouble }));
}

/** Notes what an agent says became of an object; one that is gone leaves the ledger. */
function takeResult({ engine, ledger }: AgentSourceDeps, cluster: ClusterName, result: ObjectResult): void {
  if (result.state !== 'removed') {
    ledger.setResult(cluster, result.key, result);
    return;
  }
  ledger.setResult(cluster, result.key, null);
  const entry = engine.inputs.ledger.get(cluster, result.key);
  if (entry?.phase === 'removing') ledger.setEntry(cluster, result.key, null);
}

/** The first complete input snapshot makes a cluster warm, for good. */
function markWarm({ engine, ledger, loop, recovery }: AgentSourceDeps, cluster: ClusterName): void {
  const registration = ledger.registration(cluster);
  if (registration === undefined) return;
  const wasAssumedWarm = recovery.end(cluster);
  if (registration.warm && !wasAssumedWarm) return;
  ledger.setRegistration(cluster, { ...registration, warm: true });
  loop.settle();
  const agent = engine.inputs.agents.get('', cluster);
  if (agent === undefined) return;
  loop.transact(() => engine.inputs.agents.set('', cluster, { ...agent, warm: true, assumedWarm: false }));
}

function inputDigests(engine: Engine, cluster: ClusterName): ReadonlyMap<string, Digest> {
  const held = new Map<string, Digest>();
  for (const { key, value } of engine.inputs.live.entries(cluster)) held.set(key, value.digest);
  return held;
}
