import { createPinoLog } from '../adapters/system/pino-log.ts';
import { textLines } from '../adapters/system/text-lines.ts';
import type { Log } from '../ports/log.ts';
import type { LogFormat, LogLevel, RunIo } from './options.ts';

/** Whether the log of a process is text for a person: as it was asked for, else on a terminal. */
export function isTextLog({ logFormat = 'auto' }: { readonly logFormat?: LogFormat | undefined }, io: RunIo): boolean {
  return logFormat === 'auto' ? io.isTerminal === true : logFormat === 'text';
}

/** The log of a server or an agent, on standard error. */
export function createProcessLog(
  options: { readonly logLevel: LogLevel; readonly logFormat?: LogFormat | undefined },
  io: RunIo,
): Log {
  const { logLevel: level } = options;
  if (!isTextLog(options, io)) return createPinoLog({ level });
  return createPinoLog({ level, write: textLines(io.err, { colour: io.isTerminal === true && io.colour }) });
}
