import { AGENT_LABELS, agentTemplateLabels } from '../../adapters/kubernetes/agent-labels.ts';
import { agentWebhook } from '../../domains/installation.ts';
import type { JsonObject } from '../../model/text/json.ts';
import { agentObject } from './agent-object.ts';
import { AGENT_NAME } from './agent-rights.ts';

/** What the agent's Deployment is made for. */
export interface AgentPodOptions {
  /** The agent's own namespace; also where its stop button is. */
  readonly namespace: string;
  /** Image of fleetrelay. */
  readonly image: string;
  /** Given: there is a ConfigMap `fleetrelay-relay-ca` with the authority of the server. */
  readonly ca?: string | undefined;
  /** It serves the admission webhook. */
  readonly webhook?: boolean | undefined;
  /** Changes when the settings do, so that the pods are replaced; absent where kustomize or Helm does that. */
  readonly settingsDigest?: string;
}

/** Of the image; no account of any system by convention. */
const USER = 65_532;
const HEALTH_PORT = 9981;

/** The agent's Deployment. It reads cluster name and server from the ConfigMap `fleetrelay-agent-settings`. */
export function agentDeployment(options: AgentPodOptions): JsonObject {
  const { namespace, settingsDigest } = options;
  const annotations =
    settingsDigest === undefined ? {} : { annotations: { 'fleetrelay.dev/settings-digest': settingsDigest } };
  return agentObject('apps/v1', 'Deployment', AGENT_NAME, namespace, {
    spec: {
      // One leads, the other stands by.
      replicas: 2,
      selector: { matchLabels: agentTemplateLabels },
      template: { metadata: { labels: AGENT_LABELS, ...annotations }, spec: podSpec(options) },
    },
  });
}

function podSpec(options: AgentPodOptions): JsonObject {
  const { ca } = options;
  return {
    serviceAccountName: AGENT_NAME,
    automountServiceAccountToken: true,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: USER,
      runAsGroup: USER,
      fsGroup: USER,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    },
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: agentTemplateLabels },
      },
    ],
    containers: [container(options)],
    volumes: [
      { name: 'data', emptyDir: { sizeLimit: '1Gi' } },
      { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
      { name: 'token', secret: { secretName: 'fleetrelay-agent-token', defaultMode: 0o440 } },
      ...(ca === undefined ? [] : [{ name: 'ca', configMap: { name: 'fleetrelay-relay-ca' } }]),
    ],
  };
}

/**
 * An agent rests most of the time: it gives memory back instead of keeping it at hand for the next burst. A third less is
 * resident with 10,000 objects; `npm run bench -- agent` measures it.
 */
export const AGENT_MEMORY_SETTINGS: Readonly<Record<string, string>> = {
  NODE_OPTIONS: '--max-semi-space-size=4',
  MALLOC_ARENA_MAX: '1',
  MALLOC_TRIM_THRESHOLD_: '131072',
};

function container({ image, ca, webhook = false }: AgentPodOptions): JsonObject {
  const setting = (key: string): JsonObject => ({ configMapKeyRef: { name: 'fleetrelay-agent-settings', key } });
  return {
    name: 'agent',
    image,
    imagePullPolicy: 'IfNotPresent',
    args: [...agentArguments(ca !== undefined), ...(webhook ? (agentWebhook?.args(image) ?? []) : [])],
    env: [
      { name: 'CLUSTER', valueFrom: setting('cluster') },
      { name: 'SERVER', valueFrom: setting('server') },
      { name: 'POD_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
      ...Object.entries(AGENT_MEMORY_SETTINGS).map(([name, value]) => ({ name, value })),
    ],
    ports: [
      { name: 'health', containerPort: HEALTH_PORT, protocol: 'TCP' },
      ...(webhook && agentWebhook !== undefined ? [agentWebhook.port] : []),
    ],
    startupProbe: { ...probe('/healthz'), periodSeconds: 2, failureThreshold: 30 },
    livenessProbe: { ...probe('/healthz'), periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
    readinessProbe: { ...probe('/readyz'), periodSeconds: 5, timeoutSeconds: 5 },
    resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } },
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
    },
    volumeMounts: [
      { name: 'data', mountPath: '/var/lib/fleetrelay' },
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'token', mountPath: '/etc/fleetrelay/token', readOnly: true },
      ...(ca === undefined ? [] : [{ name: 'ca', mountPath: '/etc/fleetrelay/ca', readOnly: true }]),
    ],
  };
}

/** The command line of the agent's container. */
export function agentArguments(ca: boolean): readonly string[] {
  return [
    'agent',
    '--cluster=$(CLUSTER)',
    '--server=$(SERVER)',
    '--namespace=$(POD_NAMESPACE)',
    '--token-file=/etc/fleetrelay/token/token',
    ...(ca ? ['--ca-file=/etc/fleetrelay/ca/ca.crt'] : []),
    // A folder of the agent's own, so that it may set the tightest mode.
    '--data-dir=/var/lib/fleetrelay/agent',
    `--metrics=0.0.0.0:${HEALTH_PORT}`,
    '--log-level=info',
  ];
}

function probe(path: string): JsonObject {
  return { httpGet: { path, port: 'health' } };
}
