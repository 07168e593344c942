import { quote } from '../../../model/fleet/ids.ts';
import { type LabelSelector, matchesLabels } from '../../../model/objects/label-selector.ts';
import { annotationOf, labelsOf } from '../../../model/objects/object-key.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../../model/text/json.ts';
import {
  type Dataplane,
  type Inbound,
  SERVICE_TAG,
  type Tags,
  ZONE_TAG,
  type ZoneListener,
} from '../model/dataplane.ts';
import type { Doubt, KnownDataplane } from './dataplanes.ts';
import { ENABLED, type Owner, type ServiceFacts, type ServicePort, ZONE_PROXY_LABEL } from './live-objects.ts';
import { otherIps, type Pod } from './pod.ts';
import { NO_CAUSES, type NotReadyCause } from './status.ts';

/** Which Pods are data planes. */
export interface PodSettings {
  /** Names of containers. */
  readonly sidecars: readonly string[];
  readonly podSelector?: LabelSelector;
}

/** What a Pod is joined with. */
interface PodContext {
  readonly cluster: string;
  readonly mesh: string;
  /** By name. */
  readonly services: readonly ServiceFacts[];
  /** The tags that its Node gives to its inbounds. */
  readonly topology: Tags;
  /** What the Pod belongs to. */
  readonly workload: () => Owner;
}

/** Answers application probes beside the application, and is no part of it. */
const PROBE_PROXY = 'fleetrelay-probe-proxy';
/** Kuma's port for a Pod that no Service selects. */
const NO_SERVICE_PORT = 49151;

/** Whether a Pod is a data plane. */
export function isDataplane(pod: JsonObject, { sidecars, podSelector }: PodSettings): boolean {
  if (annotationOf(pod, 'kuma.io/sidecar-injected') === 'true') return true;
  const { containers, initContainers } = objectOf(pod.spec);
  const names = [...objectsOf(containers), ...objectsOf(initContainers)].map(({ name }) => textOf(name));
  if (sidecars.some((sidecar) => names.includes(sidecar))) return true;
  return podSelector !== undefined && matchesLabels(podSelector, labelsOf(pod));
}

/** The data plane of a Pod; undefined: the Pod has ended, or has no address yet. */
export function knownPod(pod: Pod, settings: PodSettings, context: PodContext): KnownDataplane | undefined {
  if (pod.phase === 'Succeeded' || pod.ips.length === 0 || pod.reason === 'Evicted') return undefined;
  const { cluster, mesh, services } = context;
  const identity = { mesh, name: `${pod.name}.${pod.namespace}` };
  const common = { from: { type: 'pod', cluster, key: pod.key }, connection: pod.connection } as const;
  if (isGateway(pod)) {
    const dataplane = { ...identity, ...gatewayOf(pod, settings, context), inbounds: [], listeners: [] };
    return { ...common, dataplane, causes: [], doubts: [] };
  }
  const proxies = services.filter(({ zoneProxy }) => zoneProxy !== undefined);
  const regular = services.filter(({ zoneProxy }) => zoneProxy === undefined);
  const isProxyOnly = proxies.length > 0 && regular.length === 0;
  const inbounds = isProxyOnly ? [] : inboundsOfServices(pod, regular, settings, context);
  const { listeners, doubts } = listenersOf(pod, proxies, settings);
  return {
    ...common,
    dataplane: { ...identity, inbounds: inbounds.map(({ inbound }) => inbound), listeners },
    causes: inbounds.map(({ causes }) => causes),
    doubts: [...inbounds.flatMap(({ doubt }) => doubt ?? []), ...doubts],
  };
}

/** A gateway has the tags of the first inbound that it would have. One that is provided is named after its Deployment. */
function gatewayOf(pod: Pod, settings: PodSettings, context: PodContext): Pick<Dataplane, 'gateway'> {
  if (pod.gateway === 'provided') {
    const { kind, name } = context.workload();
    const tags = { 'kuma.io/service-name': `${name}_${pod.namespace}_svc` };
    if (kind === 'Deployment') return { gateway: { type: 'delegated', service: '', tags } };
  }
  const [first] = inboundsOfServices(pod, context.services, settings, context);
  return first === undefined
    ? {}
    : { gateway: { type: 'delegated', service: first.inbound.service, tags: first.inbound.tags } };
}

/** The inbounds of a Pod for these Services; without any it has one that no Service leads to. */
function inboundsOfServices(
  pod: Pod,
  services: readonly ServiceFacts[],
  settings: PodSettings,
  context: PodContext,
): readonly PodInbound[] {
  const found = services.flatMap((service) => inboundsOf(pod, service, settings, context));
  return found.length === 0 ? [inboundWithoutService(pod, settings, context)] : found;
}

const LISTENER_TYPES: ReadonlyMap<string, ZoneListener['type']> = new Map([
  ['ingress', 'ZoneIngress'],
  ['egress', 'ZoneEgress'],
]);

/** The listeners of a Pod for the Services of zone proxies. If several have one port, the first by the name of its Service counts. */
function listenersOf(
  pod: Pod,
  proxies: readonly ServiceFacts[],
  settings: PodSettings,
): { readonly listeners: readonly ZoneListener[]; readonly doubts: readonly Doubt[] } {
  const listeners = new Map<number, ZoneListener>();
  const doubts: Doubt[] = [];
  const doubt = (text: string): void => {
    doubts.push({ reason: 'UnreadableDataplane', text });
  };
  for (const { name, zoneProxy = '', ports } of proxies) {
    const type = LISTENER_TYPES.get(zoneProxy);
    if (type === undefined) {
      doubt(
        `label ${ZONE_PROXY_LABEL} of Service ${name} is ${quote(zoneProxy)}, not ingress or egress: its ports count nowhere`,
      );
      continue;
    }
    for (const target of ports.flatMap((port) => targetOf(pod, port) ?? [])) {
      const before = listeners.get(target.port);
      const state = causesOf(pod, target.container === undefined ? [] : [target.container], settings).length === 0;
      if (before === undefined) {
        const [address = ''] = pod.ips;
        listeners.set(target.port, { type, address, port: target.port, state: state ? 'Ready' : 'NotReady' });
      } else if (before.type !== type) {
        doubt(
          `Services of zone proxies make port ${target.port} a ${before.type} and a ${type}: it counts as the first`,
        );
      }
    }
  }
  return { listeners: [...listeners.values()], doubts };
}

