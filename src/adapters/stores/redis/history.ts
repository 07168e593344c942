import { REMEMBERED } from './scripts.ts';

/** The last batch of a store that is known here: which store it was, the how manieth batch, its id. */
export interface Known {
  readonly marker: string;
  readonly count: number;
  readonly batch: string;
}

/** What the store says of itself: how many batches it holds, the one that it holds in the place of `Known`, the newest. */
export interface Found {
  readonly marker: string;
  readonly count: number;
  readonly batch: string;
  readonly newest: string;
}

/**
 * Why the store may lack something that is known to have been written; undefined: it has all of it. A replica that was
 * behind and has taken over may have as many batches again by now, but not the same ones.
 */
export function lossOf(known: Known, found: Found): string | undefined {
  if (found.marker !== known.marker) return 'the store was emptied, or another one has taken its place';
  if (found.count < known.count) return 'an older copy of the store has taken over';
  if (known.count === 0) return undefined;
  if (found.count - known.count >= REMEMBERED) {
    return 'more was written in the meantime than the store remembers; it may be an older copy';
  }
  return found.batch === known.batch ? undefined : 'an older copy of the store has taken over and was written to';
}

/** A message about a batch that was written. */
export interface Change extends Known {
  readonly keys: readonly string[];
}

/** Undefined if it is not one of ours. */
export function parseChange(message: string): Change | undefined {
  const [, marker, count, batch, json] = /^(\S+) (\d+) (\S+) (.*)$/s.exec(message) ?? [];
  if (marker === undefined || batch === undefined || json === undefined) return undefined;
  const keys = keysOf(json);
  return keys === undefined ? undefined : { marker, count: Number(count), batch, keys };
}

function keysOf(json: string): readonly string[] | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return Array.isArray(value) ? value.filter((key) => typeof key === 'string') : undefined;
  } catch {
    return undefined;
  }
}
