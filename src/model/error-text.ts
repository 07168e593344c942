/** What was thrown, in words; for a message or a log line. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
