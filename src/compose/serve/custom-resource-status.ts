import type { Engine } from '../../engine/graph.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import type { SourceName } from '../../model/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CustomResources } from '../../ports/custom-resources.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import type { ResourceStatus } from '../../ports/resource-status.ts';
import type { Loop } from '../../runtime/loop.ts';
import type { SourceTable } from '../../runtime/source-table.ts';
import { createPlacementStatuses, type PlacementStatuses } from '../../runtime/status/placement-statuses.ts';
import { ownConditionsOf, renderResourceStatus } from '../../runtime/status/resource-status.ts';
import {
  createResourceStatusSink,
  type ResourceStatusSink,
  type StatusSubject,
} from '../../sinks/kubernetes/resource-status-sink.ts';
import type { KubernetesSource } from '../../sources/kubernetes/kubernetes-source.ts';
import { resourcePath } from '../../sources/kubernetes/resource-path.ts';

/** A source of custom resources whose status is written. */
export interface StatusOfCustomResources {
  readonly source: KubernetesSource;
  readonly resources: CustomResources;
  readonly status: ResourceStatus;
  readonly random: Random;
}

interface StatusParts {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly sources: SourceTable;
  readonly clock: Clock;
  readonly log: Log;
}

/** After a start, agents get this long to come back before their absence is news. */
const SETTLE_MS = 20_000;

/** The writing of the status of custom resources. */
export interface CustomResourceStatus {
  /** Only the server that leads writes. */
  lead(leads: boolean): void;
  stop(): Promise<void>;
}

/** Writes the status of custom resources after each commit that may have changed it, while this server leads. */
export function wireCustomResourceStatus(
  parts: StatusParts,
  custom: readonly StatusOfCustomResources[],
  /** Every cluster that was known at the start is back, and nothing is under way. */
  isSettled: () => boolean,
): CustomResourceStatus {
  if (custom.length === 0) return { lead: () => undefined, stop: async () => undefined };
  const { engine, loop, clock, log } = parts;
  const placements = createPlacementStatuses(engine);
  const settleBy = clock.monotonic() + SETTLE_MS;
  let settled = false;
  let leading = false;
  const maySpeak = (): boolean => {
    if (!leading) return false;
    settled ||= isSettled() || clock.monotonic() >= settleBy;
    return settled;
  };
  const sinks: readonly ResourceStatusSink[] = custom.map(({ source, resources, status, random }) => {
    const subjects = () => (maySpeak() ? subjectsOf(parts, placements, source, resources) : undefined);
    const sink = createResourceStatusSink({
      status,
      subjects,
      ownConditions: ownConditionsOf,
      clock,
      random,
      log: log.child({ source: source.name }),
    });
    source.watch(sink.changed);
    return sink;
  });
  const changed = (): void => {
    for (const sink of sinks) sink.changed();
  };
  loop.addSink(() => {
    placements.note();
    changed();
  });
  const cancel = clock.schedule(SETTLE_MS, changed);
  return {
    lead: (leads) => {
      leading = leads;
      changed();
    },
    stop: async () => {
      cancel();
      await Promise.all(sinks.map((sink) => sink.stop()));
    },
  };
}

function subjectsOf(
  { engine, sources }: StatusParts,
  placements: PlacementStatuses,
  { name: source, entered }: KubernetesSource,
  resources: CustomResources,
): readonly StatusSubject[] {
  const state = sources.get(source);
  const said = diagnosticsByPath(state?.admitted?.diagnostics ?? []);
  const isRefused = state?.condition.state === 'refused';
  const inForce = entered();
  const subjects: StatusSubject[] = [];
  for (const resource of resources.state().objects.values()) {
    const path = resourcePath(resource.key);
    const generation = inForce.get(path)?.generation;
    // What is only on its way in is told of when it is there.
    if (generation === undefined && !isRefused) continue;
    const subject = { source: source as SourceName, path, key: resource.key, generation: generation ?? 0 };
    const content = renderResourceStatus(engine, { ...subject, diagnostics: said.get(path) ?? [] }, placements.get);
    subjects.push({ resource, generation: generation ?? 0, content });
  }
  return subjects;
}

function diagnosticsByPath(diagnostics: readonly Diagnostic[]): ReadonlyMap<string, readonly Diagnostic[]> {
  return Map.groupBy(
    diagnostics.filter(({ at }) => at !== undefined),
    ({ at }) => at?.path ?? '',
  );
}