function isGateway({ gateway }: Pod): boolean {
  return !['', 'disabled', 'false', 'no'].includes(gateway);
}

/** An inbound of a Pod, and why it is not ready. */
interface PodInbound {
  readonly inbound: Inbound;
  readonly causes: readonly NotReadyCause[];
  readonly doubt?: Doubt;
}

/** The inbounds of a Pod for the ports of a Service. A port whose name no container has is left out. */
function inboundsOf(
  pod: Pod,
  service: ServiceFacts,
  settings: PodSettings,
  context: PodContext,
): readonly PodInbound[] {
  return service.ports.flatMap((port) => {
    const target = targetOf(pod, port);
    if (target === undefined) return [];
    const tags = tagsForService(pod, service, port, context);
    const applications = applicationsOf(pod, settings);
    const [only] = applications;
    const behind = target.container ?? (applications.length === 1 ? only : undefined);
    const causes = causesOf(pod, behind === undefined ? [] : [behind], settings);
    const isUnclear = behind === undefined && applications.length > 1;
    const text = `no container declares port ${target.port} of Service ${service.name}, and several could serve it: only the sidecar decides whether it is ready`;
    return [
      {
        inbound: inboundAt(pod, target.port, tags, causes),
        causes,
        ...(isUnclear ? { doubt: { reason: 'UndeclaredPort', text } } : {}),
      },
    ];
  });
}

/** The port of the Pod and the container that declares it; undefined: no container has a port of the name. */
function targetOf({ containers }: Pod, { target }: ServicePort) {
  const declaring = containers.flatMap((container) =>
    container.ports
      .filter(({ name, port, protocol }) => (typeof target === 'number' ? port : name) === target && protocol === 'TCP')
      .map(({ port }) => ({ port, container: container.name })),
  );
  const [first] = declaring;
  return first ?? (typeof target === 'number' ? { port: target, container: undefined } : undefined);
}

function inboundWithoutService(
  pod: Pod,
  settings: PodSettings,
  { cluster, topology, workload }: PodContext,
): PodInbound {
  const causes = causesOf(pod, applicationsOf(pod, settings), settings);
  const tags: Tags = {
    ...labelTags(pod),
    'k8s.kuma.io/namespace': pod.namespace,
    [SERVICE_TAG]: `${workload().name}_${pod.namespace}_svc`,
    [ZONE_TAG]: cluster,
    'kuma.io/protocol': 'tcp',
    'kuma.io/instance': pod.name,
    ...topology,
  };
  return { inbound: inboundAt(pod, NO_SERVICE_PORT, tags, causes), causes };
}

function inboundAt({ ips }: Pod, port: number, tags: Tags, causes: readonly NotReadyCause[]): Inbound {
  const [address = ''] = ips;
  const isReady = causes.length === 0;
  const state = isReady ? 'Ready' : 'NotReady';
  return {
    address,
    port,
    ...otherIps(ips, address),
    workload: { address, port },
    service: tags[SERVICE_TAG] ?? '',
    tags,
    state,
    ready: isReady,
  };
}

/** The containers of applications, by name. */
function applicationsOf({ containers }: Pod, { sidecars }: PodSettings): readonly string[] {
  return containers.map(({ name }) => name).filter((name) => name !== PROBE_PROXY && !sidecars.includes(name));
}

/** Why a Pod is not ready for traffic to these containers. A container without status counts as ready. */
function causesOf(pod: Pod, containers: readonly string[], { sidecars }: PodSettings): readonly NotReadyCause[] {
  const unready = (type: 'container' | 'sidecar', name: string): readonly NotReadyCause[] => {
    const status = pod.statuses.find((one) => one.name === name);
    return status === undefined || status.isReady ? [] : [{ type, name, reason: status.reason }];
  };
  const causes: readonly NotReadyCause[] = [
    ...containers.flatMap((name) => unready('container', name)),
    ...sidecars.flatMap((name) => unready('sidecar', name)),
    ...(pod.isTerminating ? [{ type: 'terminating' } as const] : []),
  ];
  return causes.length === 0 ? NO_CAUSES : causes;
}

function tagsForService(
  pod: Pod,
  { namespace, name, isHeadless }: ServiceFacts,
  { port, protocol }: ServicePort,
  { cluster, topology }: PodContext,
): Tags {
  return {
    ...Object.fromEntries(Object.entries(labelTags(pod)).filter(([key]) => !key.includes('kuma.io/'))),
    'k8s.kuma.io/namespace': namespace,
    'k8s.kuma.io/service-name': name,
    'k8s.kuma.io/service-port': String(port),
    [SERVICE_TAG]: `${name}_${namespace}_svc_${port}`,
    [ZONE_TAG]: cluster,
    ...topology,
    // A gateway serves TCP only.
    ...(ENABLED.has(pod.gateway) && protocol !== 'tcp' ? {} : { 'kuma.io/protocol': protocol }),
    ...(isHeadless ? { 'kuma.io/instance': pod.name } : {}),
  };
}

function labelTags({ labels }: Pod): Tags {
  return Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== ''));
}
