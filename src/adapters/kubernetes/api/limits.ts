/**
 * What one API server may cost us. Sizes in bytes, times in milliseconds. etcd holds objects of 1.5 MiB, so nothing true
 * comes near the sizes.
 */

/** Largest body of an answer: a page of a list, an object, API discovery. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;
/** Largest event of a watch. */
export const MAX_EVENT_BYTES = 16 * 1024 * 1024;
/** Most objects of one list. */
export const MAX_LIST_OBJECTS = 1_000_000;
/** Most pages of one list. */
export const MAX_LIST_PAGES = 10_000;
/** A list that takes longer is given up. */
export const LIST_MS = 10 * 60_000;

/** Of a request that names none. */
export const REQUEST_MS = 30_000;
/** A watch must be agreed to within this time. */
export const WATCH_OPEN_MS = 30_000;
/** How often a 429 is tried again, and the longest wait before each. */
export const THROTTLED_RETRIES = 4;
export const THROTTLED_LONGEST_MS = 30_000;
/** Credentials are read again after this time: tokens in files are replaced while a process runs. */
export const CREDENTIALS_MS = 10_000;
/** A connection that nobody uses is closed before a server or a balancer does it, in the middle of the next request. */
export const IDLE_CONNECTION_MS = 30_000;
/** Between two probes of TCP on a connection that is in use: a host that is gone is noticed. */
export const TCP_KEEP_ALIVE_MS = 30_000;

/** A request for a page of a list. */
export const PAGE_MS = 60_000;
/** A list as a stream: silence before its end, and the whole of it. After that it is asked for in pages. */
export const STREAM_SILENCE_MS = 10_000;
export const STREAM_MS = 60_000;
/** How much longer than it was asked to a watch may be silent. */
export const WATCH_GRACE_MS = 30_000;
/** Longest silence of a watch on a server that sends bookmarks: the first comes after up to two minutes, then one each minute. */
export const BOOKMARK_SILENCE_MS = 240_000;
/** A watch that lived this long was a good one: back-off starts over. */
export const GOOD_WATCH_MS = 10_000;
/** A kind whose server does not answer for this long is no longer known. */
export const UNKNOWN_AFTER_MS = 60_000;
