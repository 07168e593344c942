import type { Log, LogData } from '../../../src/ports/log.ts';

/** A line of a process's log; levels below `info` are not kept. */
export interface LogLine {
  readonly process: string;
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly data: LogData;
}

/** A log that hands its lines to the world. */
export function createSimLog(process: string, take: (line: LogLine) => void): Log {
  const write =
    (level: LogLine['level']) =>
    (message: string, data: LogData = {}): void =>
      take({ process, level, message, data: 'error' in data ? { ...data, error: String(data.error) } : data });
  const log: Log = {
    debug: () => undefined,
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: () => log,
  };
  return log;
}
