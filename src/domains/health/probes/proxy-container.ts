import type { JsonObject } from '../../../model/text/json.ts';
import { type ListedProbe, printProbeList } from './probe-list.ts';
import type { ProbeMode } from './settings.ts';

/** The name of the container that serves rewritten probes. */
export const PROXY_CONTAINER = 'fleetrelay-probe-proxy';
/** The annotation with the list of the rewritten probes, which the container reads as a file. */
export const PROBES_ANNOTATION = 'fleetrelay.dev/probes';

const VOLUME = 'fleetrelay-probes';
const FOLDER = '/etc/fleetrelay/probes';
const FILE = 'probes.json';
/** Of the image; a Pod may run as root by default. */
const USER = 65_532;

/** How the container is added to a Pod. */
export interface ProxyContainerOptions {
  readonly image: string;
  /** A sidecar among the init containers; false: a normal container, for API servers before Kubernetes 1.29. */
  readonly native: boolean;
}

/** The parts of a Pod that serve its rewritten probes. */
export interface ProxyParts {
  readonly container: JsonObject;
  readonly volume: JsonObject;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Makes the container for the rewritten probes of one Pod. It satisfies the level `restricted` of Pod Security. */
export function proxyParts(
  probes: readonly ListedProbe[],
  mode: Exclude<ProbeMode, { readonly type: 'none' }>,
  { image, native }: ProxyContainerOptions,
): ProxyParts {
  const { port } = mode;
  const option = mode.type === 'proxy' ? '--port' : '--virtual-probes-port';
  const ready = mode.type === 'proxy' ? { httpGet: { path: '/ready', port } } : { tcpSocket: { port } };
  const container: JsonObject = {
    name: PROXY_CONTAINER,
    image,
    imagePullPolicy: 'IfNotPresent',
    ...(native ? { restartPolicy: 'Always' } : {}),
    args: ['probe-proxy', `${option}=${port}`, '--pod-ip=$(POD_IP)', `--probes=${FOLDER}/${FILE}`],
    env: [{ name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }],
    ports: [{ name: 'probe-proxy', containerPort: port, protocol: 'TCP' }],
    // No container starts before the proxy answers: its first probes would fail.
    startupProbe: { ...ready, periodSeconds: 1, timeoutSeconds: 3, failureThreshold: 60 },
    livenessProbe: { ...ready, periodSeconds: 10, timeoutSeconds: 5 },
    readinessProbe: { ...ready, periodSeconds: 5, timeoutSeconds: 3 },
    resources: { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '128Mi' } },
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      runAsUser: USER,
      runAsGroup: USER,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    volumeMounts: [{ name: VOLUME, mountPath: FOLDER, readOnly: true }],
  };
  const fieldPath = `metadata.annotations['${PROBES_ANNOTATION}']`;
  return {
    container,
    volume: { name: VOLUME, downwardAPI: { items: [{ path: FILE, fieldRef: { fieldPath } }] } },
    annotations: { [PROBES_ANNOTATION]: printProbeList(probes) },
  };
}
