import type { Origin } from '../../model/fleet/output.ts';
import { compareText } from '../../model/text/json.ts';

/** One of the declarations that compete for a key. */
export interface Contender<Value> {
  readonly origin: Origin;
  /** Distinguishes contenders of one file. */
  readonly identity: string;
  readonly value: Value;
}

/** The result of an election. `held`: the incumbent cannot be read now, and no contender replaces it. `none`: no contender. */
export type Election<Value> =
  | { readonly type: 'none' | 'held' }
  | { readonly type: 'won'; readonly winner: Contender<Value> };

/**
 * Elects one of several declarations of a key. The incumbent wins; another contender replaces it only after a complete read
 * of the incumbent's source without it. Without an incumbent the first source in configured order wins, then the first path; `among`:
 * the contenders that may win then.
 */
export function elect<Value>(
  contenders: readonly Contender<Value>[],
  incumbent: Origin | undefined,
  orderOf: (source: string) => number,
  isProvenGone: (origin: Origin) => boolean,
  among: (contenders: readonly Contender<Value>[]) => readonly Contender<Value>[] = (all) => all,
): Election<Value> {
  if (incumbent !== undefined) {
    const own = contenders.find(({ origin }) => isSameOrigin(origin, incumbent));
    if (own !== undefined) return { type: 'won', winner: own };
    if (!isProvenGone(incumbent)) return { type: 'held' };
  }
  const [winner] = among(contenders).toSorted(
    (a, b) =>
      orderOf(a.origin.source) - orderOf(b.origin.source) ||
      compareText(a.origin.source, b.origin.source) ||
      compareText(a.origin.path, b.origin.path) ||
      compareText(a.identity, b.identity),
  );
  return winner === undefined ? { type: 'none' } : { type: 'won', winner };
}

/** Whether both are the same file. */
export function isSameOrigin(a: Origin, b: Origin | undefined): boolean {
  return a.source === b?.source && a.path === b.path;
}
