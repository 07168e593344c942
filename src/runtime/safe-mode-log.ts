import type { Engine } from '../engine/graph.ts';
import { safeModeStatus } from '../engine/status/safe-mode.ts';
import type { Log } from '../ports/log.ts';

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
