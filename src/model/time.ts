/** 0000-01-01T00:00:00Z and 9999-12-31T23:59:59Z: the first and the last second that RFC 3339 can write. */
const FIRST_MS = -62_167_219_200_000;
const LAST_MS = 253_402_300_799_000;

/**
 * The nearest time that RFC 3339 can write, in milliseconds since 1970; NaN becomes 0. For untrusted times: a git commit may
 * have any number of seconds.
 */
export function writableTime(milliseconds: number): number {
  return Number.isNaN(milliseconds) ? 0 : Math.min(Math.max(milliseconds, FIRST_MS), LAST_MS);
}

/** Formats a time in UTC and whole seconds, as 2026-01-31T10:42:07Z. Never throws: see {@link writableTime}. */
export function rfc3339(milliseconds: number): string {
  return `${new Date(writableTime(milliseconds)).toISOString().slice(0, 19)}Z`;
}

/** Seconds and a zone are required: without a zone the moment is ambiguous. */
const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/** Parses an RFC 3339 time with seconds and a zone to milliseconds since 1970; undefined if the text is none. */
export function parseRfc3339(text: string): number | undefined {
  const milliseconds = RFC_3339.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}
