import { backOffMs } from '../../../model/limits/back-off.ts';
import { annotationOf } from '../../../model/objects/object-key.ts';
import { isOlderVersion } from '../../../model/objects/resource-version.ts';
import type { JsonObject } from '../../../model/text/json.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Random } from '../../../ports/random.ts';
import {
  beginList,
  endList,
  type Failure,
  type Following,
  failureOf,
  listPages,
  lost,
  moveTo,
  newestVersion,
  positionOf,
  requestOf,
  takeObject,
} from './kind-list.ts';
import {
  BOOKMARK_SILENCE_MS,
  GOOD_WATCH_MS,
  STREAM_MS,
  STREAM_SILENCE_MS,
  UNKNOWN_AFTER_MS,
  WATCH_GRACE_MS,
} from './limits.ts';
import { METADATA_OF_EVENTS } from './metadata-only.ts';
import type { FollowerDeps, FollowOptions, KindListener, WatchEnd, WatchEvent } from './types.ts';

/** Follows all objects of one kind. */
export interface KindFollower {
  start(): void;
  stop(): Promise<void>;
}

const PAGE_SIZE = 500;
const LARGEST_PAGE = 10_000;
const WATCH_SECONDS = [240, 480] as const;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** A server can ask for a longer pause, but not for any length. */
const LONGEST_ASKED_MS = 120_000;

/**
 * Follows a kind: lists it, watches it, resumes the watch where it ended, and lists again where the server no longer knows
 * that resourceVersion. Followers of one client are independent of each other.
 */
