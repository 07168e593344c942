import type { ObjectKey } from '../../../model/objects/object-key.ts';
import type { JsonObject } from '../../../model/text/json.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import type { Random } from '../../../ports/random.ts';

/** One API server, as one user. */
export interface KubeClient {
  /** Address, for people. */
  readonly server: string;
  /**
   * Sends one request. Never rejects. After 429 it is sent again when the server asks for that, a few times; after 401 once,
   * with new credentials. An answer that is too large or not JSON is `unreachable`.
   */
  request(request: KubeRequest): Promise<KubeAnswer>;
  /**
   * Opens a watch, calls `event` for each event in order, and resolves with the reason of its end. It ends as well when the
   * server is silent for longer than `silentMs` or `signal` aborts. `event` must not throw.
   */
  watch(request: KubeWatchRequest, event: (event: WatchEvent) => void): Promise<WatchEnd>;
  close(): Promise<void>;
}

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path with encoded segments, as {@link resourcePath} makes it. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: JsonObject;
  /** Of the body; default `application/json`. Server-side apply: `application/apply-patch+yaml`. */
  readonly contentType?: string;
  /** Default `application/json`. If it begins with `text/plain` (logs), the field `text` of the body has the answer. */
  readonly accept?: string;
  /**
   * Most bytes of text to read. An answer of any HTTP status is then `ok`. Its body has the first bytes as `text`, and
   * `cut: true` if there are more.
   */
  readonly textOfBytes?: number;
  /**
   * The protocol that the connection is to change to. The answer is `ok` with status 101 once the server has changed to it; the
   * connection is then closed.
   */
  readonly upgrade?: { readonly protocol: string; readonly headers: Readonly<Record<string, string>> };
  readonly signal?: AbortSignal;
  /** Time limit in milliseconds; default 30 s. */
  readonly timeoutMs?: number;
  /** Called immediately before each attempt. False: nothing is sent, and the answer is `unreachable` or the last one. */
  readonly maySend?: () => boolean;
}

/** `refused`: the server has not carried out the request. `unreachable`: it may have. */
export type KubeAnswer =
  | { readonly type: 'ok'; readonly status: number; readonly body: JsonObject }
  | { readonly type: 'refused'; readonly status: number; readonly refusal: KubeRefusal }
  | { readonly type: 'unreachable'; readonly message: string; readonly tooLarge?: true };

/** A `Status` of the API server. */
export interface KubeRefusal {
  /** UpperCamelCase word: `NotFound`, `Conflict`, `Invalid`, `Forbidden`, `Expired` ...; empty: none. */
  readonly reason: string;
  readonly message: string;
  readonly causes: readonly { readonly reason: string; readonly message: string; readonly field: string }[];
  /** Milliseconds after which the server wants the next attempt. */
  readonly retryAfterMs?: number;
}

export interface KubeWatchRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Default `application/json`. */
  readonly accept?: string;
  readonly silentMs: number;
  readonly signal: AbortSignal;
  /** Called when the server has accepted the watch. Must not throw. */
  readonly opened?: () => void;
}

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; readonly object: JsonObject }
  | { readonly type: 'ERROR'; readonly status: number; readonly refusal: KubeRefusal };

export type WatchEnd =
  /** The server ended it after a complete event, or the signal aborted. */
  | { readonly type: 'closed' }
  | { readonly type: 'refused'; readonly status: number; readonly refusal: KubeRefusal }
  | { readonly type: 'broken'; readonly message: string };

/** A kind as an API server offers it, in one version. */
export interface ApiResource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Plural name, as in paths. */
  readonly resource: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly subresources: readonly string[];
}

/** All kinds that an API server offers. Never changed after it is made. */
export interface ApiCatalog {
  /** The kind in this version, or in the preferred one; undefined if it is not offered. */
  find(group: string, kind: string, version?: string): ApiResource | undefined;
  /** Every kind in every version, preferred versions first. */
  readonly resources: readonly ApiResource[];
  /** Each kind once, in its preferred version. */
  readonly preferred: readonly ApiResource[];
  /** Groups that could not be read (an aggregated API that is down). Their kinds are unknown, not gone. */
  readonly unreadableGroups: ReadonlySet<string>;
  /** Of the API server, as `v1.36.3`; absent: it has never answered. */
  readonly kubernetesVersion?: string;
}

/** Path of a collection, or of one object in it: segments are encoded. */
export interface ResourcePath {
  readonly resource: Pick<ApiResource, 'group' | 'version' | 'resource'>;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

/** What following and writing objects of one API server needs. */
export interface FollowerDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The objects that are followed. */
export interface FollowOptions {
  readonly resource: ApiResource;
  /** Default: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Nothing but the metadata of the objects is asked for; objects have no other fields then. */
  readonly metadataOnly?: boolean;
  /** Objects per page of a list; default 500. */
  readonly pageSize?: number;
  /** Shortest and longest time in seconds after which the server is asked to end a watch; default 240 to 480. */
  readonly watchSeconds?: readonly [number, number];
}

/**
 * Receives the objects of a kind, one call after the other. Each object has its name, its namespace, apiVersion and kind.
 * An object can be handed over twice, and a resumed watch can repeat events: the last call counts. A call that throws is
 * logged and affects nothing else.
 */
export interface KindListener {
  /** The objects that the listener has; keys of other kinds and namespaces are ignored. A complete list names all others. */
  keys(): Iterable<ObjectKey>;
  /** A list begins. */
  listing?(): void;
  upsert(key: ObjectKey, object: JsonObject): void;
  /** The object does not exist any more: a watch reported its deletion (`object`), or a complete list did not name it. */
  gone(key: ObjectKey, object?: JsonObject): void;
  /** Whether the list is complete. An object that an incomplete list lacks may still exist. */
  listEnded?(complete: boolean): void;
  /**
   * `complete`: from the first complete list on. `unknown`: the kind cannot be listed or watched (reported again when the
   * message changes); at once if the server refuses it (403, 404), after a minute if the server does not answer. The
   * listener's objects can be outdated then, they are not gone. `complete` again: after another complete list. `isForbidden`:
   * the user lacks the right (403).
   */
  state?(state: 'complete' | 'unknown', message: string, isForbidden: boolean): void;
}
