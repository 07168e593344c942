import { compareText, type JsonObject, objectOf, objectsOf, textOf } from '../../../src/model/text/json.ts';
import { NAMESPACE } from './fleet.ts';

/** The data planes, services and endpoints of a fleet from scratch, by plain loops over its objects. */

export interface Fleet {
  /** Live objects by cluster. */
  readonly clusters: ReadonlyMap<string, readonly JsonObject[]>;
  readonly declared: readonly JsonObject[];
}

interface Port {
  readonly service: string;
  readonly zone: string;
  readonly address: string;
  readonly port: number;
  readonly isReady: boolean;
}

interface Proxy {
  readonly mesh: string;
  readonly name: string;
  readonly cluster: string;
  readonly gateway?: { readonly type: string; readonly service: string; readonly zone: string };
  readonly ports: readonly Port[];
  readonly state: string;
}

/** The rows of the views, without `stale`; times are left out. */
export function expectedRows(fleet: Fleet) {
  const proxies = [
    ...fleet.declared.map(declaredProxy),
    ...[...fleet.clusters].flatMap(([cluster, objects]) => liveProxies(cluster, objects)),
  ];
  return { dataplanes: dataplaneRows(proxies), services: serviceRows(proxies), endpoints: endpointRows(proxies) };
}

function portsOf(networking: JsonObject, isDeclared: boolean): readonly Port[] {
  return objectsOf(networking.inbound).flatMap((inbound) => {
    if (inbound.state === 'Ignored') return [];
    const tags = objectOf(inbound.tags);
    const isOut =
      inbound.state === 'NotReady' || (inbound.health !== undefined && objectOf(inbound.health).ready !== true);
    const isUnreported = isDeclared && inbound.serviceProbe !== undefined;
    const [service, zone] = [textOf(tags['kuma.io/service']), textOf(tags['kuma.io/zone'])];
    const port = Number(inbound.port);
    return [{ service, zone, address: textOf(networking.address), port, isReady: !isOut && !isUnreported }];
  });
}

function declaredProxy(document: JsonObject): Proxy {
  const networking = objectOf(document.networking);
  const identity = { mesh: textOf(document.mesh), name: textOf(document.name), cluster: '', state: 'never' };
  if (networking.gateway === undefined) return { ...identity, ports: portsOf(networking, true) };
  const service = textOf(objectOf(objectOf(networking.gateway).tags)['kuma.io/service']);
  return { ...identity, ports: [], gateway: { type: 'gateway_builtin', service, zone: '' } };
}

function liveProxies(cluster: string, objects: readonly JsonObject[]): readonly Proxy[] {
  const of = (kind: string) => objects.filter((one) => one.kind === kind);
  const named = (kind: string, name: string) => of(kind).find((one) => objectOf(one.metadata).name === name);
  const kuma = of('Dataplane').filter(({ spec }) => objectOf(spec).networking !== undefined);
  const isTerminating = (name: string) => objectOf(named('Pod', name)?.metadata).deletionTimestamp !== undefined;
  const live = kuma.map((object): Proxy => {
    const name = textOf(objectOf(object.metadata).name);
    const subscriptions = objectsOf(objectOf(named('DataplaneInsight', name)?.status).subscriptions);
    const isOpen = subscriptions.some(({ disconnectTime }) => disconnectTime === undefined);
    const state =
      subscriptions.length === 0 ? 'never' : !isOpen ? 'disconnected' : isTerminating(name) ? 'draining' : 'connected';
    const ports = portsOf(objectOf(objectOf(object.spec).networking), false);
    return { mesh: 'default', name: `${name}.${NAMESPACE}`, cluster, ports, state };
  });
  const taken = new Set(live.map(({ name }) => name));
  const pods = of('Pod').flatMap((pod) => podProxy(cluster, pod, objects) ?? []);
  return [...live, ...pods.filter(({ name }) => !taken.has(name))];
}

const SIDECARS = ['kuma-sidecar', 'istio-proxy'];

function podProxy(cluster: string, pod: JsonObject, objects: readonly JsonObject[]): Proxy | undefined {
  const [metadata, spec, status] = [objectOf(pod.metadata), objectOf(pod.spec), objectOf(pod.status)];
  const [labels, annotations] = [objectOf(metadata.labels), objectOf(metadata.annotations)];
  const containers = objectsOf(spec.containers);
  if (!containers.some(({ name }) => SIDECARS.includes(textOf(name)))) return undefined;
  if (status.phase === 'Succeeded' || status.podIP === '') return undefined;
  const namespace = objectOf(objects.find(({ kind }) => kind === 'Namespace')?.metadata);
  const mesh =
    textOf(labels['kuma.io/mesh']) ||
    textOf(annotations['kuma.io/mesh']) ||
    textOf(objectOf(namespace.annotations)['kuma.io/mesh']) ||
    'default';
  const unready = objectsOf(status.containerStatuses)
    .filter(({ ready }) => ready === false)
    .map(({ name }) => textOf(name));
  const isOut = metadata.deletionTimestamp !== undefined || unready.some((name) => SIDECARS.includes(name));
  const apps = containers.map(({ name }) => textOf(name)).filter((name) => !SIDECARS.includes(name));
  const address = textOf(status.podIP);
  const ports = servicesOf(pod, objects).flatMap((service) =>
    objectsOf(objectOf(service.spec).ports).flatMap(({ port, targetPort }): readonly Port[] => {
      const declaring = containers.find(({ ports: its }) =>
        objectsOf(its).some(({ name, containerPort }) => name === targetPort || containerPort === targetPort),
      );
      if (declaring === undefined && typeof targetPort === 'string') return [];
      const behind = declaring === undefined ? (apps.length === 1 ? apps : []) : [textOf(declaring.name)];
      const isReady = !isOut && !behind.some((name) => unready.includes(name));
      const number = typeof targetPort === 'number' ? targetPort : 8080;
      return [
        {
          service: `${textOf(objectOf(service.metadata).name)}_${NAMESPACE}_svc_${port}`,
          zone: cluster,
          address,
          port: number,
          isReady,
        },
      ];
    }),
  );
  const owner = objectOf(objectsOf(metadata.ownerReferences)[0]);
  const own = owner.name === undefined ? textOf(metadata.name) : 'shop';
  const alone = {
    service: `${own}_${NAMESPACE}_svc`,
    zone: cluster,
    address,
    port: 49151,
    isReady: !isOut && !apps.some((name) => unready.includes(name)),
  };
  const [first = alone] = ports;
  const state =
    status.phase === 'Running'
      ? metadata.deletionTimestamp === undefined
        ? 'connected'
        : 'draining'
      : status.phase === 'Failed'
        ? 'disconnected'
        : 'never';
  const identity = { mesh, name: `${textOf(metadata.name)}.${NAMESPACE}`, cluster, state };
  if (annotations['kuma.io/gateway'] === undefined) return { ...identity, ports: ports.length === 0 ? [alone] : ports };
  return { ...identity, ports: [], gateway: { type: 'gateway_delegated', service: first.service, zone: cluster } };
}