export function createKindFollower(deps: FollowerDeps, options: FollowOptions, listener: KindListener): KindFollower {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  return {
    start() {
      running ??= follow(deps, options, listener, stopping.signal);
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** What this follower has learned of its server. */
interface Learned {
  /** It may not know the position any more: the connection broke, and it can have been restored from a backup. */
  isDoubted: boolean;
  /** It sends lists as streams of watch events. */
  streams: boolean;
  bookmarks: boolean;
  pageSize: number;
}

async function follow(
  deps: FollowerDeps,
  options: FollowOptions,
  listener: KindListener,
  signal: AbortSignal,
): Promise<void> {
  const { kind, group } = options.resource;
  const { clock, random } = deps;
  const log = deps.log.child({ kind, group });
  const following: Following = {
    deps: { ...deps, log },
    options,
    listener,
    signal,
    list: undefined,
    position: undefined,
  };
  const state = createState(following);
  const { pageSize = PAGE_SIZE, watchSeconds: [shortest, longest] = WATCH_SECONDS } = options;
  const learned: Learned = { isDoubted: false, streams: true, bookmarks: false, pageSize };
  let failures = 0;
  while (!signal.aborted) {
    const seconds = Math.round(shortest + (longest - shortest) * random.next());
    const round = await takeRound(following, learned, seconds, state.complete);
    if (signal.aborted) return;
    if (round.failure !== undefined) state.failed(round.failure);
    if (round.isGood) failures = 0;
    if (round.isNextDue) continue;
    await clock.sleep(pauseMs(failures, random, round.failure?.retryAfterMs), signal);
    failures += 1;
  }
}

/** At least half of the pause is always waited; the rest is random, so that kinds do not retry at the same time. */
function pauseMs(failures: number, random: Random, askedMs = 0): number {
  const longest = Math.max(
    backOffMs(failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS),
    2 * Math.min(askedMs, LONGEST_ASKED_MS),
  );
  return Math.round(longest * (0.5 + 0.5 * random.next()));
}

/** Reports whether the kind is complete or unknown, when that changes. */
function createState(following: Following) {
  const { listener } = following;
  const { clock, log } = following.deps;
  let reported: { readonly state: 'complete' | 'unknown'; readonly message: string } | undefined;
  let failingSince: number | undefined;

  function report(state: 'complete' | 'unknown', message: string, isForbidden = false): void {
    if (reported?.state === state && reported.message === message) return;
    if (state === 'unknown') log.warn('a kind cannot be followed', { message });
    else if (reported !== undefined) log.info('a kind can be followed again');
    reported = { state, message };
    try {
      listener.state?.(state, message, isForbidden);
    } catch (error) {
      log.error('a listener of a watch failed', { error });
    }
  }

  return {
    /** The listener has a complete list, and the watch of what changes is open. */
    complete(): void {
      failingSince = undefined;
      report('complete', '');
    },
    /** A list or a watch failed. A complete kind becomes unknown if it is refused, or if it has failed for a minute. */
    failed({ type, message, forbidden }: Failure): void {
      log.debug('a list or watch broke off', { message });
      failingSince ??= clock.monotonic();
      const isLong = clock.monotonic() - failingSince >= UNKNOWN_AFTER_MS;
      if (reported?.state === 'complete' && type !== 'refused' && !isLong) return;
      report('unknown', message, forbidden);
      following.position = undefined;
    },
  };
}

/** The result of one list or one watch. */
interface Round {
  readonly failure: Failure | undefined;
  /** The watch was open for a while: the pauses start over. */
  readonly isGood: boolean;
  /** The next round begins without a pause. */
  readonly isNextDue: boolean;
}

async function takeRound(following: Following, learned: Learned, seconds: number, current: () => void): Promise<Round> {
  const { position } = following;
  if (position === undefined && !learned.streams) return await listRound(following, learned);
  if (position !== undefined && learned.isDoubted) {
    const round = await checkPosition(following, learned, position);
    if (round !== undefined) return round;
  }
  return await watchRound(following, learned, seconds, current);
}

async function listRound(following: Following, learned: Learned): Promise<Round> {
  const failure = await listPages(following, learned.pageSize);
  if (failure === undefined) learned.isDoubted = false;
  else if (failure.tooLarge) learned.pageSize = Math.max(1, Math.floor(learned.pageSize / 4));
  else if (failure.type === 'expired') learned.pageSize = Math.min(learned.pageSize * 4, LARGEST_PAGE);
  return { failure, isGood: false, isNextDue: failure === undefined };
}

/**
 * Checks that the server has reached the position. A server that was restored from a backup accepts a resourceVersion that
 * it lost, and then sends nothing until it has counted up to it.
 */
async function checkPosition(following: Following, learned: Learned, position: string): Promise<Round | undefined> {
  const newest = await newestVersion(following);
  if (typeof newest !== 'string') {
    if (newest.type !== 'lost') following.position = undefined;
    return { failure: newest, isGood: false, isNextDue: false };
  }
  learned.isDoubted = false;
  if (!isOlderVersion(newest, position)) return undefined;
  following.position = undefined;
  return { failure: undefined, isGood: false, isNextDue: true };
}

const LIST_END = 'k8s.io/initial-events-end';

/** Watches until the server ends the watch. Without a position the watch begins with a list as a stream. */
async function watchRound(
  following: Following,
  learned: Learned,
  seconds: number,
  current: () => void,
): Promise<Round> {
  const { client, clock } = following.deps;
  const ending = new AbortController();
  const isListing = (): boolean => following.position === undefined;
  let failure: Failure | undefined;
  let openedAt: number | undefined;
  let hasNoStream = false;
  const patience = createPatience(clock, () => {
    hasNoStream = true;
    ending.abort();
  });

  function opened(): void {
    openedAt = clock.monotonic();
    if (!isListing()) {
      current();
      return;
    }
    patience.begin();
    beginList(following);
  }
  function take(event: WatchEvent): void {
    if (ending.signal.aborted) return;
    const wasListing = isListing();
    failure = takeEvent(following, event);
    if (failure !== undefined) ending.abort();
    else if (isListing()) patience.received();
    else if (wasListing) {
      patience.end();
      current();
    } else if (event.type === 'BOOKMARK') learned.bookmarks = true;
  }

  const signal = AbortSignal.any([following.signal, ending.signal]);
  const end = await client.watch({ ...watchRequest(following, learned, seconds), signal, opened }, take);
  patience.end();
  const wasListing = isListing();
  endList(following, false);
  if (end.type === 'refused' && wasListing && (end.status === 400 || end.status === 422)) hasNoStream = true;
  if (hasNoStream) {
    learned.streams = false;
    return { failure: undefined, isGood: false, isNextDue: true };
  }
  const isBadEvent = failure !== undefined;
  failure ??= failureOfEnd(end, wasListing);
  // The server no longer knows the position, or cannot be trusted with it.
  if (isBadEvent || (failure !== undefined && failure.type !== 'lost')) following.position = undefined;
  learned.isDoubted = failure !== undefined;
  const isGood = openedAt !== undefined && clock.monotonic() - openedAt >= GOOD_WATCH_MS;
  return { failure, isGood, isNextDue: isGood && failure === undefined };
}

function watchRequest({ options, position }: Following, { bookmarks }: Learned, seconds: number) {
  const { path, query } = requestOf(options);
  const start: Readonly<Record<string, string>> =
    position === undefined
      ? { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' }
      : { resourceVersion: position };
  return {
    path,
    query: { ...query, watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds: String(seconds), ...start },
    ...(options.metadataOnly ? { accept: METADATA_OF_EVENTS } : {}),
    silentMs: bookmarks ? BOOKMARK_SILENCE_MS : seconds * 1_000 + WATCH_GRACE_MS,
  };
}

function failureOfEnd(end: WatchEnd, wasListing: boolean): Failure | undefined {
  switch (end.type) {
    case 'closed':
      return wasListing ? lost('the stream of a list ended before the list did') : undefined;
    case 'broken':
      return lost(end.message);
    case 'refused':
      return failureOf(end.status, end.refusal);
  }
}

/** Hands an event to the listener. Returns why the watch cannot go on. */
function takeEvent(following: Following, event: WatchEvent): Failure | undefined {
  switch (event.type) {
    case 'ERROR':
      return failureOf(event.status, event.refusal);
    case 'BOOKMARK':
      return takeBookmark(following, event.object);
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return takeObject(following, event.object, event.type === 'DELETED');
  }
}

function takeBookmark(following: Following, object: JsonObject): Failure | undefined {
  const position = positionOf(object);
  if (position === undefined) return lost('a bookmark has no resourceVersion');
  if (following.list === undefined) return moveTo(following, position);
  if (annotationOf(object, LIST_END) !== 'true') return undefined;
  following.position = position;
  endList(following, true);
  return undefined;
}

/**
 * Bounds a list as a stream: its silence and its whole duration. A server that does not know lists as streams can begin a
 * plain watch instead, which never reports the end of the list.
 */
function createPatience(clock: Clock, runOut: () => void) {
  let until = 0;
  let receivedAt = 0;
  let cancel: (() => void) | undefined;
  function check(): void {
    const left = Math.min(until, receivedAt + STREAM_SILENCE_MS) - clock.monotonic();
    if (left <= 0) runOut();
    else cancel = clock.schedule(left, check);
  }
  return {
    begin(): void {
      receivedAt = clock.monotonic();
      until = receivedAt + STREAM_MS;
      check();
    },
    received(): void {
      receivedAt = clock.monotonic();
    },
    end: () => cancel?.(),
  };
}
