import { create, toBinary } from '@bufbuild/protobuf';
import {
  type DiscoveryRequest,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from '../../generated/envoy/service/discovery/v3/discovery_pb.ts';
import { sha256 } from '../model/digest.ts';
import type { IncomingCall, StreamEnd } from '../ports/transport.ts';
import { type Assignment, ENDPOINT_TYPE } from './assignment.ts';
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
interface AdsDeps extends Pick<StreamDeps, 'counts' | 'limits' | 'log'> {
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
  /** The version of each resource that was sent. */
  readonly sent: Map<string, string>;
  /** Names that are not sent while they are awaited. */
  readonly held: Set<string>;
  /** Of the last response; empty: there is none. */
  nonce: string;
  isAnswered: boolean;
}

const TOO_MANY: StreamEnd = {
  code: 'exhausted',
  reason: 'TooManyResources',
  message: 'the stream asks for too many resources',
};
/** Types of resources that one stream may ask for. */
const MOST_TYPES = 16;

/** Envoys receive the endpoints of the services that they ask for (state of the world); all other resources are empty. */
export function createAds(deps: AdsDeps) {
  /** The streams by the services that they ask for: `MESH`, then the name. */
  const subscribers = createSubscribers(deps.assignments.forget);
  const protocol: Protocol<typeof DiscoveryRequestSchema> = {
    schema: DiscoveryRequestSchema,
    nodeOf: ({ node }) => (node === undefined || node.id === '' ? undefined : node.id),
    open: (dataplane, call) => openSession(deps, subscribers, dataplane, call),
  };
  return {
    protocol,
    isWanted: subscribers.has,
    /** The endpoints of these services have changed. */
    changed: (services: Iterable<{ readonly mesh: string; readonly service: string }>): void => {
      const due = new Set<() => void>();
      for (const { mesh, service } of services) for (const push of subscribers.of(mesh, service)) due.add(push);
      for (const push of due) push();
    },
  };
}

function openSession(
  deps: AdsDeps,
  subscribers: Subscribers,
  dataplane: string,
  call: IncomingCall,
): Session<DiscoveryRequest> {
  const mesh = dataplane.slice(0, dataplane.indexOf('/'));
  const types = new Map<string, Subscription>();
  const closed = deps.opened(dataplane);
  let nonces = 0;
  const send = (to: Subscription, names: readonly string[]): void => {
    nonces += 1;
    to.nonce = String(nonces);
    to.isAnswered = false;
    const resources =
      to.type !== ENDPOINT_TYPE ? [] : names.map((name) => ({ name, ...deps.assignments.get(mesh, name) }));
    for (const { name, version } of resources) to.sent.set(name, version);
    const response = create(DiscoveryResponseSchema, {
      versionInfo: sha256(resources.map(({ name, version }) => `${name} ${version}`).join('\n')).slice(0, 16),
      resources: resources.map(({ bytes }) => ({ typeUrl: to.type, value: bytes })),
      typeUrl: to.type,
      nonce: to.nonce,
    });
    if (to.type === ENDPOINT_TYPE) deps.counts.push('sent');
    void call.write(toBinary(DiscoveryResponseSchema, response));
  };
  /** Sends what has changed, once the last response is answered. */
  const push = (): void => {
    const to = types.get(ENDPOINT_TYPE);
    if (to === undefined || !to.isAnswered) return;
    const { names, sent, held } = to;
    for (const name of held) if (!deps.assignments.isAwaited(mesh, name)) held.delete(name);
    const due = [...names].filter(
      (name) => !held.has(name) && deps.assignments.get(mesh, name).version !== sent.get(name),
    );
    if (due.length > 0) send(to, due);
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
      const isEndpoints = to.type === ENDPOINT_TYPE;
      const before = new Set(to.names);
      replaceNames(to, request.resourceNames);
      if (!isEndpoints) {
        if (known === undefined || before.symmetricDifference(to.names).size > 0) send(to, []);
        return undefined;
      }
      for (const name of before.difference(to.names)) subscribers.remove(mesh, name, push);
      for (const name of to.names.difference(before)) subscribers.add(mesh, name, push);
      if (known === undefined && request.versionInfo !== '') {
        for (const name of to.names) if (deps.assignments.isAwaited(mesh, name)) to.held.add(name);
      }
      push();
      return undefined;
    },
    ended: (why) => {
      for (const name of types.get(ENDPOINT_TYPE)?.names ?? []) subscribers.remove(mesh, name, push);
      closed(why);
    },
  };
}

function newSubscription(type: string): Subscription {
  return { type, names: new Set(), sent: new Map(), held: new Set(), nonce: '', isAnswered: true };
}

function replaceNames({ names, sent, held }: Subscription, asked: readonly string[]): void {
  const wanted = new Set(asked);
  for (const name of names) {
    if (wanted.has(name)) continue;
    names.delete(name);
    sent.delete(name);
    held.delete(name);
  }
  for (const name of wanted) names.add(name);
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
  const streams = new Map<string, Set<() => void>>();
  const keyOf = (mesh: string, service: string): string => `${mesh}/${service}`;
  return {
    add: (mesh: string, service: string, push: () => void): void => {
      const key = keyOf(mesh, service);
      streams.set(key, (streams.get(key) ?? new Set()).add(push));
    },
    remove: (mesh: string, service: string, push: () => void): void => {
      const key = keyOf(mesh, service);
      const those = streams.get(key);
      those?.delete(push);
      if (those?.size !== 0) return;
      streams.delete(key);
      forget(mesh, service);
    },
    of: (mesh: string, service: string): Iterable<() => void> => streams.get(keyOf(mesh, service)) ?? [],
    has: (mesh: string, service: string): boolean => streams.has(keyOf(mesh, service)),
  };
}
