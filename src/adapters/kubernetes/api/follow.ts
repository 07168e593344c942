import { type JsonObject, objectOf } from '../../../model/json.ts';
import type { Clock } from '../../../ports/clock.ts';
import { MAX_LIST_OBJECTS, STREAM_MS, STREAM_SILENCE_MS } from './limits.ts';
import { isOlder, positionOf, readReflected } from './reflected-object.ts';
import { followed, lost, type Reflecting, type Trouble, troubleOf } from './reflecting.ts';
import type { WatchEnd, WatchEvent } from './types.ts';

export interface FollowOptions {
  /** Undefined: the watch begins with a list as a stream, where the server can do it. */
  readonly from: string | undefined;
  readonly timeoutSeconds: number;
  readonly silentMs: number;
  /** A whole list has been told, and the server sends what changes from now on. */
  readonly current: () => void;
}

/** How a watch came out. */
export interface FollowEnd {
  /** Where the next one begins; undefined: with a list. */
  readonly position: string | undefined;
  /** How long it was open, in milliseconds. */
  readonly openMs: number;
  /** Undefined: the server ended it in order. */
  readonly trouble: Trouble | undefined;
  /** The server does not know lists as streams. */
  readonly noStream: boolean;
  /** It sends bookmarks by itself. */
  readonly bookmarks: boolean;
}

interface Seen {
  listing: boolean;
  objects: number;
  position: string | undefined;
  bookmarks: boolean;
  noStream: boolean;
  /** What was wrong with an event. */
  trouble: Trouble | undefined;
}

const LIST_END = 'k8s.io/initial-events-end';

/** Follows the objects until the watch ends. */
export async function follow(reflecting: Reflecting, options: FollowOptions): Promise<FollowEnd> {
  const { client, clock, listener, signal } = reflecting;
  const seen: Seen = {
    listing: options.from === undefined,
    objects: 0,
    position: options.from,
    bookmarks: false,
    noStream: false,
    trouble: undefined,
  };
  const ending = new AbortController();
  const patience = createPatience(clock, () => {
    seen.noStream = true;
    ending.abort();
  });
  let openedAt: number | undefined;

  function opened(): void {
    openedAt = clock.monotonic();
    if (seen.listing) {
      patience.begin();
      listener.listing();
    } else options.current();
  }
  function take(event: WatchEvent): void {
    if (ending.signal.aborted) return;
    const { listing } = seen;
    seen.trouble = takeEvent(reflecting, event, seen);
    if (seen.trouble !== undefined) ending.abort();
    else if (seen.listing) patience.heard();
    else if (listing) {
      patience.end();
      options.current();
    }
  }

  const asked = watchRequest(reflecting, options);
  const end = await client.watch({ ...asked, signal: AbortSignal.any([signal, ending.signal]), opened }, take);
  patience.end();
  if (seen.listing && openedAt !== undefined) listener.listFailed();
  const openMs = openedAt === undefined ? 0 : clock.monotonic() - openedAt;
  return { openMs, bookmarks: seen.bookmarks, ...conclude(seen, end) };
}

function watchRequest({ options }: Reflecting, { from, timeoutSeconds, silentMs }: FollowOptions) {
  const { path, query } = followed(options);
  const start: Readonly<Record<string, string>> =
    from === undefined
      ? { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' }
      : { resourceVersion: from };
  return {
    path,
    query: { ...query, watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds: String(timeoutSeconds), ...start },
    silentMs,
  };
}

function conclude(seen: Seen, end: WatchEnd): Pick<FollowEnd, 'position' | 'trouble' | 'noStream'> {
  const position = seen.listing ? undefined : seen.position;
  if (seen.noStream) return { position, trouble: undefined, noStream: true };
  if (seen.trouble !== undefined) return { position: undefined, trouble: seen.trouble, noStream: false };
  switch (end.type) {
    case 'closed': {
      const trouble = seen.listing ? lost('the stream of a list ended before the list did') : undefined;
      return { position, trouble, noStream: false };
    }
    case 'broken':
      return { position, trouble: lost(end.message), noStream: false };
    case 'refused': {
      if (seen.listing && (end.status === 400 || end.status === 422)) {
        return { position, trouble: undefined, noStream: true };
      }
      const trouble = troubleOf(end.status, end.refusal);
      return { position: trouble.type === 'lost' ? position : undefined, trouble, noStream: false };
    }
  }
}

/** Hands out what an event says; why the watch cannot go on, if it cannot. */
function takeEvent(reflecting: Reflecting, event: WatchEvent, seen: Seen): Trouble | undefined {
  switch (event.type) {
    case 'ERROR':
      return troubleOf(event.status, event.refusal);
    case 'BOOKMARK':
      return takeBookmark(reflecting, event.object, seen);
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED': {
      const read = readReflected(event.object, reflecting.options);
      if (!read.ok) return lost(read.problem);
      seen.objects += 1;
      const trouble = seen.listing ? tooMany(seen) : moveTo(read.value.resourceVersion, seen);
      if (trouble !== undefined) return trouble;
      if (event.type === 'DELETED') reflecting.listener.removed(read.value.object);
      else reflecting.listener.upsert(read.value.object);
      return undefined;
    }
  }
}

function takeBookmark({ listener }: Reflecting, object: JsonObject, seen: Seen): Trouble | undefined {
  const position = positionOf(object);
  if (position === undefined) return lost('a bookmark has no resourceVersion');
  if (!seen.listing) {
    seen.bookmarks = true;
    return moveTo(position, seen);
  }
  if (objectOf(objectOf(object.metadata).annotations)[LIST_END] !== 'true') return undefined;
  seen.listing = false;
  seen.position = position;
  listener.listed(position);
  return undefined;
}

/** Versions of one watch never go back: a server that does so has lost its place, and then so have we. */
function moveTo(position: string, seen: Seen): Trouble | undefined {
  if (seen.position !== undefined && isOlder(position, seen.position)) {
    return lost(`a watch went back from version ${seen.position} to ${position.slice(0, 40)}`);
  }
  seen.position = position;
  return undefined;
}

function tooMany({ objects }: Seen): Trouble | undefined {
  return objects > MAX_LIST_OBJECTS ? lost(`a list has more than ${MAX_LIST_OBJECTS} objects`) : undefined;
}

/** A server that does not know lists as streams may begin a plain watch instead, and never say that the list has ended. */
function createPatience(clock: Clock, gone: () => void): { begin(): void; heard(): void; end(): void } {
  let until = 0;
  let lastHeard = 0;
  let cancel: (() => void) | undefined;
  function look(): void {
    const left = Math.min(until, lastHeard + STREAM_SILENCE_MS) - clock.monotonic();
    if (left <= 0) gone();
    else cancel = clock.schedule(left, look);
  }
  function heard(): void {
    lastHeard = clock.monotonic();
  }
  return {
    begin() {
      heard();
      until = lastHeard + STREAM_MS;
      look();
    },
    heard,
    end: () => cancel?.(),
  };
}
