import { canonicalJson, type JsonValue } from '../text/json.ts';
import { MOST_ITEMS } from '../text/json-checks.ts';
import type { AdditionalKind, AdditionalKinds, KindNarrowing } from './agent-settings.ts';

/**
 * Joins kinds that are narrowed alike, so that a long list of Namespaces is there once. `lists`: those with at most
 * {@link MOST_ITEMS} items stay, or none; a kind without its list is less narrow.
 */
export function additionalKindsOf(
  kinds: readonly AdditionalKind[],
  lists: 'short' | 'none',
): readonly AdditionalKinds[] {
  const longest = lists === 'short' ? MOST_ITEMS : 0;
  const joined = new Map<string, AdditionalKinds & { readonly kinds: string[] }>();
  for (const { kind, namespaces, namePrefixes, ...rest } of kinds) {
    const narrowing: KindNarrowing = {
      ...rest,
      ...(namespaces === undefined || namespaces.length > longest ? {} : { namespaces }),
      ...(namePrefixes === undefined || namePrefixes.length > longest ? {} : { namePrefixes }),
    };
    const text = canonicalJson(narrowing as unknown as JsonValue);
    const known = joined.get(text);
    if (known === undefined) joined.set(text, { ...narrowing, kinds: [kind] });
    else if (!known.kinds.includes(kind)) known.kinds.push(kind);
  }
  return [...joined.values()];
}
