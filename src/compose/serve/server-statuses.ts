import type { StatusBranchView } from '../../api/server-api.ts';
import { MOST_LISTED } from '../../engine/status/listed.ts';
import { revisionStatus } from '../../engine/status/rollout.ts';
import type { FleetPolicy } from '../../model/fleet/desired.ts';
import { defaultFleetPolicy } from '../../model/fleet/fleet-policy.ts';
import { type Locator, locatedDiagnostics } from '../../runtime/api/locator.ts';
import { enrolledAgainEvent } from '../../runtime/enrolment-audit.ts';
import type { StatusBranch } from '../../runtime/status/observed-statuses.ts';
import { createStatusPublisher, type StatusPublisher, type StatusSink } from '../../runtime/status/status-publisher.ts';
import { createStatusRenderer } from '../../runtime/status/status-renderer.ts';
import { createUnpublishedStatuses } from '../../runtime/status/unpublished-statuses.ts';
import { wireCustomResourceStatus } from './custom-resource-status.ts';
import { settledAfterStart } from './readiness.ts';
import type { ServerDeps } from './server-deps.ts';
import type { Parts } from './wire-replica.ts';

/** The status branch, for reading; undefined: status is not written to a branch. */
export function statusBranchOf(deps: ServerDeps): StatusBranch | undefined {
  const { statusSink, parseYaml: parse } = deps;
  return statusSink && { parse, readAll: statusSink.readAll, customSources: customSourcesOf(deps) };
}

function customSourcesOf({ customResources = [] }: ServerDeps): ReadonlySet<string> {
  return new Set(customResources.map(({ source }) => source.name));
}

/** The statuses that a server writes while it leads: to the status branch, to custom resources, or only to the store. */
export function wireStatuses(parts: Parts, deps: ServerDeps, locator: Locator) {
  const { engine, events } = parts;
  const { statusSink: sink, customResources = [] } = deps;
  const customSources = customSourcesOf(deps);
  const policy = (): FleetPolicy['status'] => (engine.policy.get('', '')?.value ?? defaultFleetPolicy).status;
  const isSettled = settledAfterStart(parts);
  const common = { ...parts, customSources, policy, isSettled };
  const unpublished = createUnpublishedStatuses({
    ...common,
    hasBranch: sink !== undefined,
    leads: parts.replica.leads,
  });
  const custom = wireCustomResourceStatus(parts, customResources, isSettled);
  const publisher = sink && publishTo(sink, { ...common, parse: deps.parseYaml, locator });
  events.on('leads', (leads) => {
    sink?.lead?.(leads);
    if (leads) publisher?.start();
    else publisher?.stop();
    custom.lead(leads);
  });
  events.on('enrolledAgain', ({ request, serial }) =>
    custom.event('KubernetesCluster', request.cluster, enrolledAgainEvent(serial)),
  );
  return {
    ofBranch: () => statusBranchView(publisher, sink),
    stop: (): Promise<void> => {
      publisher?.stop();
      unpublished.stop();
      return custom.stop();
    },
  };
}

interface PublisherParts
  extends Parts,
    Pick<Parameters<typeof createStatusPublisher>[0], 'policy' | 'isSettled' | 'parse'> {
  readonly customSources: ReadonlySet<string>;
  readonly locator: Locator;
}

function publishTo(sink: StatusSink, parts: PublisherParts): StatusPublisher {
  const { engine, locator, loop, sources } = parts;
  const diagnosticsOf = (source: string) => locatedDiagnostics(engine, locator, source, MOST_LISTED);
  const publisher = createStatusPublisher({
    ...parts,
    sink,
    renderer: createStatusRenderer({ ...parts, diagnosticsOf }),
    summary: () => revisionStatus(engine).summary,
    isComplete: () => sources.all().every(({ admitted }) => admitted !== undefined),
  });
  loop.addSink('readers', () => publisher.committed());
  return publisher;
}

function statusBranchView(
  publisher: StatusPublisher | undefined,
  sink: StatusSink | undefined,
): StatusBranchView | null {
  const condition = sink?.condition();
  if (condition === undefined) return null;
  const waiting = publisher?.waiting();
  return waiting === undefined || condition.state !== 'pending' ? condition : { ...condition, message: waiting };
}
