import type { Engine } from '../engine/graph.ts';
import type { Clock } from '../ports/clock.ts';

/**
 * Stages when the safe start window of this process began: when it let agents in, because no agent could connect before.
 * The engine emits the end of the window as a deadline. Each of several replicas has its own window and judges the end by
 * its own clock: a process that has just started knows of the clusters only what the store holds and what agents report,
 * and the store may lack what older replicas have in memory. The end is not written to the store, so the next process
 * starts a new window. Runs after each commit; returns true if it has staged something.
 */
export function createSafeStart(deps: {
  readonly engine: Pick<Engine, 'inputs'>;
  readonly mayStart: () => boolean;
  readonly clock: Clock;
}): () => boolean {
  const { engine, mayStart, clock } = deps;
  const { safeStart } = engine.inputs;
  return () => {
    if (safeStart.get('', '') !== undefined || !mayStart()) return false;
    // The next whole second: the window is never shorter than the policy says.
    safeStart.set('', '', Math.ceil(clock.now() / 1000));
    return true;
  };
}
