import type { JsonValue } from '../model/text/json.ts';

/** The value of an anchor. */
export interface Anchored {
  readonly value: JsonValue;
  /** The number of values in it; an alias counts as the value of its anchor. */
  readonly nodes: number;
  /** The levels of lists and mappings in it; undefined before the first alias. */
  height?: number;
  /** The characters of the text in it; undefined before the first alias. */
  characters?: number;
}

/** The characters of the text in a value, its keys among it. */
export function charactersOf(value: JsonValue): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.entries(value).reduce((sum, [key, item]) => sum + key.length + charactersOf(item ?? null), 0);
}

/** The levels of lists and mappings in a value. */
export function heightOf(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Object.values(value).reduce<number>((height, item) => Math.max(height, heightOf(item ?? null)), 0);
}
