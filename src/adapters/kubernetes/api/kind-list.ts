import {
  kindOf,
  metadataOf,
  nameOfKind,
  type ObjectKey,
  objectKey,
  objectRefOf,
} from '../../../model/objects/object-key.ts';
import { isOlderVersion } from '../../../model/objects/resource-version.ts';
import { type JsonObject, objectOf, textOf } from '../../../model/text/json.ts';
import { given } from '../../../model/values/given.ts';
import { ok, problem, type Result } from '../../../model/values/result.ts';
import { LIST_MS, MAX_LIST_OBJECTS, MAX_LIST_PAGES, PAGE_MS } from './limits.ts';
import { METADATA_OF_LIST } from './metadata-only.ts';
import { resourcePath } from './paths.ts';
import type { FollowerDeps, FollowOptions, KindListener, KubeRefusal } from './types.ts';

/** One kind that is followed: what one list or watch hands on to the next. */
export interface Following {
  readonly deps: FollowerDeps;
  readonly options: FollowOptions;
  readonly listener: KindListener;
  readonly signal: AbortSignal;
  /** The list that is being read, in pages or as a stream; undefined: none. */
  list: { readonly named: Set<ObjectKey>; count: number } | undefined;
  /** resourceVersion up to which everything was handed to the listener; undefined: the next round begins with a list. */
  position: string | undefined;
}

/**
 * Why a list or a watch ended before it should. `refused`: the server does not offer the kind to this user. `expired`: it
 * has no such resourceVersion, not any more or not yet. `lost`: anything that can pass by itself.
 */
export interface Failure {
  readonly type: 'refused' | 'expired' | 'lost';
  readonly message: string;
  readonly retryAfterMs?: number;
  readonly tooLarge?: true;
  /** The user lacks the right. */
  readonly forbidden?: true;
}

export function lost(message: string): Failure {
  return { type: 'lost', message };
}

export function failureOf(status: number, { reason, message, causes, retryAfterMs }: KubeRefusal): Failure {
  const tooNew = causes.some((cause) => cause.reason === 'ResourceVersionTooLarge');
  const isExpired = status === 410 || reason === 'Expired' || reason === 'Gone' || tooNew;
  const canPass = status >= 500 || [401, 408, 409, 429].includes(status);
  const type = isExpired ? 'expired' : canPass ? 'lost' : 'refused';
  return { type, message, ...given({ retryAfterMs }), ...(status === 403 ? { forbidden: true } : {}) };
}

/** Path and selectors of the followed objects. */
export function requestOf({ resource, namespace, labelSelector, fieldSelector }: FollowOptions) {
  return {
    path: resourcePath({ resource, ...given({ namespace }) }),
    query: given({ labelSelector, fieldSelector }),
  };
}

/** The resourceVersion of a list or a bookmark; undefined if a watch cannot begin there. */
export function positionOf(object: JsonObject): string | undefined {
  const version = textOf(metadataOf(object).resourceVersion);
  return version === '' || version === '0' ? undefined : version;
}

export function beginList(following: Following): void {
  following.list = { named: new Set(), count: 0 };
  guard(following, (listener) => listener.listing?.());
}

/** Ends the list, if one has begun. Objects that a complete list does not name are gone. */
export function endList(following: Following, complete: boolean): void {
  const { list, listener, options } = following;
  if (list === undefined) return;
  following.list = undefined;
  if (complete) {
    for (const key of listener.keys()) {
      if (!list.named.has(key) && isFollowed(options, key)) guard(following, () => listener.gone(key));
    }
  }
  guard(following, () => listener.listEnded?.(complete));
}

function isFollowed({ resource, namespace }: FollowOptions, key: ObjectKey): boolean {
  return kindOf(key) === nameOfKind(resource) && (namespace === undefined || objectRefOf(key).namespace === namespace);
}

/** Checks an object of a list or a watch and hands it to the listener. Returns why the list or watch cannot go on. */
export function takeObject(following: Following, raw: JsonObject, isDeleted = false): Failure | undefined {
  const { list, listener, options } = following;
  const read = readObject(raw, options);
  if (!read.ok) return lost(read.problem);
  const { key, object, resourceVersion } = read.value;
  if (list === undefined) {
    const failure = moveTo(following, resourceVersion);
    if (failure !== undefined) return failure;
  } else {
    list.count += 1;
    if (list.count > MAX_LIST_OBJECTS) return lost(`a list has more than ${MAX_LIST_OBJECTS} objects`);
    if (isDeleted) list.named.delete(key);
    else list.named.add(key);
  }
  guard(following, () => (isDeleted ? listener.gone(key, object) : listener.upsert(key, object)));
  return undefined;
}

/** Moves the position of a watch. Versions of one watch never go back, unless the server was restored from a backup. */
export function moveTo(following: Following, version: string): Failure | undefined {
  const { position } = following;
  if (position !== undefined && isOlderVersion(version, position)) {
    return lost(`a watch went back from version ${position} to ${version.slice(0, 40)}`);
  }
  following.position = version;
  return undefined;
}

