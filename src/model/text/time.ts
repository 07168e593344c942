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

/** A duration in milliseconds for people, in at most two units, as kubectl writes an age: `118s`, `5m30s`, `3d4h`, `2y41d`. */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const [minutes, hours, days] = [Math.floor(seconds / 60), Math.floor(seconds / 3600), Math.floor(seconds / 86_400)];
  const years = Math.floor(days / 365);
  const both = (large: string, small: number, unit: string): string =>
    small === 0 ? large : `${large}${small}${unit}`;
  if (minutes < 2) return `${seconds}s`;
  if (minutes < 10) return both(`${minutes}m`, seconds % 60, 's');
  if (hours < 3) return `${minutes}m`;
  if (hours < 8) return both(`${hours}h`, minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  if (days < 8) return both(`${days}d`, hours % 24, 'h');
  if (years < 2) return `${days}d`;
  return years < 8 ? both(`${years}y`, days % 365, 'd') : `${years}y`;
}

/** Formats a time in UTC and whole seconds as Go does: `2026-01-31 10:42:07 +0000 UTC`. Source: `time.Time.String`. */
export function goTime(milliseconds: number): string {
  return `${rfc3339(milliseconds).replace('T', ' ').replace('Z', '')} +0000 UTC`;
}
