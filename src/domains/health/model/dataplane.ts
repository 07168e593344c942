import { labelsOf, metadataOf } from '../../../model/objects/object-key.ts';
import type { FieldPath } from '../../../model/text/field-path.ts';
import { durationMs } from '../../../model/text/go-duration.ts';
import { parseStrictIp } from '../../../model/text/ip-address.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  textOf,
} from '../../../model/text/json.ts';
import { enumNameOf, integerOf } from '../../../model/text/proto-json.ts';
import { given } from '../../../model/values/given.ts';

declare module '../../../model/fleet/desired.ts' {
  interface DeclarationValues {
    readonly Dataplane: DeclaredDataplane;
  }
}

/** A data plane proxy of Kuma with defaults resolved, from a declaration, a live Dataplane or a Pod. */
export interface Dataplane {
  readonly mesh: string;
  /** Kuma's name: in Kubernetes `NAME.NAMESPACE`. */
  readonly name: string;
  /** The value of its label `kuma.io/zone`: the zone of inbounds without such a tag; absent: it has none. */
  readonly zone?: string;
  /** It has neither inbounds nor listeners then. */
  readonly gateway?: Gateway;
  /** In the order in which they are written. */
  readonly inbounds: readonly Inbound[];
  /** Zone ingresses and egresses, in the order in which they are written. */
  readonly listeners: readonly ZoneListener[];
}

/** What a document declares a data plane to be. */
export interface DeclaredDataplane {
  readonly dataplane: Dataplane;
  /** `networking` and `probes` as written, with the names in camelCase and without nulls and unknown fields. */
  readonly spec: JsonObject;
}

/** The gateway that a data plane is. */
export interface Gateway {
  readonly type: 'delegated' | 'builtin';
  /** The value of the tag `kuma.io/service`; empty: it has none. */
  readonly service: string;
  readonly tags: Tags;
}

/** The tags of an inbound or a gateway. */
export type Tags = Readonly<Record<string, string>>;

/** One port of a data plane behind which an application serves. */
export interface Inbound {
  /** The address that others use: the advertised address, else the inbound's, else the data plane's. */
  readonly address: string;
  readonly port: number;
  /** The addresses of its Pod in the other family of IP; absent: it has none. */
  readonly otherAddresses?: readonly string[];
  /** The application behind it. */
  readonly workload: { readonly address: string; readonly port: number };
  /** The value of the tag `kuma.io/service`; empty: it has none. */
  readonly service: string;
  readonly tags: Tags;
  readonly state: InboundState;
  /** `health.ready`; absent: it is not declared, which counts as healthy. */
  readonly ready?: boolean;
  /** A control plane has Envoy probe the application by TCP. */
  readonly serviceProbe?: ServiceProbe;
}

/** What an inbound says of the probes of its application; what is absent has the control plane's default. */
export interface ServiceProbe {
  readonly intervalMs?: number;
  readonly timeoutMs?: number;
  readonly unhealthyThreshold?: number;
  readonly healthyThreshold?: number;
}

export type InboundState = 'Ready' | 'NotReady' | 'Ignored';

/** A listener of a zone proxy. */
export interface ZoneListener {
  readonly type: 'ZoneIngress' | 'ZoneEgress';
  readonly address: string;
  readonly port: number;
  readonly state: 'Ready' | 'NotReady';
}

/**
 * Whether an Envoy probes the application of an inbound. It takes no host name there, and would refuse the checks of the other
 * applications too.
 */
export function isProbed({ serviceProbe, workload }: Pick<Inbound, 'serviceProbe' | 'workload'>): boolean {
  return serviceProbe !== undefined && parseStrictIp(workload.address) !== undefined;
}

/** Whether a number can be the port of a connection. */
export function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}

/** The tag that names the service. */
export const SERVICE_TAG = 'kuma.io/service';

/** The tag that names the zone, and the label of a Dataplane that does. */
export const ZONE_TAG = 'kuma.io/zone';

/** The services that a data plane declares endpoints of, each once. */
export function servicesOf({ gateway, inbounds }: Dataplane): readonly string[] {
  const all = [...inbounds.filter(({ state }) => state !== 'Ignored').map(({ service }) => service), gateway?.service];
  return [...new Set(all.flatMap((service) => service || []))];
}

/** The path of `networking` in the declaration with this key. */
export function networkingOf(declaration: string): readonly string[] {
  // The key of the flat form names the mesh.
  return [...(declaration.includes('@') ? [] : ['spec']), 'networking'];
}

/** Where the declaration with this key names a service. */
export function serviceField(declaration: string, { inbounds }: Dataplane, service: string): FieldPath {
  const at = inbounds.findIndex((inbound) => inbound.service === service);
  const part = at < 0 ? ['gateway'] : ['inbound', at];
  return [...networkingOf(declaration), ...part, 'tags', SERVICE_TAG];
}

/** What names a data plane. */
export type DataplaneId = Pick<Dataplane, 'mesh' | 'name'>;

const SUBJECT = 'dataplane/';

