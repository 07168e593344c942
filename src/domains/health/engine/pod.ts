import { annotationOf, labelsOf, metadataOf, type ObjectKey, objectRefOf } from '../../../model/objects/object-key.ts';
import { canonicalIp, parseStrictIp } from '../../../model/text/ip-address.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../../model/text/json.ts';
import { parseRfc3339 } from '../../../model/text/time.ts';
import { type Inbound, isPort } from '../model/dataplane.ts';
import { type Owner, ownerOf, textMembers } from './live-objects.ts';
import type { Connection } from './status.ts';

/** What the rules read of a Pod. Values of the wrong type count as absent. */
export interface Pod {
  readonly key: ObjectKey;
  readonly namespace: string;
  readonly name: string;
  /** Empty: not known. */
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  /** See {@link podIps}. */
  readonly ips: readonly string[];
  readonly phase: string;
  /** Of the Pod itself, such as `Evicted`. */
  readonly reason: string;
  readonly isTerminating: boolean;
  /** The name of its Node; empty: it has none yet. */
  readonly node: string;
  /** The value of `kuma.io/gateway`. */
  readonly gateway: string;
  readonly owner: Owner | undefined;
  /** Without init containers. */
  readonly containers: readonly Container[];
  /** Of containers, then of init containers. */
  readonly statuses: readonly ContainerStatus[];
  readonly connection: Connection;
}

interface Container {
  readonly name: string;
  readonly ports: readonly { readonly name: string; readonly port: number; readonly protocol: string }[];
}

interface ContainerStatus {
  readonly name: string;
  readonly isReady: boolean;
  /** Why it waits or has ended; empty: it does neither, or it is not known. */
  readonly reason: string;
}

/** Reads a live Pod. */
export function readPod(key: ObjectKey, value: JsonObject): Pod {
  const { namespace, name } = objectRefOf(key);
  const metadata = metadataOf(value);
  const status = objectOf(value.status);
  const statuses = [...objectsOf(status.containerStatuses), ...objectsOf(status.initContainerStatuses)];
  return {
    key,
    namespace,
    name,
    uid: textOf(metadata.uid),
    labels: textMembers(labelsOf(value)),
    ips: podIps(value),
    phase: textOf(status.phase),
    reason: textOf(status.reason),
    isTerminating: isTerminating(value),
    node: textOf(objectOf(value.spec).nodeName),
    gateway: annotationOf(value, 'kuma.io/gateway'),
    owner: ownerOf(value),
    containers: objectsOf(objectOf(value.spec).containers).map(containerOf),
    statuses: statuses.map((one) => ({
      name: textOf(one.name),
      isReady: one.ready !== false,
      reason: reasonOf(objectOf(one.state)),
    })),
    connection: drainingIfTerminating(connectionOfPod(textOf(status.phase), statuses), value),
  };
}

/** The addresses of a live Pod, the primary one first; what is no IP address is left out. */
export function podIps(pod: JsonObject): readonly string[] {
  const { podIP, podIPs } = objectOf(pod.status);
  const all = [textOf(podIP), ...objectsOf(podIPs).map(({ ip }) => textOf(ip))];
  return [...new Set(all)].filter((ip) => parseStrictIp(ip) !== undefined).slice(0, 4);
}

/** The other addresses of a Pod, for an inbound at one of them. */
export function otherIps(ips: readonly string[], address: string): Partial<Pick<Inbound, 'otherAddresses'>> {
  const others = ips.filter((ip) => canonicalIp(ip) !== canonicalIp(address));
  return others.length > 0 && others.length < ips.length ? { otherAddresses: others } : {};
}

function containerOf({ name, ports }: JsonObject): Container {
  return {
    name: textOf(name),
    ports: objectsOf(ports).flatMap(({ name: port, containerPort, protocol = 'TCP' }) =>
      typeof containerPort === 'number' && isPort(containerPort)
        ? [{ name: textOf(port), port: containerPort, protocol: textOf(protocol) }]
        : [],
    ),
  };
}

function reasonOf({ waiting, terminated }: JsonObject): string {
  return textOf(objectOf(waiting).reason) || textOf(objectOf(terminated).reason);
}

/** A Pod is connected while it runs: since its first container that runs was started. */
function connectionOfPod(phase: string, statuses: readonly JsonObject[]): Connection {
  const times = (state: 'running' | 'terminated', field: string): readonly number[] =>
    statuses.flatMap((status) => parseRfc3339(textOf(objectOf(objectOf(status.state)[state])[field])) ?? []);
  switch (phase) {
    case 'Running':
      return withSince('connected', times('running', 'startedAt'), Math.min);
    case 'Failed':
    case 'Unknown':
      return withSince('disconnected', times('terminated', 'finishedAt'), Math.max);
    default:
      return { state: 'never' };
  }
}

function withSince(
  state: Connection['state'],
  times: readonly number[],
  pick: (...times: readonly number[]) => number,
): Connection {
  return times.length === 0 ? { state } : { state, since: pick(...times) };
}

/** Whether the Pod is to be deleted. */
function isTerminating(value: JsonObject): boolean {
  return textOf(metadataOf(value).deletionTimestamp) !== '';
}

/** The connection of a proxy in a Pod, which drains once the Pod is to be deleted. */
export function drainingIfTerminating(connection: Connection, pod: JsonObject): Connection {
  if (connection.state !== 'connected' || !isTerminating(pod)) return connection;
  const { deletionTimestamp, deletionGracePeriodSeconds: grace } = metadataOf(pod);
  const end = parseRfc3339(textOf(deletionTimestamp));
  // The timestamp is when the grace period ends.
  return end === undefined || typeof grace !== 'number'
    ? { state: 'draining' }
    : { state: 'draining', since: end - grace * 1000 };
}
