import type { Engine } from '../../engine/graph.ts';
import { type AgentHolding, type InputDelta, KINDS_AS_WRITTEN, type ObjectResult } from '../../model/agent.ts';
import type { ClusterName, Digest, FleetName } from '../../model/ids.ts';
import { comparePositions } from '../../model/output.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { AgentListener, AgentSession } from '../../relay/session.ts';
import { type Ledger, newRegistration } from '../../runtime/ledger/ledger.ts';
import type { Loop } from '../../runtime/loop.ts';
import type { Approvals } from '../../runtime/removals/approvals.ts';
import type { Sessions } from '../../runtime/sessions.ts';
import { judgeHello } from './admission.ts';

interface AgentSourceDeps {
  readonly fleet: FleetName;
  readonly engine: Engine;
  readonly loop: Loop;
  readonly ledger: Ledger;
  readonly sessions: Sessions;
  readonly mayStart: () => boolean;
  readonly knowsAll: () => boolean;
  readonly approvals: Approvals;
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
  const { engine, loop, ledger, approvals, sessions, clock, log } = deps;
  const { agents } = engine.inputs;

  const bind = ({ hello }: AgentSession, holding: AgentHolding): void => {
    const before = ledger.registration(hello.cluster);
    const known = before?.id === hello.clusterId ? before : newRegistration(hello.cluster, hello.clusterId);
    if (before !== undefined && before !== known) {
      ledger.forgetCluster(hello.cluster);
      approvals.endAll(hello.cluster);
    }
    // An agent may have seen more than this server remembers: then the store is older than what was sent. Every source
    // has been read anew by now, so what follows is admitted above it.
    const position = comparePositions(holding.position, known.position) > 0 ? holding.position : known.position;
    ledger.setRegistration(hello.cluster, { ...known, position, connected: true, since: clock.now() });
  };

  return {
    admit: (hello) => {
      const admission = judgeHello(hello, deps);
      if (admission.type === 'refused') noteTrouble(deps, hello.cluster, `refused: ${admission.message}`);
      return admission;
    },
    connected: (session, holding) => {
      const { cluster, capabilities, version } = session.hello;
      loop.settle();
      sessions.set(cluster, { session, holds: holding.digest, inFlight: false, rejections: 0, heldBack: false });
      log.info('an agent is connected', { cluster, version, owned: holding.entries.length });
      deps.connected(cluster, holding);
      loop.transact(() => {
        bind(session, holding);
        ledger.replaceEntries(cluster, holding);
        agents.set('', cluster, {
          connected: true,
          since: clock.now(),
          trouble: '',
          warm: ledger.registration(cluster)?.warm === true,
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
    results: (cluster, reported) => {
      // Only an end is judged by the ledger; settling for every message would commit once per agent instead of once.
      if (reported.some(({ state }) => state === 'removed')) loop.settle();
      loop.transact(() => {
        for (const result of reported) takeResult(deps, cluster, result);
      });
    },
    heldInput: (cluster) => {
      loop.settle();
      return heldInput(engine, cluster);
    },
    input: (cluster, delta) => {
      loop.transact(() => takeInput(deps, cluster, delta));
      markWarm(deps, cluster);
    },
  };
}

/** Shows at the cluster why somebody who speaks for it was refused. */
function noteTrouble({ engine, loop }: AgentSourceDeps, cluster: ClusterName, trouble: string): void {
  loop.settle();
  const { agents } = engine.inputs;
  const known = agents.get('', cluster) ?? {
    connected: false,
    since: 0,
    trouble: '',
    warm: false,
    kindsAsWritten: false,
  };
  // A second agent that is refused while the first is at work is in the log; the cluster has no trouble.
  if (known.connected || known.trouble === trouble) return;
  loop.transact(() => agents.set('', cluster, { ...known, trouble }));
}

/** Notes what an agent says became of an object; one that is gone leaves the ledger. */
function takeResult({ engine, ledger }: AgentSourceDeps, cluster: ClusterName, result: ObjectResult): void {
  if (result.state !== 'removed') {
    engine.inputs.results.set(cluster, result.key, result);
    return;
  }
  engine.inputs.results.delete(cluster, result.key);
  const entry = engine.inputs.ledger.get(cluster, result.key);
  if (entry?.phase === 'removing') ledger.setEntry(cluster, result.key, null);
}

function takeInput({ engine }: AgentSourceDeps, cluster: ClusterName, delta: InputDelta): void {
  for (const object of delta.upserts) engine.inputs.live.set(cluster, object.key, object);
  for (const key of delta.removals) engine.inputs.live.delete(cluster, key);
  if (delta.kinds === undefined) return;
  engine.inputs.kinds.drop(cluster);
  for (const state of delta.kinds) engine.inputs.kinds.set(cluster, state.kind, state);
}

/** The first complete input snapshot makes a cluster warm, for good. */
function markWarm({ engine, ledger, loop }: AgentSourceDeps, cluster: ClusterName): void {
  const registration = ledger.registration(cluster);
  if (registration === undefined || registration.warm) return;
  ledger.setRegistration(cluster, { ...registration, warm: true });
  loop.settle();
  const agent = engine.inputs.agents.get('', cluster);
  if (agent !== undefined) loop.transact(() => engine.inputs.agents.set('', cluster, { ...agent, warm: true }));
}

function heldInput(engine: Engine, cluster: ClusterName): ReadonlyMap<string, Digest> {
  const held = new Map<string, Digest>();
  for (const { key, value } of engine.inputs.live.entries(cluster)) held.set(key, value.digest);
  return held;
}
