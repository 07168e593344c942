/**
 * Structured log. `message` is a constant text, so that lines can be grouped; what varies is in `data`.
 * Nothing secret goes in: adapters redact known fields as a last defence.
 */
export interface Log {
  debug(message: string, data?: LogData): void;
  info(message: string, data?: LogData): void;
  warn(message: string, data?: LogData): void;
  error(message: string, data?: LogData): void;
  /** A log that adds `data` to each line. */
  child(data: LogData): Log;
}
export type LogData = Readonly<Record<string, unknown>>;
