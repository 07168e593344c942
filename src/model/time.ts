/** 0000-01-01T00:00:00Z and 9999-12-31T23:59:59Z: the first and the last second that RFC 3339 can write. */
const FIRST_MS = -62_167_219_200_000;
const LAST_MS = 253_402_300_799_000;

/**
 * The nearest time that RFC 3339 can write. For times that others state (a commit's): git takes any count of seconds.
 * Milliseconds since 1970; what is no number counts as 0.
 */
export function writableTime(milliseconds: number): number {
  return Number.isNaN(milliseconds) ? 0 : Math.min(Math.max(milliseconds, FIRST_MS), LAST_MS);
}

/** Whole seconds, UTC: 2026-01-31T10:42:07Z. Never throws: a time that cannot be written becomes the nearest that can. */
export function rfc3339(milliseconds: number): string {
  return `${new Date(writableTime(milliseconds)).toISOString().slice(0, 19)}Z`;
}

/** With seconds and a zone; a date alone, or a time without a zone, would mean another moment elsewhere. */
const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/** The milliseconds since 1970 of an RFC 3339 time with seconds and a zone; undefined if the text is none. */
export function parseRfc3339(text: string): number | undefined {
  const milliseconds = RFC_3339.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}
