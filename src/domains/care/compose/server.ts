import type { RunningPart, ServerPart, ServerPartDeps } from '../../../compose/serve/server-part.ts';
import { care } from '../engine/care.ts';
import { declarationError } from '../model/declaration-error.ts';
import { isOfGardener } from '../model/shoot.ts';
import { operationActs } from '../runtime/operate-shoot.ts';
import { createOperationRequests, requestRecords } from '../runtime/operation-requests.ts';
import { createRemediationAudit } from '../runtime/remediation-audit.ts';
import { SHOOT_METRICS } from '../server/shoot-metrics.ts';
import { shootEvents } from '../sinks/shoot-events.ts';

/** The care of Shoots at a management server: what people ask of them, and what agents change of webhooks. */
export const careServer: ServerPart = {
  records: [requestRecords],
  statuses: {
    Shoot: {
      isOfOthers: isOfGardener,
      refusal: (message) => ({ lastErrors: [declarationError(message)] }),
      events: shootEvents,
    },
  },
  // Some of them are named as counters, for they have the names that Gardener's exporter gave them.
  metrics: SHOOT_METRICS.map((metric) => ({ ...metric, type: 'gauge' })),
  create: createCareServer,
};

function createCareServer(core: ServerPartDeps): RunningPart {
  const reported = core.engine.reported(care);
  if (reported === undefined) throw new Error('the engine was made without the care of Shoots');
  const requests = createOperationRequests(core, reported, core.replica);
  const { remediations } = reported.parts;
  const noting = core.audit && createRemediationAudit(core, remediations, core.audit, core.replica.leads);
  return {
    acts: operationActs(core, requests),
    samples: () => {
      const shoots = reported.report.figures();
      return new Map(SHOOT_METRICS.map(({ name, samples }) => [name, samples(shoots)]));
    },
    ...(noting && { lead: noting.lead }),
    stop: () => Promise.all([requests.stop(), noting?.stop()]),
  };
}
