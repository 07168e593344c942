import { createRateLimit, type Rate } from '../model/rate-limit.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log, LogData } from '../ports/log.ts';

/** Lines of one text that strangers cause: enough to see what goes on, and little on a disk. */
const STRANGERS: Rate = { burst: 20, perSecond: 1 / 6 };

/**
 * A log for lines that callers cause before they are known: each text is written at this rate at most. The next line of a
 * text says how many were left out (`omitted`).
 */
export function createLimitedLog(log: Log, clock: Pick<Clock, 'monotonic'>, rate: Rate = STRANGERS): Log {
  const waitMs = createRateLimit(clock.monotonic, rate);
  const omitted = new Map<string, number>();
  const limited =
    (write: (message: string, data: LogData) => void) =>
    (message: string, data: LogData = {}) => {
      const before = omitted.get(message) ?? 0;
      if (waitMs(message) > 0) {
        omitted.set(message, before + 1);
        return;
      }
      omitted.delete(message);
      write(message, before === 0 ? data : { ...data, omitted: before });
    };
  return {
    debug: limited(log.debug),
    info: limited(log.info),
    warn: limited(log.warn),
    error: limited(log.error),
    child: (data) => createLimitedLog(log.child(data), clock, rate),
  };
}
