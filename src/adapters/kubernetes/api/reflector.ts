import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import type { Random } from '../../../ports/random.ts';
import { type FollowEnd, follow } from './follow.ts';
import { createKindState } from './kind-state.ts';
import { BOOKMARK_SILENCE_MS, GOOD_WATCH_MS, WATCH_GRACE_MS } from './limits.ts';
import { listPages, newestVersion } from './list-pages.ts';
import { createPauses } from './pauses.ts';
import { isOlder } from './reflected-object.ts';
import { guardListener, type Reflecting, type Trouble } from './reflecting.ts';
import type { KubeClient, Reflector, ReflectorListener, ReflectorOptions } from './types.ts';

export interface ReflectorDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const PAGE_SIZE = 500;
const LARGEST_PAGE = 10_000;
const WATCH_SECONDS = [240, 480] as const;

/**
 * Follows a kind: lists it, watches it, and begins again where that broke off, or with a list where the server no longer
 * knows the place. Reflectors of one client know nothing of each other.
 */
export function createReflector(
  deps: ReflectorDeps,
  options: ReflectorOptions,
  listener: ReflectorListener,
): Reflector {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  return {
    start() {
      running ??= reflect(deps, options, listener, stopping.signal);
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** What is remembered from one round to the next. */
interface Place {
  /** A whole list has been told, and everything up to here. */
  position: string | undefined;
  /** The connection broke: the server may be another one, or have come back from a backup. */
  doubted: boolean;
  stream: boolean;
  pageSize: number;
  bookmarks: boolean;
}

async function reflect(
  { client, clock, random, log: root }: ReflectorDeps,
  options: ReflectorOptions,
  listener: ReflectorListener,
  signal: AbortSignal,
): Promise<void> {
  const { kind, group } = options.resource;
  const log = root.child({ kind, group });
  const reflecting: Reflecting = { client, clock, options, listener: guardListener(listener, log), signal };
  const state = createKindState(clock, log, reflecting.listener);
  const pauses = createPauses(random);
  const [shortest, longest] = options.watchSeconds ?? WATCH_SECONDS;
  const place: Place = {
    position: undefined,
    doubted: false,
    stream: true,
    pageSize: options.pageSize ?? PAGE_SIZE,
    bookmarks: false,
  };
  while (!signal.aborted) {
    const timeoutSeconds = Math.round(shortest + (longest - shortest) * random.next());
    const round = await takeRound(reflecting, place, timeoutSeconds, state.complete);
    if (signal.aborted) return;
    if (round.trouble !== undefined && !state.trouble(round.trouble)) place.position = undefined;
    if (round.good) pauses.reset();
    if (round.atOnce) continue;
    await clock.sleep(pauses.next(round.trouble?.retryAfterMs), signal);
  }
}

/** How a list or a watch went. */
interface Round {
  readonly trouble: Trouble | undefined;
  /** It worked for a while: what went wrong before is over. */
  readonly good: boolean;
  /** The next one needs no pause. */
  readonly atOnce: boolean;
}

async function takeRound(
  reflecting: Reflecting,
  place: Place,
  timeoutSeconds: number,
  current: () => void,
): Promise<Round> {
  if (place.position === undefined && !place.stream) return await listRound(reflecting, place);
  if (place.position !== undefined && place.doubted) {
    const doubt = await settleDoubt(reflecting, place, place.position);
    if (doubt !== undefined) return doubt;
  }
  const silentMs = place.bookmarks ? BOOKMARK_SILENCE_MS : timeoutSeconds * 1_000 + WATCH_GRACE_MS;
  const end = await follow(reflecting, { from: place.position, timeoutSeconds, silentMs, current });
  return watchRound(place, end);
}

function watchRound(place: Place, { position, openMs, trouble, noStream, bookmarks }: FollowEnd): Round {
  place.position = position;
  place.doubted = trouble !== undefined;
  if (noStream) place.stream = false;
  if (bookmarks) place.bookmarks = true;
  const good = openMs >= GOOD_WATCH_MS && !noStream;
  return { trouble, good, atOnce: noStream || (good && trouble === undefined) };
}

async function listRound(reflecting: Reflecting, place: Place): Promise<Round> {
  const end = await listPages(reflecting, place.pageSize);
  if (end.type === 'whole') {
    place.position = end.resourceVersion;
    place.doubted = false;
    return { trouble: undefined, good: false, atOnce: true };
  }
  const { trouble } = end;
  if (trouble.tooLarge) place.pageSize = Math.max(1, Math.floor(place.pageSize / 4));
  else if (trouble.type === 'expired') place.pageSize = Math.min(place.pageSize * 4, LARGEST_PAGE);
  return { trouble, good: false, atOnce: false };
}

/**
 * A server that was restored from a backup takes a version of its lost future without a word, and then sends nothing
 * until it gets there. So its newest version is asked for before a watch goes on at a doubted place.
 */
async function settleDoubt(reflecting: Reflecting, place: Place, position: string): Promise<Round | undefined> {
  const newest = await newestVersion(reflecting);
  if (typeof newest !== 'string') {
    if (newest.type !== 'lost') place.position = undefined;
    return { trouble: newest, good: false, atOnce: false };
  }
  place.doubted = false;
  if (!isOlder(newest, position)) return undefined;
  place.position = undefined;
  return { trouble: undefined, good: false, atOnce: true };
}
