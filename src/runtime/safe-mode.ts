import { safeModeStatus } from '../engine/status/rollout.ts';
import type { ServerCore } from './core.ts';

/**
 * Stages the begin of this process's safe start window: the moment when it first admits agents. The engine emits the end of
 * the window as a deadline. Each replica has its own window and judges the end by its own clock: a process that has just
 * started knows only the state in the store and the reports of agents, and the store may lack state that older replicas have in
 * memory. The end is not written to the store, so the next process starts a new window. The returned function runs after each
 * commit; it returns true if it has staged a change.
 */
export function createSafeStart(
  { engine, clock }: Pick<ServerCore, 'engine' | 'clock'>,
  mayStart: () => boolean,
): () => boolean {
  const { safeStart } = engine.inputs;
  return () => {
    if (safeStart.get('', '') !== undefined || !mayStart()) return false;
    // The next whole second: the window is never shorter than the policy says.
    safeStart.set('', '', Math.ceil(clock.now() / 1000));
    return true;
  };
}

/** Logs once when safe mode begins to wait for a cluster, and once when it ends to. The returned function runs after each commit. */
export function createSafeModeLog({ engine, log }: ServerCore, mayStart: () => boolean): () => void {
  const unseen = engine.graph.watch(engine.safeMode.unseen);
  const mode = engine.graph.watch(engine.safeMode.mode);
  let known: ReadonlyMap<string, string> = new Map();
  let isNew = true;

  return () => {
    const moved = unseen.take().length + mode.take().length > 0;
    // Before agents are admitted all clusters are missing, and nothing is sent.
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