/** Whose token the Envoy of a data plane (`MESH/NAME`) shows: tokens of clusters are for their names, and no cluster has this one. */
export function dataplaneSubject(dataplane: string): string {
  return `${SUBJECT}${dataplane}`;
}

/** The data plane of a {@link dataplaneSubject}; undefined: it is another subject, such as a cluster. */
export function dataplaneOfSubject(subject: string): string | undefined {
  return subject.startsWith(SUBJECT) ? subject.slice(SUBJECT.length) : undefined;
}

/** The mesh and name of a Dataplane, in the flat (Universal) form or as an object of Kubernetes. */
export function dataplaneIdOf(document: JsonObject): DataplaneId {
  const mesh = textOf(document.mesh) === '' ? 'default' : textOf(document.mesh);
  if (document.kind === undefined) return { mesh, name: textOf(document.name) };
  const { name, namespace } = metadataOf(document);
  return { mesh, name: textOf(namespace) === '' ? textOf(name) : `${textOf(name)}.${textOf(namespace)}` };
}

/** The labels of a Dataplane, in the flat form or as an object of Kubernetes. */
export function dataplaneLabels(document: JsonObject): JsonObject {
  return document.kind === undefined ? objectOf(document.labels) : labelsOf(document);
}

/**
 * Reads a Dataplane and fills in the defaults. Never throws: a value of the wrong type counts as absent, and a state that is
 * not known as NotReady.
 *
 * @param spec with field names in camelCase: the flat document, or the `spec` of an object of Kubernetes
 * @param labels see {@link dataplaneLabels}
 */
export function dataplaneOf(spec: JsonObject, { mesh, name }: DataplaneId, labels: JsonObject = {}): Dataplane {
  const networking = objectOf(spec.networking);
  const gateway = gatewayOf(networking.gateway);
  const zone = textOf(labels[ZONE_TAG]);
  const identity = { mesh, name, ...(zone === '' ? {} : { zone }) };
  if (gateway !== undefined) return { ...identity, gateway, inbounds: [], listeners: [] };
  return {
    ...identity,
    inbounds: objectsOf(networking.inbound).map((inbound) => inboundOf(inbound, networking)),
    listeners: objectsOf(networking.listeners).flatMap(listenerOf),
  };
}

const INBOUND_STATES = { 0: 'Ready', 1: 'NotReady', 2: 'Ignored' } as const;
const LISTENER_STATES = { 0: 'Ready', 1: 'NotReady' } as const;
const LISTENER_TYPES = { 1: 'ZoneIngress', 2: 'ZoneEgress' } as const;
const GATEWAY_TYPES = { 0: 'DELEGATED', 1: 'BUILTIN' } as const;

function inboundOf(inbound: JsonObject, networking: JsonObject): Inbound {
  const port = integerOf(inbound.port);
  const own = textOf(inbound.address) || textOf(networking.address);
  const tags = tagsOf(inbound.tags);
  const { health, serviceProbe } = inbound;
  return {
    address: textOf(networking.advertisedAddress) || own,
    port,
    workload: { address: textOf(inbound.serviceAddress) || own, port: integerOf(inbound.servicePort) || port },
    service: tags[SERVICE_TAG] ?? '',
    tags,
    state: enumNameOf(inbound.state ?? 0, INBOUND_STATES) ?? 'NotReady',
    ...(isJsonObject(health) ? { ready: health.ready === true } : {}),
    ...(isJsonObject(serviceProbe) ? { serviceProbe: probeOf(serviceProbe) } : {}),
  };
}

function probeOf({ interval, timeout, unhealthyThreshold, healthyThreshold }: JsonObject): ServiceProbe {
  const intervalMs = durationMs(interval);
  const timeoutMs = durationMs(timeout);
  return {
    ...given({ intervalMs, timeoutMs }),
    ...(isWritten(unhealthyThreshold) ? { unhealthyThreshold: integerOf(unhealthyThreshold) } : {}),
    ...(isWritten(healthyThreshold) ? { healthyThreshold: integerOf(healthyThreshold) } : {}),
  };
}

function isWritten(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null;
}

/** A listener without a type serves nothing. */
function listenerOf({ type, address, port, state }: JsonObject): readonly ZoneListener[] {
  const known = enumNameOf(type, LISTENER_TYPES);
  if (known === undefined) return [];
  const named = enumNameOf(state ?? 0, LISTENER_STATES) ?? 'NotReady';
  return [{ type: known, address: textOf(address), port: integerOf(port), state: named }];
}

function gatewayOf(gateway: JsonValue | undefined): Gateway | undefined {
  if (!isJsonObject(gateway)) return undefined;
  const tags = tagsOf(gateway.tags);
  const type = enumNameOf(gateway.type ?? 0, GATEWAY_TYPES) === 'BUILTIN' ? 'builtin' : 'delegated';
  return { type, service: tags[SERVICE_TAG] ?? '', tags };
}

/** A tag without a value has the empty text; one with another value is left out. */
function tagsOf(tags: JsonValue | undefined): Tags {
  const read: Record<string, string> = {};
  for (const [key, value] of Object.entries(objectOf(tags))) {
    if (typeof value === 'string' || value === null) read[key] = value ?? '';
  }
  return read;
}
