import { createLimitedLog } from '../../../http/limited-log.ts';
import type { StreamEnd } from '../../../ports/transport.ts';
import type { XdsTransport } from '../../../ports/xds-transport.ts';
import type { ServerCore } from '../../../runtime/core.ts';
import type { Replica } from '../../../runtime/replica/replica.ts';
import { createAds } from '../../../xds/ads.ts';
import { createXdsCounts } from '../../../xds/figures.ts';
import { XDS_LIMITS, type XdsLimits } from '../../../xds/limits.ts';
import { createOpenStreams, createStreams } from '../../../xds/stream.ts';
import { type HealthParts, health as healthDomain } from '../engine/health.ts';
import type { DeclaredDataplane } from '../model/dataplane.ts';
import type { EnvoyFigures } from '../model/envoy-figures.ts';
import { declaredDataplane } from '../runtime/declared.ts';
import { createDataplaneReports } from '../runtime/reports.ts';
import { createDataplaneStreams } from '../runtime/streams.ts';
import { createAccess, type XdsTrust } from './access.ts';
import { ENDPOINT_TYPE } from './assignment.ts';
import { createEndpoints } from './endpoints.ts';
import { createHds } from './hds.ts';
import type { HdsSettings } from './hds-settings.ts';

/** What Envoys are served with. */
export interface XdsSetup {
  readonly transport: XdsTransport;
  /** Undefined: data planes show no token (mode `insecure`). */
  readonly trust: XdsTrust | undefined;
  readonly hds: HdsSettings;
  /** The clusters that endpoints for Envoys come from, besides the declared data planes. */
  readonly endpointsFromClusters: readonly string[];
  readonly limits?: Partial<XdsLimits>;
}

/** What {@link createXds} needs. */
interface XdsDeps extends ServerCore {
  readonly replica: Replica;
  /** Id of this replica; empty: the only server. */
  readonly id: string;
}

interface HealthDeps extends XdsDeps {
  readonly health: HealthParts;
}

/** A bound address. */
interface Address {
  readonly host: string;
  readonly port: number;
}

const REMOVED: StreamEnd = {
  code: 'refused',
  reason: 'UnknownDataplane',
  message: 'the data plane is not declared any more',
};

const NO_FIGURES: EnvoyFigures = { hdsStreams: 0, hdsReports: new Map(), edsPushes: new Map(), refusals: new Map() };

/** Knows which declared data planes are connected and what their Envoys report, and serves their Envoys if there is a setup. */
export function createXds(deps: XdsDeps, setup: XdsSetup | undefined) {
  const { engine, loop } = deps;
  const health = engine.reported(healthDomain)?.parts;
  if (health === undefined) throw new Error('the engine has no domain for the health of data planes');
  const declared = (key: string): DeclaredDataplane | undefined => declaredDataplane(engine, key);
  const known = createKnown({ ...deps, health });
  const server = setup === undefined ? undefined : createServer({ ...deps, health }, setup, known, declared);
  const changes = engine.graph.watch(health.declared);
  let bound: Address | undefined;
  loop.addSink('readers', () => {
    const gone: string[] = [];
    for (const { key, after } of changes.take()) {
      if (after === undefined) gone.push(key);
      else server?.declared(key);
    }
    for (const key of gone) {
      server?.removed(key);
      known.forget(key);
    }
    known.forgetUndeclared((key) => declared(key) !== undefined);
    server?.committed();
  });
  return {
    /** For metrics. */
    figures: (): EnvoyFigures => server?.figures() ?? NO_FIGURES,
    /** How many data planes and services of each mesh have each status. */
    meshes: health.meshCounts,
    /** Resolves with the address; undefined: no Envoy is served here. */
    start: async (): Promise<Address | undefined> => {
      known.start();
      bound = await server?.start();
      return bound;
    },
    /** Null: no Envoy is served here. */
    address: (): { readonly address: string; readonly port: number; readonly tls: boolean } | null =>
      bound === undefined ? null : { address: bound.host, port: bound.port, tls: setup?.trust !== undefined },
    /** Ends all streams. Their data planes stay connected until they could have come back. */
    stop: async (): Promise<void> => {
      await known.stop();
      await server?.stop();
    },
  };
}

