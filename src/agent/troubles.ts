import { type Diagnostic, displayDiagnostic } from '../model/diagnostic.ts';
import type { Log } from '../ports/log.ts';

/** What is wrong in the cluster itself: files that cannot be read, objects that are there twice. */
export interface Troubles {
  /** Takes what the newest look has found, and logs what the one before had not. */
  note(found: readonly Diagnostic[]): void;
  /** How many the newest look has found. */
  count(): number;
}

/** Lines at one look; a folder full of rubbish must not fill the log as well. */
const MOST_LINES = 20;

export function createTroubles(log: Log): Troubles {
  let known: ReadonlySet<string> = new Set();
  return {
    note(found) {
      const now = new Set(found.map(displayDiagnostic));
      const fresh = [...now].filter((text) => !known.has(text));
      for (const trouble of fresh.slice(0, MOST_LINES)) log.warn('something in the cluster is not right', { trouble });
      if (fresh.length > MOST_LINES)
        log.warn('more in the cluster is not right', { troubles: fresh.length - MOST_LINES });
      if (now.size === 0 && known.size > 0) log.info('nothing in the cluster is wrong any more');
      known = now;
    },
    count: () => known.size,
  };
}
