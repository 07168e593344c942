import type { Log } from '../../src/ports/log.ts';

/** A log that drops every line. */
export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLog,
};
