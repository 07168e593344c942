import type { Log } from '../../../ports/log.ts';
import type { StoreEvent } from '../../../ports/snapshot-store.ts';
import { type Found, type Known, lossOf, parseChange } from './history.ts';

/** What this process knows of the store's batches, and what it tells of them. */
export interface Knowledge {
  /** The last batch that is known of; undefined before the first session. */
  known(): Known | undefined;
  /** Count of the last batch that was heard of. */
  heard(): number;
  /**
   * The store was asked, after `before` was known. Gives what is to be told. `anew`: what was not heard of until now is
   * covered by what is told anyway.
   */
  judge(before: Known | undefined, found: Found, anew: boolean): readonly StoreEvent[];
  /** A message has come while the store of this marker is in use. */
  hear(message: string, marker: string): void;
  /** Batches up to this one were missed. */
  missed(count: number): void;
  /** A batch was written, says the reply. */
  wrote(batch: Known): void;
}

export interface KnowledgeDeps {
  readonly log: Log;
  readonly tell: (event: StoreEvent) => void;
  /** The beginning of the ids of this process's own batches. */
  readonly handle: string;
}

export function createKnowledge({ log, tell, handle }: KnowledgeDeps): Knowledge {
  let known: Known | undefined;
  let heard = 0;
  return { known: () => known, heard: () => heard, judge, hear, missed, wrote };

  function judge(before: Known | undefined, found: Found, anew: boolean): readonly StoreEvent[] {
    const message = before === undefined ? undefined : lossOf(before, found);
    if (message !== undefined || known === undefined || found.count > known.count) {
      known = { marker: found.marker, count: found.count, batch: found.newest };
    }
    if (message !== undefined || anew) heard = found.count;
    if (message === undefined) return [];
    log.warn('the store was lost, all of it or a part; it is written again from memory', { reason: message });
    return [{ type: 'lost', message }];
  }

  function hear(message: string, marker: string): void {
    const change = parseChange(message);
    if (change === undefined || change.marker !== marker || change.count <= heard) return;
    if (change.count > heard + 1) missed(change.count);
    heard = change.count;
    wrote(change);
    if (!change.batch.startsWith(handle)) tell({ type: 'changed', keys: change.keys });
  }

  function missed(count: number): void {
    heard = count;
    tell({ type: 'down', message: 'changes of the store were missed' });
    tell({ type: 'up' });
  }

  function wrote({ marker, count, batch }: Known): void {
    if (known?.marker === marker && count > known.count) known = { marker, count, batch };
  }
}
