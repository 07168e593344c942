/** Is this an error of the system with one of these codes (`ENOENT`, ...)? */
export function isErrno(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code);
}

/** What the system said, for a message. */
export function systemReason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
