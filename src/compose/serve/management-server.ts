import { decoders } from '../../domains/decoders.ts';
import { createEngine, type Engine } from '../../engine/graph.ts';
import { locateHere } from '../../manifest/locate.ts';
import { followDiagnostics } from '../../runtime/api/followed-diagnostics.ts';
import { createLocator } from '../../runtime/api/locator.ts';
import { createServerApi } from '../../runtime/api/server-api.ts';
import { createAttempts } from '../../runtime/attempts.ts';
import { noteEnrolments } from '../../runtime/enrolment-audit.ts';
import { createLoop } from '../../runtime/loop.ts';
import { apiOfReplica, leaderElsewhere } from './among-replicas.ts';
import { createDomainParts } from './domain-parts.ts';
import { createFigures } from './figures.ts';
import { layFoundation } from './foundation.ts';
import { createPlans } from './plans.ts';
import { whyNotReady } from './readiness.ts';
import { wireAgents } from './server-agents.ts';
import type { ServerDeps, ServerOptions } from './server-deps.ts';
import type { Address } from './server-part.ts';
import { statusBranchOf, wireStatuses } from './server-statuses.ts';
import { type Parts, wireReplica } from './wire-replica.ts';

const FLUSH_MS = 5_000;

export type ManagementServer = Awaited<ReturnType<typeof createManagementServer>>;

/** Wires a management server without its adapters. Rejects if the store cannot be read. */
export async function createManagementServer(deps: ServerDeps, options: ServerOptions) {
  const { relay, replicas: setup, locate = locateHere(decoders) } = deps;
  const engine = openEngine(deps, options);
  const loop = createLoop({ ...deps, engine });
  const foundation = await layFoundation({ ...deps, engine, loop, lock: deps.lock }, setup, statusBranchOf(deps));
  const parts = wireReplica(foundation, deps.sources, options.version);
  const { deadlines, events, replica, sources, suspensions } = parts;
  const notReady = (): readonly string[] => whyNotReady(parts);
  const ready = (): boolean => notReady().length === 0;
  const attempts = createAttempts(parts);
  const locator = createLocator({ engine, sources, locate });
  const ofDomains = createDomainParts(deps, parts, ready);
  const statuses = wireStatuses(parts, deps, locator);
  const agents = wireAgents(parts, { ...options, signer: relay.signer });
  noteEnrolments(parts, deps.audit);
  const api = createServerApi({
    ...options,
    ...parts,
    ...agents,
    ...ofDomains,
    attempts,
    locator,
    ready,
    fleet: options.fleet,
    signer: relay.signer,
    ...createPlans(parts, { ...options, ...deps, locator }),
    engineDiagnostics: followDiagnostics(parts, locator),
    leadsElsewhere: () => leaderElsewhere(replica),
    statusBranch: statuses.ofBranch,
  });

  loop.begin();
  return {
    api: setup === undefined ? api : apiOfReplica(api, replica),
    engine,
    sources,
    replica,
    notReady,
    events: { on: events.on },
    /** For metrics. */
    figures: createFigures(parts, agents.refusedAgents),
    /** What the metrics of domains show, by their names. */
    samples: ofDomains.samples,
    /** Resolves, with a text for people, when the server cannot continue and is to be stopped. */
    over: foundation.over,
    /** Listens for agents, and for what domains listen for, and starts to follow the sources. Resolves with the addresses, by name. */
    start: async (): Promise<{ readonly relay: Address } & Readonly<Record<string, Address>>> => {
      await replica.start();
      const address = await relay.start(agents.listener);
      const others = await ofDomains.start();
      sources.start(replica.lastAdmitted);
      events.on('turn', (leads) => events.emit('leads', leads));
      if (replica.leads()) events.emit('leads', true);
      return { relay: address, ...others };
    },
    /** Drains the relay, stops the sources, and makes durable what waits to be written. */
    stop: async (): Promise<void> => {
      await Promise.all([statuses.stop(), attempts.stop()]);
      suspensions.stop();
      deadlines.stop();
      await Promise.all([ofDomains.stop(), relay.drain(), agents.refusedAgents.stop()]);
      await stopParts(parts);
    },
  };
}

function openEngine({ graph, domains, replicas }: ServerDeps, options: ServerOptions): Engine {
  const engine = createEngine(
    graph,
    domains.map((domain) => domain.engine),
  );
  engine.inputs.fleet.set('', '', { ...options, role: replicas === undefined ? 'leader' : 'follower' });
  return engine;
}

/** Stops what has no peer any more. */
async function stopParts({ sources, loop, replica, journal, history, log }: Parts): Promise<void> {
  await sources.stop();
  loop.settle();
  await history.stop();
  await replica.stop();
  if (!(await journal.flush(FLUSH_MS))) log.warn('not everything could be written to the store');
  journal.stop();
}
