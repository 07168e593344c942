import { resolve } from 'node:path';
import type { AgentReplica, OpenAgentDomain } from '../../../compose/agent/agent-domain.ts';
import { TAKES_INJECTOR } from '../../../model/agent/agent-members.ts';
import { errorText } from '../../../model/text/messages.ts';
import { displayAddress } from '../../../server/listen-address.ts';
import { flag, type MetricSet } from '../../../server/metric-set.ts';
import type { InjectionResult } from '../adapters/admission/review.ts';
import type { Webhook, WebhookDeps } from '../adapters/admission/webhook.ts';
import { trimInsight } from '../adapters/kubernetes/trim-insight.ts';
import type { WebhookSettings } from './webhook-settings.ts';

/** The webhook that rewrites the probes of Pods, in the agents that are asked for it. */
export const healthInAgents: OpenAgentDomain = ({ metrics, clock, log }) => {
  const meter = webhookMeter(metrics);
  return {
    trim: trimInsight,
    ofReplica: async (replica) => {
      // As `webhookOptions` makes them.
      const settings = replica.options.domains.health as WebhookSettings | undefined;
      if (settings === undefined) return undefined;
      const webhook = await openWebhook(
        { clock, log, client: replica.client, count: meter.injections() },
        replica,
        settings,
      );
      meter.configured(webhook.isConfigured);
      log.info('the webhook is up', { address: displayAddress(webhook.address) });
      return {
        capabilities: [TAKES_INJECTOR],
        problem: webhook.problem,
        parts: ({ client }) => [
          () => {
            const stop = webhook.lead(client);
            return {
              configure({ injector }) {
                if (injector !== undefined) webhook.take(injector);
              },
              stop,
            };
          },
        ],
        stop: webhook.stop,
      };
    },
  };
};

/** Starts the webhook of a replica, which serves also while it stands by. */
async function openWebhook(
  deps: WebhookDeps,
  { io, namespace }: AgentReplica,
  { image = `fleetrelay:${io.version}`, native, caLifeSeconds, files, ...names }: WebhookSettings,
): Promise<Webhook> {
  // Imported here: an agent without the webhook does not load it.
  const { startWebhook } = await import('../adapters/admission/webhook.ts');
  const at = (path: string): string => resolve(io.cwd, path);
  return startWebhook(deps, {
    ...names,
    namespace,
    container: { image, native },
    caLifeMs: caLifeSeconds * 1000,
    files: files && {
      certFile: at(files.certFile),
      keyFile: at(files.keyFile),
      ...(files.caFile === undefined ? {} : { caFile: at(files.caFile) }),
    },
  }).catch((cause: unknown) => {
    throw new Error(`cannot listen for the webhook on ${displayAddress(names.listen)}: ${errorText(cause)}`, { cause });
  });
}

const RESULTS: readonly InjectionResult[] = ['unchanged', 'rewritten', 'refused', 'failed'];

/** Counts the work of a webhook. Without a webhook its metrics have no samples. */
function webhookMeter(set: MetricSet) {
  let isConfigured: () => boolean | undefined = () => undefined;
  const counts = set.counter(
    'fleetrelay_injections_total',
    'Reviews of Pods that were created, by result; of an agent with `--webhook`.',
    ['result'],
  );
  set.gauge(
    'fleetrelay_agent_webhook_configured',
    '1 if the cluster has the MutatingWebhookConfiguration of the webhook; absent: no webhook, or not the leader.',
    [],
    () => {
      const configured = isConfigured();
      return configured === undefined ? [] : [[{}, flag(configured)]];
    },
  );
  return {
    /** Starts every result at 0, and returns what counts one. */
    injections: () => {
      for (const result of RESULTS) counts({ result }, 0);
      return (result: InjectionResult) => counts({ result });
    },
    /** `read`: whether the configuration is there; undefined has no sample. */
    configured: (read: () => boolean | undefined): void => {
      isConfigured = read;
    },
  };
}
