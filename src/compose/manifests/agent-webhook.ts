import { AGENT_LABELS, agentTemplateLabels } from '../../adapters/kubernetes/agent-labels.ts';
import {
  WEBHOOK_SECRET,
  WEBHOOK_SERVICE,
  webhookConfiguration,
} from '../../domains/health/adapters/admission/webhook-configuration.ts';
import { type JsonObject, objectsOf } from '../../model/json.ts';
import { WEBHOOK_PORT } from './agent-pod.ts';

/**
 * The MutatingWebhookConfiguration as it is installed. It says neither `caBundle` nor `failurePolicy`: the leading agent sets
 * them, and who applies it again does not take them back.
 */
export function installedWebhook(namespace: string, service = WEBHOOK_SERVICE): JsonObject {
  const configuration = webhookConfiguration({ namespace, service });
  return { ...configuration, webhooks: objectsOf(configuration.webhooks).map(({ failurePolicy: _, ...hook }) => hook) };
}

/** The Service by which the API server reaches the replicas of the agent, and the way through the NetworkPolicy. */
export function webhookService(namespace: string): readonly JsonObject[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: WEBHOOK_SERVICE, namespace, labels: AGENT_LABELS },
      spec: {
        selector: agentTemplateLabels,
        ports: [{ name: 'webhook', port: 443, targetPort: 'webhook', protocol: 'TCP', appProtocol: 'https' }],
      },
    },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: WEBHOOK_SERVICE, namespace, labels: AGENT_LABELS },
      spec: {
        podSelector: { matchLabels: agentTemplateLabels },
        policyTypes: ['Ingress'],
        // No selector names the API server, which has no pod.
        ingress: [{ ports: [{ protocol: 'TCP', port: WEBHOOK_PORT }] }],
      },
    },
  ];
}

/** The Secret that the agent makes for its webhook. It is not installed, but an uninstallation removes it. */
export function webhookOwnSecret(namespace: string): JsonObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: WEBHOOK_SECRET, namespace, labels: AGENT_LABELS } };
}
