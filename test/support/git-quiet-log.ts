import type { Log, LogData } from '../../src/ports/log.ts';

/** A log that keeps its lines. */
export interface KeptLog extends Log {
  readonly lines: readonly { readonly level: string; readonly message: string; readonly data: LogData }[];
}

/** Creates the log; children write to the same lines. */
export function createKeptLog(): KeptLog {
  const lines: { level: string; message: string; data: LogData }[] = [];
  const make = (base: LogData): KeptLog => {
    const write =
      (level: string) =>
      (message: string, data: LogData = {}): void => {
        lines.push({ level, message, data: { ...base, ...data } });
      };
    return {
      lines,
      debug: write('debug'),
      info: write('info'),
      warn: write('warn'),
      error: write('error'),
      child: (data) => make({ ...base, ...data }),
    };
  };
  return make({});
}
