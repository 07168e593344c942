import { destination, type Logger, pino, stdTimeFunctions } from 'pino';
import type { Log, LogData } from '../../ports/log.ts';
import { redactData, redactText } from './redact.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** How a log is written. */
export interface PinoLogOptions {
  /** Lines below it are dropped before anything is formatted. Default `info`. */
  readonly level?: LogLevel;
  /** Takes one finished line, with its line end. Default: standard error, written at once. */
  readonly write?: (line: string) => void;
}

/** JSON lines with time, level and message; secret fields and credentials in texts are masked at any depth. */
export function createPinoLog(options: PinoLogOptions = {}): Log {
  const { write } = options;
  // Synchronous: the last lines before an exit are the ones that somebody will look for.
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
  return {
    debug: line('debug'),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    child: (data) => wrap(logger.child(dataOf(data))),
  };

  function line(level: 'debug' | 'info' | 'warn' | 'error'): (message: string, data?: LogData) => void {
    return (message, data) => {
      if (!logger.isLevelEnabled(level)) return;
      logger[level](data === undefined ? {} : dataOf(data), redactText(message));
    };
  }
}

/** The log's own keys. A line that has one of them twice loses the first to most readers. */
const RESERVED = ['level', 'time', 'message'];

function dataOf(data: LogData): LogData {
  const redacted = redactData(data) as LogData;
  if (!RESERVED.some((key) => key in redacted)) return redacted;
  return Object.fromEntries(
    Object.entries(redacted).map(([key, value]) => [RESERVED.includes(key) ? `${key}_` : key, value]),
  );
}