function servicesOf(pod: JsonObject, objects: readonly JsonObject[]): readonly JsonObject[] {
  const { labels, uid } = objectOf(pod.metadata);
  const slices = objects.filter(({ kind }) => kind === 'EndpointSlice');
  return objects
    .filter(({ kind }) => kind === 'Service')
    .filter((service) => {
      const { selector } = objectOf(service.spec);
      if (selector !== undefined) return objectOf(selector).app === objectOf(labels).app;
      return slices.some(({ endpoints }) =>
        objectsOf(endpoints).some(({ targetRef }) => objectOf(targetRef).uid === uid),
      );
    })
    .sort((a, b) => compareText(textOf(objectOf(a.metadata).name), textOf(objectOf(b.metadata).name)));
}

function isConnected({ state }: Proxy): boolean {
  return state === 'connected' || state === 'draining';
}

function statusOf(proxy: Proxy): string {
  const ready = proxy.ports.filter(({ isReady }) => isReady).length;
  if (!isConnected(proxy)) return 'Offline';
  if (proxy.ports.length === 0 || ready === proxy.ports.length) return 'Online';
  return ready === 0 ? 'Offline' : 'Partially degraded';
}

function dataplaneRows(proxies: readonly Proxy[]): readonly JsonObject[] {
  return proxies
    .map((proxy) => ({
      ...{ mesh: proxy.mesh, name: proxy.name },
      ...(proxy.cluster === '' ? {} : { cluster: proxy.cluster }),
      status: statusOf(proxy),
      notes: proxy.ports
        .filter(({ isReady }) => !isReady)
        .map(({ port, service }) => `inbound[port=${port},svc=${service}] is not ready`),
      connection: { state: proxy.state },
    }))
    .sort(
      (a, b) =>
        compareText(a.mesh, b.mesh) || compareText(a.name, b.name) || compareText(a.cluster ?? '', b.cluster ?? ''),
    );
}

function serviceRows(proxies: readonly Proxy[]): readonly JsonObject[] {
  const ids = proxies.flatMap(({ mesh, ports, gateway }) =>
    [...ports.map(({ service }) => service), ...(gateway === undefined ? [] : [gateway.service])].map((name) => ({
      mesh,
      name,
    })),
  );
  const unique = [...new Map(ids.map((id) => [JSON.stringify(id), id])).values()];
  return unique
    .sort((a, b) => compareText(a.mesh, b.mesh) || compareText(a.name, b.name))
    .map(({ mesh, name }) => {
      const members = inOrder(proxies).filter(
        (proxy) =>
          proxy.mesh === mesh &&
          (proxy.gateway?.service === name || proxy.ports.some(({ service }) => service === name)),
      );
      const ports = members.flatMap((member) => member.ports.filter(({ service }) => service === name));
      const [total, online] = [members.length, members.filter((member) => statusOf(member) === 'Online').length];
      const zones = [...ports.map(({ zone }) => zone), ...members.map(({ gateway }) => gateway?.zone ?? '')];
      return {
        ...{ mesh, name, status: online === 0 ? 'offline' : online === total ? 'online' : 'partially_degraded' },
        serviceType: members[0]?.gateway?.type ?? 'internal',
        dataplanes: { total, online, offline: total - online },
        endpoints: { ready: ports.filter(({ isReady }) => isReady).length, total: ports.length },
        zones: [...new Set(zones)].filter((zone) => zone !== '').sort(),
      };
    });
}

function endpointRows(proxies: readonly Proxy[]): readonly JsonObject[] {
  return inOrder(proxies)
    .flatMap((proxy) => proxy.ports.filter(({ isReady }) => isReady).map((port) => ({ mesh: proxy.mesh, ...port })))
    .map(({ mesh, service, address, port, zone }) => ({
      ...{ mesh, service, address, port, weight: 1 },
      ...(zone === '' ? {} : { zone }),
    }))
    .sort((a, b) => compareText(a.mesh, b.mesh) || compareText(a.service, b.service));
}

/** By name and cluster: sorting is stable. */
function inOrder(proxies: readonly Proxy[]): readonly Proxy[] {
  return proxies.toSorted((a, b) => compareText(a.name, b.name) || compareText(a.cluster, b.cluster));
}
