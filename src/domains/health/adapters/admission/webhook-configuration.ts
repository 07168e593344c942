import { AGENT_LABELS } from '../../../../adapters/kubernetes/agent-labels.ts';
import type { JsonObject } from '../../../../model/text/json.ts';
import { WEBHOOK_CONFIGURATION, WEBHOOK_SERVICE } from '../../model/webhook-names.ts';
import { PROBE_PROXY_LABEL } from '../../probes/opt-in.ts';

/** The path that answers reviews of Pods. */
export const WEBHOOK_PATH = '/inject';

/** Where the webhook is, and what it is called. */
export interface WebhookPlace {
  /** The agent's own namespace, whose Pods are never reviewed. */
  readonly namespace: string;
  readonly name?: string;
  readonly service?: string;
}

const NAMESPACE_NAME = 'kubernetes.io/metadata.name';

/** Namespaces whose Pods are never rewritten: they may be needed before an agent runs. */
export function excludedNamespaces(namespace: string): readonly string[] {
  return [...new Set(['kube-system', namespace])];
}

/**
 * The MutatingWebhookConfiguration for an agent. Its selectors name exactly the Pods that opted in: those in labelled
 * Namespaces, and labelled Pods elsewhere. The leading agent sets `caBundle` and `failurePolicy`.
 */
export function webhookConfiguration({
  namespace,
  name = WEBHOOK_CONFIGURATION,
  service = WEBHOOK_SERVICE,
}: WebhookPlace): JsonObject {
  const others = { key: NAMESPACE_NAME, operator: 'NotIn', values: excludedNamespaces(namespace) };
  const hook = (subject: string, namespaces: JsonObject, pods: JsonObject): JsonObject => ({
    name: `${subject}.probe-proxy.fleetrelay.dev`,
    clientConfig: { service: { name: service, namespace, path: WEBHOOK_PATH, port: 443 } },
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'], scope: 'Namespaced' }],
    namespaceSelector: { matchExpressions: [others, namespaces] },
    objectSelector: { matchExpressions: [pods] },
    admissionReviewVersions: ['v1'],
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    reinvocationPolicy: 'Never',
    sideEffects: 'None',
    timeoutSeconds: 5,
  });
  const label = (operator: 'In' | 'NotIn', value: string): JsonObject => ({
    key: PROBE_PROXY_LABEL,
    operator,
    values: [value],
  });
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name, labels: AGENT_LABELS },
    webhooks: [
      hook('namespaces', label('In', 'enabled'), label('NotIn', 'disabled')),
      hook('pods', label('NotIn', 'enabled'), label('In', 'enabled')),
    ],
  };
}
