import { agentTemplateLabels } from '../../../adapters/kubernetes/agent-labels.ts';
import type { AgentAddition } from '../../../compose/manifests/agent-addition.ts';
import { agentObject } from '../../../compose/manifests/agent-object.ts';
import { type RoleRights, rulesOf } from '../../../compose/manifests/permission.ts';
import { type JsonObject, objectsOf } from '../../../model/text/json.ts';
import { webhookConfiguration } from '../adapters/admission/webhook-configuration.ts';
import { WEBHOOK_CONFIGURATION, WEBHOOK_SECRET, WEBHOOK_SERVICE } from '../model/webhook-names.ts';

const PORT = 9443;

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
    agentObject('v1', 'Service', WEBHOOK_SERVICE, namespace, {
      spec: {
        selector: agentTemplateLabels,
        ports: [{ name: 'webhook', port: 443, targetPort: 'webhook', protocol: 'TCP', appProtocol: 'https' }],
      },
    }),
    agentObject('networking.k8s.io/v1', 'NetworkPolicy', WEBHOOK_SERVICE, namespace, {
      spec: {
        podSelector: { matchLabels: agentTemplateLabels },
        policyTypes: ['Ingress'],
        // No selector names the API server, which has no pod.
        ingress: [{ ports: [{ protocol: 'TCP', port: 'webhook' }] }],
      },
    }),
  ];
}

const RIGHTS: RoleRights = {
  everywhere: rulesOf(`
  get patch | admissionregistration.k8s.io | mutatingwebhookconfigurations=${WEBHOOK_CONFIGURATION} | To set \`caBundle\` and \`failurePolicy\` of its own webhook. It can neither make nor see another one.
`),
  ownNamespace: rulesOf(`
  get create patch update | core | secrets=${WEBHOOK_SECRET} | Certificates and settings of the webhook, which the replicas share. \`create\` counts for server-side apply, which names it.
`),
};

/** The webhook that rewrites the probes of Pods, as an agent is installed with it. */
export const healthInstalled: AgentAddition = {
  webhook: {
    does: 'the agent rewrites the probes of Pods that have the label fleetrelay.dev/probe-proxy',
    configuration: WEBHOOK_CONFIGURATION,
    secret: WEBHOOK_SECRET,
    rights: RIGHTS,
    // Pods get the probe proxy of this image.
    args: (image) => [`--webhook=0.0.0.0:${PORT}`, `--webhook-image=${image}`],
    port: { name: 'webhook', containerPort: PORT, protocol: 'TCP' },
    manifests: (namespace) => [...webhookService(namespace), installedWebhook(namespace)],
    made: (namespace) => [agentObject('v1', 'Secret', WEBHOOK_SECRET, namespace)],
  },
};
