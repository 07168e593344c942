import type { Derived, Entry, Graph, Input } from '../../../engine/collections/types.ts';
import type { Domain, DomainCore, DomainParts, EngineDiagnostic } from '../../../engine/domain.ts';
import type { FleetPolicy } from '../../../model/fleet/desired.ts';
import type { FindingReason } from '../../../model/fleet/diagnostic.ts';
import { displayKey, type ObjectKey, objectRefOf } from '../../../model/objects/object-key.ts';
import type { JsonValue } from '../../../model/text/json.ts';
import type { HealthReport, StreamState } from '../model/dataplane-health.ts';
import { healthDefaults, healthSection } from '../model/settings.ts';
import { deriveDataplaneStatuses } from './dataplane-statuses.ts';
import { deriveDataplanes } from './dataplane-values.ts';
import { type Doubt, deriveDeclaredDataplanes, type KnownDataplane } from './dataplanes.ts';
import { healthEntities } from './explain.ts';
import { deriveInbounds, type InboundIndexes, indexInbounds } from './inbounds.ts';
import { deriveLiveDataplanes } from './live-dataplanes.ts';
import { deriveLiveFacts } from './live-objects.ts';
import { countMeshes, type MeshCounts } from './meshes.ts';
import { derivePodDataplanes, podSettings } from './pods.ts';
import { deriveReportWait, type ReportSettings } from './report-wait.ts';
import { refusedDataplane } from './rights.ts';
import { deriveServiceDocuments, SERVICES_FOLDER } from './service-documents.ts';
import { deriveServiceOwners, type ServiceOwners } from './service-owners.ts';
import { deriveServices } from './services.ts';
import { dataplaneRows, endpointRows, serviceRows } from './views.ts';

/** What later domains read. */
export interface HealthParts extends DomainParts {
  /** The inbounds of all data planes by service and by address. */
  readonly inbounds: InboundIndexes;
  readonly declared: Derived<KnownDataplane>;
  /** The declared data planes whose report of health is still waited for. Partition and key as in {@link declared}. */
  readonly awaited: Derived<true>;
  readonly ownership: ServiceOwners;
  readonly meshCounts: () => readonly MeshCounts[];
  /** Whether declared data planes are connected, and what their Envoys reported last; by their key. */
  readonly inputs: { readonly connections: Input<StreamState>; readonly reports: Input<HealthReport> };
}

/** The data planes of the fleet, the status of their services, and their load-balancing sets. */
export const health: Domain<HealthParts> = {
  name: 'health',
  readsLive: {},
  judges: { Dataplane: refusedDataplane },
  section: healthSection,
  settings: ({ health: settings = healthDefaults }: FleetPolicy) => {
    const reports: ReportSettings = { reportWaitSeconds: settings.reportWaitSeconds };
    return { ...podSettings(settings), ...reports } as unknown as JsonValue;
  },
  derive: (graph, core) => {
    const connections = graph.input<StreamState>('dataplaneConnections');
    const reports = graph.input<HealthReport>('dataplaneReports');
    const { declarations, rights } = core;
    const { sources } = core.inputs;
    const declared = deriveDeclaredDataplanes(graph, declarations, { connections, reports, sources, rights });
    const wait = deriveReportWait(graph, { ...core.inputs, ...core, declared, reports });
    const inClusters = deriveLive(graph, core, declared);
    const live = [inClusters.live, inClusters.pods];
    const ownership = deriveServiceOwners(graph, { declarations, sources, rights, live });
    const dataplanes = deriveDataplanes(graph, [declared, ...live], ownership.owners);
    const inbounds = deriveInbounds(graph, dataplanes);
    const inboundIndexes = indexInbounds(graph, inbounds);
    const statuses = deriveDataplaneStatuses(graph, dataplanes, reports);
    const { services, members, membersByService } = deriveServices(graph, dataplanes, inboundIndexes);
    const documents = deriveServiceDocuments(graph, services, members, dataplanes);
    return {
      collections: {
        bySource: [],
        anywhere: [declared, ...wait.derived, ...ownership.derived],
        shown: [...inClusters.derived, dataplanes, inbounds, members, services, documents],
      },
      inputs: { connections, reports },
      deadlines: [wait.deadlines],
      inbounds: inboundIndexes,
      declared,
      awaited: wait.awaited,
      ownership,
      meshCounts: countMeshes(graph, dataplanes, services),
      report: () => ({
        statuses,
        documents: { folder: SERVICES_FOLDER, of: documents },
        shows: {
          views: {
            dataplanes: (filter) => dataplaneRows(dataplanes, core.inputs, filter),
            services: (filter) => serviceRows(services, dataplanes, filter),
            endpoints: (filter) => endpointRows(inbounds, dataplanes, filter),
          },
          diagnostics: () => [...inClusters.diagnostics(), ...ownership.diagnostics()],
          entities: healthEntities({
            inputs: core.inputs,
            declarations: core.declarations,
            reports,
            awaited: wait.awaited,
            dataplanes,
            services,
            membersByService,
          }),
        },
      }),
    };
  },
};

/** Derives the data planes of clusters. */
function deriveLive(graph: Graph, { inputs, settings }: DomainCore, declared: Derived<KnownDataplane>) {
  const live = deriveLiveDataplanes(graph, inputs.live, declared);
  const facts = deriveLiveFacts(graph, inputs.live);
  const pods = derivePodDataplanes(graph, { ...inputs, settings, facts, liveDataplanes: live });
  const unreadable = graph.index('unreadableDataplanes', live, ({ value }) =>
    'uncounted' in value && value.uncounted === 'unreadable' ? ['all'] : [],
  );
  const partial = graph.index('partialDataplanes', live, ({ value }) =>
    'uncounted' in value || value.doubts.length === 0 ? [] : ['all'],
  );
  const doubtful = graph.index('doubtfulPods', pods, ({ value }) => (value.doubts.length > 0 ? ['all'] : []));
  const warning = (reason: FindingReason, message: string): EngineDiagnostic => ({
    severity: 'warning',
    reason,
    message,
    at: [],
  });
  return {
    live,
    pods,
    derived: [live, ...facts.derived, pods],
    diagnostics: (): readonly EngineDiagnostic[] => [
      ...unreadable
        .members('all')
        .map(({ partition: cluster, key }) =>
          warning('UnreadableDataplane', `${nameIn(cluster, key)} has no networking: it is no data plane`),
        ),
      ...partial
        .members('all')
        .flatMap(({ partition: cluster, key, value }) =>
          ('uncounted' in value ? [] : value.doubts).map(({ reason, text }) =>
            warning(reason, `${nameIn(cluster, key)}: ${text}`),
          ),
        ),
      ...doubtsOfPods(doubtful.members('all')).map(({ reason, text }) => warning(reason, text)),
    ],
  };
}

function nameIn(cluster: string, key: string): string {
  return `${displayKey(key as ObjectKey)} of cluster ${cluster}`;
}

/** Pods of one workload have the same doubt: it names the first of them. */
function doubtsOfPods(pods: readonly Entry<KnownDataplane>[]): readonly Doubt[] {
  const all = pods.flatMap(({ partition: cluster, key, value: { doubts } }) =>
    doubts.map(({ reason, text }) => ({
      cluster,
      key,
      reason,
      text,
      place: JSON.stringify([cluster, objectRefOf(key as ObjectKey).namespace, text]),
    })),
  );
  return [...Map.groupBy(all, ({ place }) => place).values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const more = others.length === 0 ? '' : ` and ${others.length} more`;
    return [{ reason: first.reason, text: `${nameIn(first.cluster, first.key)}${more}: ${first.text}` }];
  });
}
