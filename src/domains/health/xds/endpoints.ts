import type { Graph } from '../../../engine/collections/types.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Resource, ResourceRef, Resources } from '../../../xds/ads.ts';
import { dataplaneKey } from '../engine/dataplanes.ts';
import type { HealthParts } from '../engine/health.ts';
import { type InboundValue, inboundGroup } from '../engine/inbounds.ts';
import { createAssignmentEncoder, ENDPOINT_TYPE } from './assignment.ts';

/** What {@link createEndpoints} needs. */
interface EndpointDeps {
  readonly graph: Graph;
  readonly health: HealthParts;
  /** Clusters whose endpoints are included. */
  readonly fromClusters: readonly string[];
  readonly clock: Clock;
  /** Changes are gathered for this time, in milliseconds. */
  readonly gatherMs: number;
  /** Whether a stream asks for the endpoints of the service. */
  readonly isWanted: (service: ResourceRef) => boolean;
  /** The endpoints of these services may have changed. */
  readonly changed: (services: readonly ResourceRef[]) => void;
  readonly rejected: Resources['rejected'];
}

/** The load-balancing sets as Envoys receive them, by mesh and service. They are made for services that a stream asks for. */
export function createEndpoints(
  deps: EndpointDeps,
): Resources & { readonly committed: () => void; readonly stop: () => void } {
  const { graph, health, clock, gatherMs, isWanted } = deps;
  const { byService, all } = health.inbounds;
  const clusters = new Set(['', ...deps.fromClusters]);
  const isAwaited = (dataplane: string): boolean => health.awaited.get('', dataplane) !== undefined;
  const changes = graph.watch(all);
  const awaitedChanges = graph.watch(health.awaited);
  const encode = createAssignmentEncoder();
  const made = new Map<string, Resource>();
  /** Whether services are awaited; kept as {@link made}, because finding it out walks all inbounds of a service. */
  const awaited = new Map<string, boolean>();
  const due = new Map<string, ResourceRef>();
  let cancel: (() => void) | undefined;

  const flush = (): void => {
    cancel = undefined;
    const services = [...due.values()];
    due.clear();
    deps.changed(services);
  };
  const note = (mesh: string, service: string): void => {
    const key = inboundGroup.all(mesh, service);
    const ref = { scope: mesh, name: service };
    made.delete(key);
    awaited.delete(key);
    if (isWanted(ref)) due.set(key, ref);
  };
  const noteInbound = (inbound: InboundValue | undefined): void => {
    if (inbound !== undefined && clusters.has(inbound.cluster)) note(inbound.mesh, inbound.service);
  };
  /** The report need not have changed an inbound, and what was held for the service is sent now. */
  const noteAwaited = (key: string): void => {
    const { mesh = '', inbounds = [] } = health.declared.get('', key)?.dataplane ?? {};
    for (const { service } of inbounds) note(mesh, service);
  };
  return {
    type: ENDPOINT_TYPE,
    rejected: deps.rejected,
    get: (mesh, service) => {
      const key = inboundGroup.all(mesh, service);
      const known = made.get(key);
      if (known !== undefined) return known;
      const set = byService.members(inboundGroup.set(mesh, service)).map(({ value }) => value);
      const included = set.filter(({ cluster }) => clusters.has(cluster));
      const assignment = encode(service, included);
      if (isWanted({ scope: mesh, name: service })) made.set(key, assignment);
      return assignment;
    },
    isAwaited: (mesh, service) => {
      const key = inboundGroup.all(mesh, service);
      const known = awaited.get(key);
      if (known !== undefined) return known;
      const is = byService
        .members(key)
        .some(({ value: { cluster, dataplane: name } }) => cluster === '' && isAwaited(dataplaneKey({ mesh, name })));
      if (isWanted({ scope: mesh, name: service })) awaited.set(key, is);
      return is;
    },
    forget: (mesh, service) => {
      const key = inboundGroup.all(mesh, service);
      made.delete(key);
      awaited.delete(key);
    },
    /** Runs after each commit. */
    committed: () => {
      for (const { before, after } of changes.take()) {
        noteInbound(before);
        noteInbound(after);
      }
      for (const { key } of awaitedChanges.take()) noteAwaited(key);
      if (due.size > 0) cancel ??= clock.schedule(gatherMs, flush);
    },
    stop: () => cancel?.(),
  };
}
