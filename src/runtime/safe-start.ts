import type { Engine } from '../engine/graph.ts';
import type { Clock } from '../ports/clock.ts';

/**
 * Stages when the safe start window of this process began: when it let agents in, since before that none could have come.
 * Its end is a deadline of the engine. Each of several replicas has a window of its own and judges its end by its own
 * clock: what a process that has just started knows of the clusters is what the store has and what agents tell it, and the
 * store may have lost what older replicas still remember. Nothing of it is remembered either: the next process has a
 * window of its own again. Is called after each commit; returns true if it has staged something.
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
