import type { Receipt } from '../../model/fleet/receipt.ts';

interface Waiting {
  readonly open: Set<string>;
  readonly resolve: (isWritten: boolean) => void;
}

/** The callers that wait until the store has records of a group. `failure`: why the store cannot be written; undefined: it can. */
export function createReceipts(failure: () => string | undefined) {
  const waiting = new Set<Waiting>();

  const settle = (isMeant: (key: string) => boolean, isWritten: boolean): void => {
    for (const one of waiting) {
      const meant = [...one.open].filter(isMeant);
      for (const key of meant) one.open.delete(key);
      if (meant.length === 0 || (isWritten && one.open.size > 0)) continue;
      waiting.delete(one);
      one.resolve(isWritten);
    }
  };
  return {
    /** `keys`: the records that the store does not have yet. */
    open: (keys: readonly string[]): Receipt => {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const one: Waiting = { open: new Set(keys), resolve };
      if (keys.length === 0) resolve(true);
      else waiting.add(one);
      return { written: promise, problem: failure, cancel: () => void waiting.delete(one) };
    },
    awaits: (key: string): boolean => [...waiting].some(({ open }) => open.has(key)),
    /** The store has these records, as they were put last. */
    written: (keys: readonly string[]): void => {
      if (waiting.size === 0) return;
      const known = new Set(keys);
      settle((key) => known.has(key), true);
    },
    /** This process does not write these records any more. */
    dropped: (isMeant: (key: string) => boolean): void => settle(isMeant, false),
  };
}
