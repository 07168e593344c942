import type { Engine } from '../engine/graph.ts';
import { safeModeStatus } from '../engine/status/rollout.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';

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

/** Says once when safe mode begins to wait for a cluster, and once when it no longer does. Runs after each commit. */
export function createSafeModeLog(deps: {
  readonly engine: Engine;
  readonly mayStart: () => boolean;
  readonly log: Log;
}): () => void {
  const { engine, mayStart, log } = deps;
  const unseen = engine.graph.watch(engine.safeMode.unseen);
  const mode = engine.graph.watch(engine.safeMode.mode);
  let known: ReadonlyMap<string, string> = new Map();
  let isNew = true;

  return () => {
    const moved = unseen.take().length + mode.take().length > 0;
    // Before agents are let in everybody is missing, and nothing is sent anyway.
    if ((!moved && !isNew) || !mayStart()) {
      isNew ||= moved;
      return;
    }
    isNew = false;
    const status = safeModeStatus(engine);
    const now = new Map(status?.causes.map(({ cluster, reason }) => [cluster, reason]));
    for (const { cluster, reason, message } of status?.causes ?? []) {
      if (known.get(cluster) === reason) continue;
      log.warn('safe mode waits for a cluster', { cluster, mode: status?.mode, reason, detail: message });
    }
    for (const cluster of known.keys()) {
      if (!now.has(cluster)) log.info('safe mode no longer waits for a cluster', { cluster });
    }
    known = now;
  };
}
