import type { Parts, ReplicaDeps } from './replica-parts.ts';

/** How often all is looked at that the store tells changes of: word of a change may be lost. */
const SWEEP_MS = 120_000;

/** Looks now and then at what others keep in the store. The result ends that. */
export function startSweeping(
  { clock, sessions }: ReplicaDeps,
  { claims, elapsed, mirror, verdicts }: Parts,
): () => void {
  const sweep = (): void => {
    cancel = clock.schedule(SWEEP_MS, sweep);
    claims.wake();
    mirror.wake();
    elapsed.wake();
    for (const cluster of sessions.keys()) verdicts.wake(cluster);
  };
  let cancel = clock.schedule(SWEEP_MS, sweep);
  return () => cancel();
}
