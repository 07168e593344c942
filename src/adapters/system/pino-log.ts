import { destination, type Logger, pino, stdTimeFunctions } from 'pino';
import type { Log, LogData } from '../../ports/log.ts';
import { redactData, redactText } from './redact.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface PinoLogOptions {
  /** Lines of a lower level are dropped before they are formatted. Default `info`. */
  readonly level?: LogLevel;
  /** Receives one complete line, with its line end. Default: standard error, written at once. */
  readonly write?: (line: string) => void;
}

/** Writes JSON lines with time, level and message; masks secret fields, and credentials in texts, at any depth. */
export function createPinoLog(options: PinoLogOptions = {}): Log {
  const { write } = options;
  // Synchronous, so that the last lines before an exit are written.
  const stream = write === undefined ? destination({ dest: 2, sync: true }) : { write };
  return wrap(
    pino(
      {
        level: options.level ?? 'info',
        base: null,
        messageKey: 'message',
        timestamp: stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
      },
      stream,
    ),
  );
}

function wrap(logger: Logger): Log {
  const line =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, data: LogData = {}): void => {
      if (logger.isLevelEnabled(level)) logger[level](dataOf(data), redactText(message));
    };
  return {
    debug: line('debug'),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    child: (data) => wrap(logger.child(dataOf(data))),
  };
}

/** Keys of each line. Most readers drop the first of two members with one key. */
const RESERVED = ['level', 'time', 'message'];

/** Redacts the data, and appends `_` to the reserved keys. */
function dataOf(data: LogData): LogData {
  const redacted = redactData(data) as LogData;
  if (!RESERVED.some((key) => key in redacted)) return redacted;
  return Object.fromEntries(
    Object.entries(redacted).map(([key, value]) => [RESERVED.includes(key) ? `${key}_` : key, value]),
  );
}