/** What is known of data planes by their streams at any replica. */
function createKnown(deps: HealthDeps) {
  const { health, replica } = deps;
  const { inputs } = health;
  const reports = createDataplaneReports({ ...deps, input: inputs.reports });
  const streams = createDataplaneStreams({ ...deps, input: inputs.connections });
  let stops: readonly (() => Promise<void>)[] = [];
  let hasForgotten = false;
  const forget = (key: string): void => {
    reports.forget(key);
    streams.forget(key);
  };
  return {
    reports,
    streams,
    forget,
    /** Once after the start: forgets data planes whose declaration ended while no server ran. */
    forgetUndeclared: (isDeclared: (key: string) => boolean): void => {
      if (hasForgotten || !replica.mayStart() || !replica.knowsAll()) return;
      hasForgotten = true;
      for (const key of new Set([...reports.known(), ...streams.known()])) if (!isDeclared(key)) forget(key);
    },
    start: (): void => {
      stops = [reports.start(), streams.start()];
    },
    stop: async (): Promise<void> => {
      await Promise.all(stops.map((stop) => stop()));
    },
  };
}

function createServer(
  deps: HealthDeps,
  setup: XdsSetup,
  { reports, streams }: Pick<ReturnType<typeof createKnown>, 'reports' | 'streams'>,
  declared: (key: string) => DeclaredDataplane | undefined,
) {
  const { engine, health, replica, clock, log } = deps;
  const { transport, trust, hds: settings } = setup;
  const limits = { ...XDS_LIMITS, ...setup.limits };
  const counts = createXdsCounts();
  const strangers = createLimitedLog(log, clock);
  const access = createAccess({
    trust,
    clock,
    limits,
    mayStart: replica.hasCommitted,
    isDeclared: (key) => declared(key) !== undefined,
  });
  const { opened } = streams;
  const hds = createHds({ clock, settings, declared, reports, opened });
  const endpoints = createEndpoints({
    graph: engine.graph,
    health,
    clock,
    gatherMs: limits.gatherMs,
    fromClusters: setup.endpointsFromClusters,
    isWanted: (service) => ads.isWanted(ENDPOINT_TYPE, service),
    changed: (services) => ads.changed(ENDPOINT_TYPE, services),
    rejected: (dataplane, message) => {
      if (message !== undefined) log.warn('an Envoy refuses endpoints', { dataplane, message });
      streams.rejected(dataplane, message);
    },
  });
  const scopeOf = (dataplane: string): string => dataplane.slice(0, dataplane.indexOf('/'));
  const ads = createAds({ counts, limits, clock, opened, types: [endpoints], scopeOf });
  const open = createOpenStreams();
  const shared = { access, counts, limits, clock, strangers };
  const serve = {
    health: createStreams(shared, hds.protocol, open),
    discovery: createStreams(shared, ads.protocol, open),
  };
  return {
    figures: (): EnvoyFigures => ({
      hdsStreams: hds.counts.streams,
      hdsReports: hds.counts.reports,
      edsPushes: counts.pushes(ENDPOINT_TYPE),
      refusals: counts.refusals(),
    }),
    declared: hds.changed,
    removed: (key: string): void => open.end(key, REMOVED),
    committed: endpoints.committed,
    start: () =>
      transport.start({
        stream: (method, call) => serve[method](call),
        turnedAway: ({ reason }, peer) => {
          counts.refused(reason);
          strangers.info('the connection of an Envoy is refused', { reason, peer });
        },
      }),
    stop: async (): Promise<void> => {
      endpoints.stop();
      ads.stop();
      await transport.stop();
    },
  };
}
