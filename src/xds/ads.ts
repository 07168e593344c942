import { create, toBinary } from '@bufbuild/protobuf';
import {
  type DiscoveryRequest,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from '../../generated/envoy/service/discovery/v3/discovery_pb.ts';
import { sha256 } from '../model/text/digest.ts';
import type { IncomingCall, StreamEnd } from '../ports/transport.ts';
import { createSlices, type Slices } from './slices.ts';
import type { Protocol, Session, StreamDeps } from './stream.ts';

/** A resource as it is sent. */
export interface Resource {
  /** Its wire form as a resource of a DiscoveryResponse, to which it is appended. */
  readonly resource: Uint8Array;
  /** Equal resources have equal versions, at every server. */
  readonly version: string;
  /** The DiscoveryResponse that has this resource alone; it has the version and the nonce of the resource. All streams share it. */
  readonly response: Uint8Array;
}

/** The resources of one type. Nodes of one scope are sent the same resources. */
export interface Resources {
  /** The type as requests state it: `type.googleapis.com/...`. */
  readonly type: string;
  /** The resource of this name in a scope, which need not exist. */
  get(scope: string, name: string): Resource;
  /** Not all that the resource is made of is known since a restart: an Envoy that has one keeps it. */
  isAwaited(scope: string, name: string): boolean;
  /** No stream asks for the resource any more. */
  forget(scope: string, name: string): void;
  /** An Envoy has refused resources, and keeps those that it has; undefined: it has accepted the next ones. */
  rejected(node: string, message: string | undefined): void;
}

/** A resource of a type, by its scope and name. */
export interface ResourceRef {
  readonly scope: string;
  readonly name: string;
}

/** What the streams of ADS need. */
interface AdsDeps extends Pick<StreamDeps, 'counts' | 'limits' | 'clock'> {
  /**
   * The types that are served, in the order in which a stream is sent what is due. Envoy loses no traffic if it is sent clusters, then
   * endpoints, listeners and routes. There is no resource of any other type.
   */
  readonly types: readonly Resources[];
  readonly scopeOf: (node: string) => string;
  /** A stream is open. Returns the function that says that it has ended, and why. */
  readonly opened: (node: string) => (why: string) => void;
}

/** The subscription of a stream to resources of one type. */
interface Subscription {
  readonly type: string;
  /** Undefined: the type is not served. */
  readonly served: Served | undefined;
  /** There may be something to send. */
  readonly wake: () => void;
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

/** A type that is served, and the subscriptions to its resources. */
interface Served {
  readonly resources: Resources;
  readonly subscribers: Subscribers;
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

/** Envoys receive the resources that they ask for by name (state of the world). */
export function createAds(deps: AdsDeps) {
  const served: ReadonlyMap<string, Served> = new Map(
    deps.types.map((resources) => [resources.type, { resources, subscribers: createSubscribers(resources.forget) }]),
  );
  const slices = createSlices(deps.clock, SLICE_MS);
  const protocol: Protocol<typeof DiscoveryRequestSchema> = {
    schema: DiscoveryRequestSchema,
    nodeOf: ({ node }) => (node === undefined || node.id === '' ? undefined : node.id),
    open: (node, call) => openSession(deps, { served, slices }, node, call),
  };
  return {
    protocol,
    /** Whether a stream asks for the resource. */
    isWanted: (type: string, { scope, name }: ResourceRef): boolean =>
      served.get(type)?.subscribers.has(scope, name) ?? false,
    /** These resources may have changed. */
    changed: (type: string, resources: Iterable<ResourceRef>): void => {
      const subscribers = served.get(type)?.subscribers;
      for (const { scope, name } of resources) {
        slices.add(() => {
          for (const { due, wake } of subscribers?.of(scope, name) ?? []) {
            due.add(name);
            wake();
          }
        });
      }
    },
    stop: slices.stop,
  };
}

/** What the streams share. */
interface Shared {
  readonly served: ReadonlyMap<string, Served>;
  readonly slices: Slices;
}

function openSession(
  deps: AdsDeps,
  { served, slices }: Shared,
  node: string,
  call: IncomingCall,
): Session<DiscoveryRequest> {
  const scope = deps.scopeOf(node);
  const types = new Map<string, Subscription>();
  const closed = deps.opened(node);
  const wake = createWriter(call, slices, responsesOf(deps, scope, types, [...served.keys()]));
  return {
    received: (request) => {
      if (request.resourceNames.length > deps.limits.resources) return TOO_MANY;
      const known = types.get(request.typeUrl);
      if (known === undefined && types.size >= MOST_TYPES) return TOO_MANY;
      const to = known ?? newSubscription(request.typeUrl, served.get(request.typeUrl), wake);
      types.set(request.typeUrl, to);
      // An answer to an earlier response; the one to the last response follows.
      if (request.responseNonce !== '' && to.nonce !== '' && request.responseNonce !== to.nonce) return undefined;
      noteAnswer(deps, to, node, request);
      to.isAnswered = true;
      const { gone, come } = replaceNames(to, request.resourceNames);
      if (to.served === undefined) {
        to.isEmptyDue ||= known === undefined || gone.size + come.size > 0;
      } else {
        const { resources, subscribers } = to.served;
        for (const name of gone) subscribers.remove(scope, name, to);
        for (const name of come) subscribers.add(scope, name, to);
        if (known === undefined && request.versionInfo !== '') {
          for (const name of to.names) if (resources.isAwaited(scope, name)) to.held.add(name);
        }
      }
      wake();
      return undefined;
    },
    ended: (why) => {
      for (const to of types.values()) for (const name of to.names) to.served?.subscribers.remove(scope, name, to);
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
  { counts }: AdsDeps,
  scope: string,
  types: ReadonlyMap<string, Subscription>,
  order: readonly string[],
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
  const changes = (to: Subscription, resources: Resources): Uint8Array | undefined => {
    const changed = takeChanged(to, resources, scope);
    const [first] = changed;
    if (first === undefined) return undefined;
    counts.push(to.type, 'sent');
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
    for (const type of order) {
      const to = types.get(type);
      const response = to?.served && to.isAnswered ? changes(to, to.served.resources) : undefined;
      if (response !== undefined) return response;
    }
    return undefined;
  };
}

/** Takes what is due and has changed, as much as a response has. */
function takeChanged(
  { due, held, sent }: Subscription,
  resources: Resources,
  scope: string,
): readonly (Resource & { readonly name: string })[] {
  const changed: (Resource & { readonly name: string })[] = [];
  let size = 0;
  for (const name of due) {
    if (size >= RESPONSE_BYTES) break;
    if (held.has(name) && resources.isAwaited(scope, name)) continue;
    held.delete(name);
    due.delete(name);
    const found = resources.get(scope, name);
    if (found.version === sent.get(name)) continue;
    sent.set(name, found.version);
    changed.push({ name, ...found });
    size += found.resource.length;
  }
  return changed;
}

function newSubscription(type: string, served: Served | undefined, wake: () => void): Subscription {
  return {
    type,
    served,
    wake,
    names: new Set(),
    due: new Set(),
    sent: new Map(),
    held: new Set(),
    nonce: '',
    isAnswered: true,
    isEmptyDue: false,
  };
}

/** Replaces the names of a subscription by those that are asked for now. Returns the difference. */
function replaceNames({ names, due, sent, held }: Subscription, asked: readonly string[]) {
  const wanted = new Set(asked);
  const gone = names.difference(wanted);
  const come = wanted.difference(names);
  for (const name of gone) for (const state of [names, due, sent, held]) state.delete(name);
  for (const name of come) {
    names.add(name);
    due.add(name);
  }
  return { gone, come };
}

/** Counts the answer to a response. */
function noteAnswer(
  { counts }: AdsDeps,
  { type, nonce, isAnswered, served }: Subscription,
  node: string,
  { responseNonce, errorDetail }: DiscoveryRequest,
): void {
  if (isAnswered || responseNonce !== nonce || served === undefined) return;
  counts.push(type, errorDetail === undefined ? 'accepted' : 'rejected');
  served.resources.rejected(node, errorDetail?.message.slice(0, 1_000));
}

type Subscribers = ReturnType<typeof createSubscribers>;

/** The subscriptions to resources of one type, by scope and name. */
function createSubscribers(forget: Resources['forget']) {
  const streams = new Map<string, Set<Subscription>>();
  const keyOf = (scope: string, name: string): string => `${scope}/${name}`;
  return {
    add: (scope: string, name: string, one: Subscription): void => {
      const key = keyOf(scope, name);
      streams.set(key, (streams.get(key) ?? new Set()).add(one));
    },
    remove: (scope: string, name: string, one: Subscription): void => {
      const key = keyOf(scope, name);
      const those = streams.get(key);
      those?.delete(one);
      if (those?.size !== 0) return;
      streams.delete(key);
      forget(scope, name);
    },
    of: (scope: string, name: string): Iterable<Subscription> => streams.get(keyOf(scope, name)) ?? [],
    has: (scope: string, name: string): boolean => streams.has(keyOf(scope, name)),
  };
}
