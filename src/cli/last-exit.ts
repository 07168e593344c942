import { EXIT, type ExitCode } from './exit-codes.ts';

/** Time for which something that was left open may hold a process that has nothing more to say. */
const LINGER_MS = 3_000;

/**
 * Ends this process, with the code, if something that was left open keeps it from ending by itself, and says what that is. A process
 * that would have ended well ends with the code for a bug.
 */
export function endIfHeld(code: ExitCode): void {
  setTimeout(() => {
    // A slow reader of the output is no reason to end.
    if (process.stdout.writableLength + process.stderr.writableLength > 0) return endIfHeld(code);
    endHeld('has ended, but is held', code === EXIT.ok ? EXIT.internal : code);
  }, LINGER_MS).unref();
}

/** Says what holds this process, and ends it with the code. */
export function endHeld(how: string, code: ExitCode): never {
  process.stderr.write(`fleetrelay: ${how} by ${holders().join(', ')}; the process ends now\n`);
  return exitNow(code);
}

/**
 * Ends this process at once. A call of the file system that does not return, such as a read of a pipe without a writer, would hold
 * the end: then SIGKILL is the only way, and the code is lost.
 */
export function exitNow(code: ExitCode): never {
  if (holders().some((name) => name.includes('FSReq'))) process.kill(process.pid, 'SIGKILL');
  process.exit(code);
}

/** What keeps the event loop alive, each kind with its number. */
function holders(): readonly string[] {
  const kinds = Map.groupBy(process.getActiveResourcesInfo(), (name) => name);
  return [...kinds].map(([name, all]) => `${all.length} ${name}`);
}
