import { compareText } from '../../model/json.ts';
import type { Origin } from '../../model/output.ts';

/** One of the declarations that compete for a key. */
export interface Contender<Value> {
  readonly origin: Origin;
  /** Tells claims of one file apart. */
  readonly identity: string;
  readonly value: Value;
}

/** The result of an election. `held`: the incumbent cannot be read now, and no other contender replaces it. */
export type Election<Value> =
  | { readonly type: 'none' }
  | { readonly type: 'held'; readonly incumbent: Origin; readonly claims: readonly Contender<Value>[] }
  | { readonly type: 'won'; readonly winner: Contender<Value>; readonly losers: readonly Contender<Value>[] };

/**
 * The one rule for two declarations of one key: the incumbent stays; it passes on only when its declaration is proven
 * gone; without an incumbent the first source in configured order wins, then the first path.
 */
export function elect<Value>(
  claims: readonly Contender<Value>[],
  incumbent: Origin | undefined,
  orderOf: (source: string) => number,
  isProvenGone: (origin: Origin) => boolean,
): Election<Value> {
  if (incumbent !== undefined) {
    const own = claims.find(
      (claim) => claim.origin.source === incumbent.source && claim.origin.path === incumbent.path,
    );
    if (own !== undefined) return won(own, claims);
    if (!isProvenGone(incumbent)) return { type: 'held', incumbent, claims };
  }
  const first = claims.toSorted((a, b) => compareContenders(a, b, orderOf))[0];
  return first === undefined ? { type: 'none' } : won(first, claims);
}

function won<Value>(winner: Contender<Value>, claims: readonly Contender<Value>[]): Election<Value> {
  return { type: 'won', winner, losers: claims.filter((claim) => claim !== winner) };
}

function compareContenders(a: Contender<unknown>, b: Contender<unknown>, orderOf: (source: string) => number): number {
  return (
    orderOf(a.origin.source) - orderOf(b.origin.source) ||
    compareText(a.origin.source, b.origin.source) ||
    compareText(a.origin.path, b.origin.path) ||
    compareText(a.identity, b.identity)
  );
}
