/**
 * Structured log. `message` is a constant text, so that lines can be grouped; variable parts are in `data`. Callers pass no
 * secret; adapters redact known fields as a last defence.
 */
export interface Log {
  debug(message: string, data?: LogData): void;
  info(message: string, data?: LogData): void;
  warn(message: string, data?: LogData): void;
  error(message: string, data?: LogData): void;
  /** Returns a log that adds `data` to each line. */
  child(data: LogData): Log;
}
export type LogData = Readonly<Record<string, unknown>>;
