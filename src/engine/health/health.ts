import type { Domain, DomainParts } from '../domain.ts';
import { deriveDataplanes, deriveDeclaredDataplanes, type StreamState } from './dataplanes.ts';
import { deriveInbounds, type InboundIndexes, indexInbounds } from './inbounds.ts';
import { deriveServices } from './services.ts';
import type { HealthReport } from './status.ts';
import { dataplaneRows, endpointRows, serviceRows } from './views.ts';

/** The name of this domain. */
const HEALTH = 'health';

/** What later domains read. */
interface HealthParts extends DomainParts {
  /** The inbounds of all data planes by service and by address. */
  readonly inbounds: InboundIndexes;
}

/** The data planes of the fleet, the status of their services, and who receives traffic. */
export const health: Domain<HealthParts> = {
  name: HEALTH,
  readsLive: {},
  derive: (graph, { declarations }) => {
    const connections = graph.input<StreamState>('dataplaneConnections');
    const reports = graph.input<HealthReport>('dataplaneReports');
    const declared = deriveDeclaredDataplanes(graph, declarations, { connections, reports });
    const dataplanes = deriveDataplanes(graph, [declared]);
    const inbounds = deriveInbounds(graph, dataplanes);
    const inboundIndexes = indexInbounds(graph, inbounds);
    const { services, members } = deriveServices(graph, dataplanes, inboundIndexes);
    return {
      collections: { bySource: [], anywhere: [], shown: [declared, dataplanes, inbounds, members, services] },
      inbounds: inboundIndexes,
      inputs: { connections, reports },
      views: {
        dataplanes: () => dataplaneRows(dataplanes),
        services: () => serviceRows(services),
        endpoints: () => endpointRows(inbounds),
      },
    };
  },
};
