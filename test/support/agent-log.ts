import type { Log, LogData } from '../../src/ports/log.ts';

/** A log that keeps its lines as `level: message`, with the data beside them. */
export function createRecordingLog(): Log & { readonly lines: { readonly text: string; readonly data: LogData }[] } {
  const lines: { readonly text: string; readonly data: LogData }[] = [];
  const write =
    (level: string) =>
    (message: string, data: LogData = {}): void => {
      lines.push({ text: `${level}: ${message}`, data });
    };
  const log: Log = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: () => log,
  };
  return { ...log, lines };
}
