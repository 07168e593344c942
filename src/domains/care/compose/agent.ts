import type { CreateAgentPart } from '../../../agent/agent-part.ts';
import type { AgentProcess, OpenAgentDomain } from '../../../compose/agent/agent-domain.ts';
import { madeReport, reportsOf } from '../../../model/agent/agent-report.ts';
import type { JsonValue } from '../../../model/text/json.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { MetricSet } from '../../../server/metric-set.ts';
import { createDirectoryCare } from '../adapters/directory.ts';
import { trimCareKind } from '../adapters/kubernetes/trim-care-kind.ts';
import { createCare } from '../agent/care.ts';
import { createRemediator } from '../agent/remediator/remediator.ts';
import { REMEDIATIONS } from '../model/reports.ts';
import type { CareApi } from '../ports/care-api.ts';
import type { WebhookConfigurations } from '../ports/webhook-configurations.ts';

type Deps = Omit<AgentProcess, 'metrics'>;

/** The care of Shoots in the agents of their clusters: reports, and the remediator of webhooks. */
export const careInAgents: OpenAgentDomain = ({ metrics, ...deps }) => {
  const probed = probeMeter(metrics, deps.clock);
  return {
    trim: trimCareKind,
    ofDirectory: ({ look, watch }) => [reporter(deps, createDirectoryCare(look, watch))],
    ofReplica: async () => {
      // Imported here: the agent of a folder does not load the client of Kubernetes.
      const { createKubernetesCare } = await import('../adapters/kubernetes/care-api.ts');
      const { createWebhookConfigurations } = await import('../adapters/kubernetes/webhook-configurations.ts');
      return {
        parts: ({ cluster }) => [
          reporter(deps, probed(createKubernetesCare(cluster.reader, cluster.onSilence))),
          remediator(deps, createWebhookConfigurations(cluster.writing, cluster)),
        ],
      };
    },
  };
};

function reporter(deps: Deps, care: CareApi): CreateAgentPart {
  return (report) => createCare({ ...deps, care }, report);
}

/** The part of an agent that mends webhook configurations. */
export function remediator(deps: Deps, webhooks: WebhookConfigurations): CreateAgentPart {
  return (report) => {
    const { load, observe, stop } = createRemediator({ ...deps, webhooks }, (rows) =>
      report(reportsOf([madeReport(REMEDIATIONS, { changes: rows as unknown as JsonValue })])),
    );
    return { load: ({ care }) => load(care), observe: (live, { care }) => observe(live, care), stop };
  };
}

const PROBE_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Measures the answers to probes of the API server. */
export function probeMeter(set: MetricSet, clock: Clock): (inner: CareApi) => CareApi {
  const seconds = set.histogram(
    'fleetrelay_agent_api_server_response_seconds',
    'Time until the API server answered `/healthz` or `/readyz`; of the agent of a Shoot.',
    PROBE_BUCKETS,
  );
  return (inner) => {
    const { askHealth } = inner;
    if (askHealth === undefined) return inner;
    return {
      ...inner,
      askHealth: async (path, timeoutMs) => {
        const begun = clock.monotonic();
        const answer = await askHealth(path, timeoutMs);
        if (answer.type === 'answered') seconds((clock.monotonic() - begun) / 1000);
        return answer;
      },
    };
  };
}