/** A listener that throws loses this call and nothing else. */
function guard({ listener, deps: { log } }: Following, call: (listener: KindListener) => void): void {
  try {
    call(listener);
  } catch (error) {
    log.error('a listener of a watch failed', { error });
  }
}

const METADATA_KIND = 'PartialObjectMetadata';

/** Items of a list have neither apiVersion nor kind: both are filled in. */
function readObject(
  raw: JsonObject,
  { resource, namespace: only, metadataOnly }: FollowOptions,
): Result<{ readonly key: ObjectKey; readonly object: JsonObject; readonly resourceVersion: string }> {
  const metadata = metadataOf(raw);
  const [name, namespace] = [textOf(metadata.name), textOf(metadata.namespace)];
  const resourceVersion = textOf(metadata.resourceVersion);
  if (name === '') return problem(`an object of kind ${resource.kind} has no name`);
  if (resourceVersion === '') return problem(`${name} has no resourceVersion`);
  if (resource.namespaced && namespace === '') return problem(`${name} is in no namespace`);
  if (!resource.namespaced && namespace !== '') return problem(`${name} is in a namespace, which its kind is not`);
  if (only !== undefined && namespace !== only) return problem(`${name} is in another namespace than was asked for`);
  const { group, version } = resource;
  const named = { apiVersion: group === '' ? version : `${group}/${version}`, kind: resource.kind };
  if (metadataOnly) {
    if (raw.kind !== METADATA_KIND) return problem(`${name} came as a whole, and only its metadata was asked for`);
    const key = objectKey({ group, kind: resource.kind, namespace, name });
    return ok({ key, object: { ...named, metadata }, resourceVersion });
  }
  const { apiVersion = named.apiVersion, kind = resource.kind } = raw;
  if (kind !== resource.kind || typeof apiVersion !== 'string') return problem(`${name} is no ${resource.kind}`);
  const isNamed = raw.apiVersion !== undefined && raw.kind !== undefined;
  const key = objectKey({ group, kind, namespace, name });
  return ok({ key, object: isNamed ? raw : { ...raw, apiVersion, kind }, resourceVersion });
}

/**
 * Lists the objects of one resourceVersion page by page; the resourceVersion becomes the position. A continue token that expires
 * ends the list: after the server's inconsistent continue token no watch would see all changes.
 */
export async function listPages(following: Following, pageSize: number): Promise<Failure | undefined> {
  const { clock } = following.deps;
  const began = clock.monotonic();
  let token = '';
  let position: string | undefined;
  for (let pages = 1; ; pages += 1) {
    const page = await loadPage(following, pageSize, token);
    const next = 'body' in page ? takePage(following, page.body, token) : page;
    if (typeof next !== 'string') {
      endList(following, false);
      return next;
    }
    position ??= 'body' in page ? positionOf(page.body) : undefined;
    if (next === '') break;
    token = next;
    const isLate = clock.monotonic() - began > LIST_MS;
    if (!isLate && pages < MAX_LIST_PAGES) continue;
    endList(following, false);
    return lost(
      isLate
        ? `the list has not ended within ${LIST_MS / 60_000} minutes`
        : `a list has more than ${MAX_LIST_PAGES} pages`,
    );
  }
  following.position = position;
  endList(following, true);
  return undefined;
}

/** The newest resourceVersion of the followed objects. */
export async function newestVersion(following: Following): Promise<string | Failure> {
  const page = await loadPage(following, 1, '');
  return 'body' in page ? (positionOf(page.body) ?? lost('a list has no resourceVersion')) : page;
}

async function loadPage(
  { deps: { client }, options, signal }: Following,
  limit: number,
  token: string,
): Promise<{ readonly body: JsonObject } | Failure> {
  const { path, query } = requestOf(options);
  const page = { ...query, limit: String(limit), ...(token === '' ? {} : { continue: token }) };
  const accept = options.metadataOnly ? { accept: METADATA_OF_LIST } : {};
  const answer = await client.request({ method: 'GET', path, query: page, signal, timeoutMs: PAGE_MS, ...accept });
  switch (answer.type) {
    case 'ok':
      return answer;
    case 'refused':
      return failureOf(answer.status, answer.refusal);
    case 'unreachable':
      return { ...lost(answer.message), ...(answer.tooLarge ? { tooLarge: true } : {}) };
  }
}

/** Takes the objects of a page. Returns the continue token, which is empty after the last page. */
function takePage(following: Following, body: JsonObject, token: string): string | Failure {
  const { kind, items } = body;
  if (typeof kind !== 'string' || kind === '' || kind === 'Status') return lost('the answer to a list is no list');
  // Aggregated APIs write an empty list as null; an answer without the field is no list.
  if (!Array.isArray(items) && items !== null) return lost('a list has no items');
  if (positionOf(body) === undefined) return lost('a list has no resourceVersion');
  const next = textOf(metadataOf(body).continue);
  if (next !== '' && next === token) return lost('a list continues where it was');
  if (following.list === undefined) beginList(following);
  for (const item of items ?? []) {
    const failure = takeObject(following, objectOf(item));
    if (failure !== undefined) return failure;
  }
  return next;
}
