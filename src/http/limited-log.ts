import { createLineLimit, type Rate } from '../model/limits/rate-limit.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log, LogData } from '../ports/log.ts';

/** Lines of one text that strangers cause: enough to see what goes on, and little on a disk. */
const STRANGERS: Rate = { burst: 20, perSecond: 1 / 6 };

/**
 * A log for lines that callers cause before they are known: each text is written at this rate at most. The next line of a
 * text says how many were left out (`leftOut`).
 */
export function createLimitedLog(log: Log, { monotonic }: Pick<Clock, 'monotonic'>, rate: Rate = STRANGERS): Log {
  const isLineDue = createLineLimit(monotonic, rate);
  const limited = (write: (message: string, data: LogData) => void) => (message: string, data?: LogData) => {
    const due = isLineDue(message);
    if (due !== undefined) write(message, { ...data, ...due });
  };
  return {
    debug: limited(log.debug),
    info: limited(log.info),
    warn: limited(log.warn),
    error: limited(log.error),
    child: (data) => createLimitedLog(log.child(data), { monotonic }, rate),
  };
}
