import { MOST_LISTED } from '../../engine/status/listed.ts';
import type { Diagnostic } from '../../model/fleet/diagnostic.ts';
import type { ServerCore } from '../core.ts';
import { createSingleFlight } from '../single-flight.ts';
import { type Locator, locatedDiagnostics } from './locator.ts';

/** Pause between a commit and the diagnostics of it. */
const DIAGNOSE_MS = 100;

/** Returns the engine's diagnostics with their lines. They are computed again shortly after a commit. */
export function followDiagnostics(
  { engine, loop, clock, log }: Pick<ServerCore, 'engine' | 'loop' | 'clock' | 'log'>,
  locator: Locator,
): () => readonly Diagnostic[] {
  let latest: readonly Diagnostic[] = [];
  const task = createSingleFlight({ clock, log }, 'computing diagnostics', async () => {
    await clock.sleep(DIAGNOSE_MS);
    latest = await locatedDiagnostics(engine, locator, undefined, MOST_LISTED);
    return false;
  });
  loop.addSink('readers', task.wake);
  return () => latest;
}
