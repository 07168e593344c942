/**
 * Bounds for the answers of one API server. Sizes in bytes, times in milliseconds. etcd holds objects of at most 1.5 MiB, so
 * no valid answer comes near the sizes.
 */

/** Largest body of an answer: a page of a list, an object, API discovery. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;
/** Largest event of a watch. */
export const MAX_EVENT_BYTES = 16 * 1024 * 1024;
/** Most objects of one list. */
export const MAX_LIST_OBJECTS = 1_000_000;
/** Most pages of one list. */
export const MAX_LIST_PAGES = 10_000;
/** Longest duration of a list in pages. */
export const LIST_MS = 10 * 60_000;

/** Default time limit of a request. */
export const REQUEST_MS = 30_000;
/** Time limit of the answer to a watch request. */
export const WATCH_OPEN_MS = 30_000;
/** How often a 429 is tried again, and the longest wait before each. */
export const THROTTLED_RETRIES = 4;
export const THROTTLED_LONGEST_MS = 30_000;
/** Credentials are read again after this time: tokens in files are replaced while a process runs. */
export const CREDENTIALS_MS = 10_000;
/** An idle connection is closed before a server or a balancer closes it, which would break the next request. */
export const IDLE_CONNECTION_MS = 30_000;
/** Interval of TCP keep-alive probes, which notice a host that is gone. */
export const TCP_KEEP_ALIVE_MS = 30_000;

/** Time limit of one page of a list. */
export const PAGE_MS = 60_000;
/** A list as a stream: longest silence and longest duration. After that it is requested in pages. */
export const STREAM_SILENCE_MS = 10_000;
export const STREAM_MS = 60_000;
/** How much longer than its own time limit a watch may be silent. */
export const WATCH_GRACE_MS = 30_000;
/** Longest silence of a watch on a server that sends bookmarks: the first comes after up to two minutes, then one each minute. */
export const BOOKMARK_SILENCE_MS = 240_000;
/** After a watch that was open for this long the back-off starts over. */
export const GOOD_WATCH_MS = 10_000;
/** A kind whose server does not answer for this long is unknown. */
export const UNKNOWN_AFTER_MS = 60_000;
