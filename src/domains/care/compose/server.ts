import type { RunningPart, ServerPart, ServerPartDeps } from '../../../compose/serve/server-part.ts';
import { compareText } from '../../../model/text/json.ts';
import type { DomainMetric } from '../../../server/metrics.ts';
import { care } from '../engine/care.ts';
import { declarationError } from '../model/declaration-error.ts';
import { isOfGardener } from '../model/shoot.ts';
import type { ShootFigures } from '../model/shoot-figures.ts';
import { operationActs } from '../runtime/operate-shoot.ts';
import { createOperationRequests, requestRecords } from '../runtime/operation-requests.ts';
import { createRemediationAudit } from '../runtime/remediation-audit.ts';
import { SHOOT_METRICS } from '../server/shoot-metrics.ts';
import { shootEvents } from '../sinks/shoot-events.ts';

/** What the metrics show. */
interface CareFigures {
  readonly shoots: readonly ShootFigures[];
  /** Each cluster, in canonical order, and whether it is asleep. */
  readonly clusters: readonly (readonly [name: string, isAsleep: boolean])[];
}

const ASLEEP: DomainMetric<CareFigures> = {
  name: 'fleetrelay_cluster_asleep',
  type: 'gauge',
  labels: ['cluster'],
  help: '1 if the cluster belongs to a hibernated Shoot. Its agent is not expected to answer.',
  read: ({ clusters }) => clusters,
};

/** The care of Shoots at a management server: what people ask of them, and what agents change of webhooks. */
export const careServer: ServerPart<CareFigures> = {
  records: [requestRecords],
  statuses: {
    Shoot: {
      isOfOthers: isOfGardener,
      refusal: (message) => ({ lastErrors: [declarationError(message)] }),
      events: shootEvents,
    },
  },
  // Some of them are named as counters, for they have the names that Gardener's exporter gave them.
  metrics: [
    ASLEEP,
    ...SHOOT_METRICS.map(
      ({ samples, ...metric }): DomainMetric<CareFigures> => ({
        ...metric,
        type: 'gauge',
        read: ({ shoots }) => samples(shoots),
      }),
    ),
  ],
  create: createCareServer,
};

function createCareServer(core: ServerPartDeps): RunningPart<CareFigures> {
  const reported = core.engine.reported(care);
  if (reported === undefined) throw new Error('the engine was made without the care of Shoots');
  const requests = createOperationRequests(core, reported, core.replica);
  const { remediations, asleep } = reported.parts;
  const noting = core.audit && createRemediationAudit(core, remediations, core.audit, core.replica.leads);
  return {
    acts: operationActs(core, requests),
    figures: () => ({
      shoots: reported.report.figures(),
      clusters: [...core.engine.clusters.entries('')]
        .map(({ key }) => key)
        .sort(compareText)
        .map((cluster) => [cluster, asleep.get('', cluster) !== undefined]),
    }),
    ...(noting && { lead: noting.lead }),
    stop: () => Promise.all([requests.stop(), noting?.stop()]),
  };
}
