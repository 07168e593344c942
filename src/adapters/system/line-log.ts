import { writeSync } from 'node:fs';
import type { Log, LogData } from '../../ports/log.ts';
import { redactData, redactText } from './redact.ts';

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
type Level = (typeof LEVELS)[number];

/**
 * Writes the same JSON lines as `createPinoLog` to standard error, for a process that says little and for which the
 * library would be 3 MiB too many. Lines below `least` are dropped.
 */
export function createLineLog(least: Level, common: LogData = {}): Log {
  const line =
    (level: Level) =>
    (message: string, data: LogData = {}): void => {
      if (LEVELS.indexOf(level) < LEVELS.indexOf(least)) return;
      const rest = redactData({ ...common, ...data }) as LogData;
      const time = new Date().toISOString();
      writeLine(JSON.stringify({ level, time, ...rest, message: redactText(message) }));
    };
  return {
    debug: line('debug'),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    child: (data) => createLineLog(least, { ...common, ...data }),
  };
}

/** A line that cannot be written is dropped: a reader of the log that has ended or hangs must not end the process. */
function writeLine(line: string): void {
  try {
    writeSync(2, `${line}\n`);
  } catch {
    // There is no other place to report it.
  }
}
