import { create, toBinary } from '@bufbuild/protobuf';
import {
  type DiscoveryRequest,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from '../../generated/envoy/service/discovery/v3/discovery_pb.ts';
import { type Assignment, ENDPOINT_TYPE } from '../domains/health/xds/assignment.ts';
import { sha256 } from '../model/digest.ts';
import type { IncomingCall, StreamEnd } from '../ports/transport.ts';
import { createSlices, type Slices } from './slices.ts';
import type { Protocol, Session, StreamDeps } from './stream.ts';

/** The endpoints of services. */
export interface Assignments {
  /** Of a service in a mesh, which need not exist. */
  get(mesh: string, service: string): Assignment;
  /** Health of its inbounds is not known since a restart: an Envoy that has endpoints keeps them. */
  isAwaited(mesh: string, service: string): boolean;
  /** No stream asks for the service any more. */
  forget(mesh: string, service: string): void;
}

/** What the streams of ADS need. */
interface AdsDeps extends Pick<StreamDeps, 'counts' | 'limits' | 'log' | 'clock'> {
  readonly assignments: Assignments;
  /** A stream is open. Returns the function that says that it has ended, and why. */
  readonly opened: (dataplane: string) => (why: string) => void;
  /** An Envoy has refused endpoints; undefined: it has accepted the next ones. */
  readonly rejected: (dataplane: string, message: string | undefined) => void;
}

/** The subscription of a stream to resources of one type. */
interface Subscription {
  readonly type: string;
  readonly names: Set<string>;
  /** Names whose resource may be another one than was sent. */
  readonly due: Set<string>;
  /** The version of each resource that was sent. */
  readonly sent: Map<string, string>;
  /** Names that are not sent while they are awaited. */
  readonly held: Set<string>;
  /** Of the last response; empty: there is none. */
  nonce: string;
  isAnswered: boolean;
  /** A response without resources is due. */
  isEmptyDue: boolean;
}

/** A stream that asks for endpoints. */
interface Subscriber {
  /** The endpoints of a service that it asks for may have changed. */
  changed(service: string): void;
}

const TOO_MANY: StreamEnd = {
  code: 'exhausted',
  reason: 'TooManyResources',
  message: 'the stream asks for too many resources',
};
/** Types of resources that one stream may ask for. */
const MOST_TYPES = 16;
/** A response takes no further resource from this size on; those follow when it is answered. */
const RESPONSE_BYTES = 1 << 20;
/** Time in which responses are made before the event loop runs again. */
const SLICE_MS = 5;

/** Envoys receive the endpoints of the services that they ask for (state of the world); all other resources are empty. */
export function createAds(deps: AdsDeps) {
  /** The streams by the services that they ask for: `MESH`, then the name. */
  const subscribers = createSubscribers(deps.assignments.forget);
  const slices = createSlices(deps.clock, SLICE_MS);
  const protocol: Protocol<typeof DiscoveryRequestSchema> = {
    schema: DiscoveryRequestSchema,
    nodeOf: ({ node }) => (node === undefined || node.id === '' ? undefined : node.id),
    open: (dataplane, call) => openSession(deps, { subscribers, slices }, dataplane, call),
  };
  return {
    protocol,
    isWanted: subscribers.has,
    /** The endpoints of these services have changed. */
    changed: (services: Iterable<{ readonly mesh: string; readonly service: string }>): void => {
      for (const { mesh, service } of services) {
        slices.add(() => {
          for (const subscriber of subscribers.of(mesh, service)) subscriber.changed(service);
        });
      }
    },
    stop: slices.stop,
  };
}

/** What the streams share. */
interface Shared {
  readonly subscribers: Subscribers;
  readonly slices: Slices;
}

function openSession(
  deps: AdsDeps,
  { subscribers, slices }: Shared,
  dataplane: string,
  call: IncomingCall,
): Session<DiscoveryRequest> {
  const mesh = dataplane.slice(0, dataplane.indexOf('/'));
  const types = new Map<string, Subscription>();
  const closed = deps.opened(dataplane);
  const wake = createWriter(call, slices, responsesOf(deps, mesh, types));
  const subscriber: Subscriber = {
    changed: (service) => {
      types.get(ENDPOINT_TYPE)?.due.add(service);
      wake();
    },
  };
  return {
    received: (request) => {
      if (request.resourceNames.length > deps.limits.resources) return TOO_MANY;
      const known = types.get(request.typeUrl);
      if (known === undefined && types.size >= MOST_TYPES) return TOO_MANY;
      const to = known ?? newSubscription(request.typeUrl);
      types.set(request.typeUrl, to);
      // An answer to an earlier response; the one to the last response follows.
      if (request.responseNonce !== '' && to.nonce !== '' && request.responseNonce !== to.nonce) return undefined;
      noteAnswer(deps, to, dataplane, request);
      to.isAnswered = true;
      const { gone, come } = replaceNames(to, request.resourceNames);
      if (to.type === ENDPOINT_TYPE) {
        for (const name of gone) subscribers.remove(mesh, name, subscriber);
        for (const name of come) subscribers.add(mesh, name, subscriber);
        if (known === undefined && request.versionInfo !== '') {
          for (const name of to.names) if (deps.assignments.isAwaited(mesh, name)) to.held.add(name);
        }
      } else {
        to.isEmptyDue ||= known === undefined || gone.size + come.size > 0;
      }
      wake();
      return undefined;
    },
    ended: (why) => {
      for (const name of types.get(ENDPOINT_TYPE)?.names ?? []) subscribers.remove(mesh, name, subscriber);
      types.clear();
      closed(why);
    },
  };
}

/**
 * Returns a function that says that there may be something to send. One message is on its way at a time; the next one is made
 * when the stream has taken it, so that nothing queues for an Envoy that does not read.
 */
function createWriter(call: IncomingCall, slices: Slices, next: () => Uint8Array | undefined): () => void {
  let isWriting = false;
  const write = (): void => {
    const message = isWriting ? undefined : next();
    if (message === undefined) return;
    isWriting = true;
    void call.write(message).then((isOpen) => {
      isWriting = false;
      if (isOpen) wake();
    });
  };
  const wake = (): void => {
    if (!isWriting) slices.add(write);
  };
  return wake;
}

/** Returns a function that makes the next response of a stream; undefined: nothing is due. */
function responsesOf(
  { assignments, counts }: AdsDeps,
  mesh: string,
  types: ReadonlyMap<string, Subscription>,
): () => Uint8Array | undefined {
  let nonces = 0;
  const sent = (to: Subscription, nonce: string): void => {
    to.nonce = nonce;
    to.isAnswered = false;
    to.isEmptyDue = false;
  };
  const respond = (to: Subscription, versionInfo: string, resources: readonly Uint8Array[]): Uint8Array => {
    nonces += 1;
    const nonce = String(nonces);
    sent(to, nonce);
    const about = create(DiscoveryResponseSchema, { versionInfo, typeUrl: to.type, nonce });
    return Buffer.concat([toBinary(DiscoveryResponseSchema, about), ...resources]);
  };
  /** What has changed, once the last response is answered. */
  const endpoints = (to: Subscription): Uint8Array | undefined => {
    const changed = takeChanged(to, assignments, mesh);
    const [first] = changed;
    if (first === undefined) return undefined;
    counts.push('sent');
    if (changed.length > 1) {
      const version = sha256(changed.map(({ name, version }) => `${name} ${version}`).join('\n')).slice(0, 16);
      return respond(
        to,
        version,
        changed.map(({ resource }) => resource),
      );
    }
    sent(to, first.version);
    return first.response;
  };
  return () => {
    for (const to of types.values()) if (to.isEmptyDue) return respond(to, sha256('').slice(0, 16), []);
    const to = types.get(ENDPOINT_TYPE);
    return to?.isAnswered === true ? endpoints(to) : undefined;
  };
}

/** Takes what is due and has changed, as much as a response has. */
function takeChanged(
  { due, held, sent }: Subscription,
  assignments: Assignments,
  mesh: string,
): readonly (Assignment & { readonly name: string })[] {
  const changed: (Assignment & { readonly name: string })[] = [];
  let size = 0;
  for (const name of due) {
    if (size >= RESPONSE_BYTES) break;
    if (held.has(name) && assignments.isAwaited(mesh, name)) continue;
    held.delete(name);
    due.delete(name);
    const assignment = assignments.get(mesh, name);
    if (assignment.version === sent.get(name)) continue;
    sent.set(name, assignment.version);
    changed.push({ name, ...assignment });
    size += assignment.resource.length;
  }
  return changed;
}

function newSubscription(type: string): Subscription {
  return {
    ...{ type, names: new Set(), due: new Set(), sent: new Map(), held: new Set() },
    ...{ nonce: '', isAnswered: true, isEmptyDue: false },
  };
}

/** Replaces the names of a subscription by those that are asked for now. Returns the difference. */
function replaceNames({ names, due, sent, held }: Subscription, asked: readonly string[]) {
  const wanted = new Set(asked);
  const gone = names.difference(wanted);
  const come = wanted.difference(names);
  for (const name of gone) for (const those of [names, due, sent, held]) those.delete(name);
  for (const name of come) {
    names.add(name);
    due.add(name);
  }
  return { gone, come };
}

/** Counts the answer to a response. An Envoy that refuses endpoints keeps those that it has. */
function noteAnswer(
  { counts, log, rejected }: AdsDeps,
  { nonce, isAnswered, type }: Subscription,
  dataplane: string,
  { responseNonce, errorDetail }: DiscoveryRequest,
): void {
  if (isAnswered || responseNonce !== nonce || type !== ENDPOINT_TYPE) return;
  if (errorDetail === undefined) {
    counts.push('accepted');
    rejected(dataplane, undefined);
    return;
  }
  counts.push('rejected');
  const message = errorDetail.message.slice(0, 1_000);
  log.warn('an Envoy refuses endpoints', { dataplane, message });
  rejected(dataplane, message);
}

type Subscribers = ReturnType<typeof createSubscribers>;

function createSubscribers(forget: Assignments['forget']) {
  const streams = new Map<string, Set<Subscriber>>();
  const keyOf = (mesh: string, service: string): string => `${mesh}/${service}`;
  return {
    add: (mesh: string, service: string, one: Subscriber): void => {
      const key = keyOf(mesh, service);
      streams.set(key, (streams.get(key) ?? new Set()).add(one));
    },
    remove: (mesh: string, service: string, one: Subscriber): void => {
      const key = keyOf(mesh, service);
      const those = streams.get(key);
      those?.delete(one);
      if (those?.size !== 0) return;
      streams.delete(key);
      forget(mesh, service);
    },
    of: (mesh: string, service: string): Iterable<Subscriber> => streams.get(keyOf(mesh, service)) ?? [],
    has: (mesh: string, service: string): boolean => streams.has(keyOf(mesh, service)),
  };
}
