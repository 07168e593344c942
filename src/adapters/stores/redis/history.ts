import type { Log } from '../../../ports/log.ts';
import type { StoreEvent } from '../../../ports/snapshot-store.ts';
import { REMEMBERED } from './scripts.ts';

/** A batch of one store: the store's marker, the number of the batch in the store, and its id. */
export interface BatchPosition {
  readonly marker: string;
  readonly count: number;
  readonly batch: string;
}

/**
 * State that Redis reports. `count`: batches in the store. `batch`: id of the batch that has the number of the caller's last
 * known batch. `newest`: id of the newest batch.
 */
export interface ReportedState extends BatchPosition {
  readonly newest: string;
}

/** A message on the channel of changes: another batch was written. */
export interface Change extends BatchPosition {
  readonly keys: readonly string[];
}

/**
 * Why the store may lack a batch that is known to be written; undefined if it has all of them. Compares ids as well as
 * counts: an outdated replica that was promoted may have reached the same count with other batches.
 */
export function lossOf(known: BatchPosition, found: ReportedState): string | undefined {
  if (found.marker !== known.marker) return 'the store was emptied or replaced by another one';
  if (found.count < known.count) return 'an older copy of the store has taken over';
  if (known.count === 0) return undefined;
  if (found.count - known.count >= REMEMBERED) {
    return 'more was written since the last check than the store remembers; it may be an older copy';
  }
  return found.batch === known.batch ? undefined : 'an older copy of the store has taken over and was written to';
}

/** Undefined if the message has another form: other programs may publish on the channel. */
export function parseChange(message: string): Change | undefined {
  const [, marker, count, batch, json] = /^(\S+) (\d+) (\S+) (.*)$/s.exec(message) ?? [];
  if (marker === undefined || batch === undefined || json === undefined) return undefined;
  try {
    const keys: unknown = JSON.parse(json);
    if (!Array.isArray(keys)) return undefined;
    return { marker, count: Number(count), batch, keys: keys.filter((key) => typeof key === 'string') };
  } catch {
    return undefined;
  }
}

/**
 * Remembers the batches of the store that this process knows, and derives events from them. `handle`: the prefix of the ids
 * of this process's own batches.
 */
export function createHistory(log: Log, handle: string, emit: (event: StoreEvent) => void) {
  /** The last known batch; undefined before the first session. */
  let known: BatchPosition | undefined;
  /** Count up to which the batches of other processes were received or reported as missed. */
  let received = 0;
  return { known: () => known, received: () => received, compare, receive, missed, wrote };

  /**
   * Compares a reported state with `before`, the last known batch when the request was sent. Returns the events to emit.
   * `isNewSession`: batches that were written before it need no event, since the session itself is reported.
   */
  function compare(before: BatchPosition | undefined, found: ReportedState, isNewSession: boolean): StoreEvent[] {
    const message = before === undefined ? undefined : lossOf(before, found);
    if (message !== undefined || known === undefined || found.count > known.count) {
      known = { marker: found.marker, count: found.count, batch: found.newest };
    }
    if (message !== undefined || isNewSession) received = found.count;
    if (message === undefined) return [];
    log.warn('the store has lost records; they are written again from memory', { reason: message });
    return [{ type: 'lost', message }];
  }

  /** Receives a message of the channel while the store with this marker is in use. */
  function receive(message: string, marker: string): void {
    const change = parseChange(message);
    if (change === undefined || change.marker !== marker || change.count <= received) return;
    if (change.count > received + 1) missed(change.count);
    received = change.count;
    wrote(change);
    if (!change.batch.startsWith(handle)) emit({ type: 'changed', keys: change.keys });
  }

  /** Emits that changes up to this count were missed. */
  function missed(count: number): void {
    received = count;
    emit({ type: 'down', message: 'changes of the store were missed' });
    emit({ type: 'up' });
  }

  /** Records a batch that Redis has confirmed. */
  function wrote({ marker, count, batch }: BatchPosition): void {
    if (known?.marker === marker && count > known.count) known = { marker, count, batch };
  }
}
