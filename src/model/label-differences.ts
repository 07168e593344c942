import { quote } from './ids.ts';
import type { LabelSelector } from './label-selector.ts';

/** The first parts of a selector that the labels do not match, and where it is. `owner`: of the labels, in a sentence. */
export function differences(
  { matchLabels, matchExpressions }: LabelSelector,
  labels: Readonly<Record<string, string>>,
  owner: string,
): { readonly text: string; readonly path: readonly string[] } | undefined {
  const has = (key: string): string =>
    Object.hasOwn(labels, key) ? `${owner} has ${quote(labels[key] ?? '')}` : `${owner} has no such label`;
  const wrong = Object.entries(matchLabels).filter(
    ([key, value]) => !Object.hasOwn(labels, key) || labels[key] !== value,
  );
  const [first] = wrong;
  if (first !== undefined) {
    const texts = wrong.map(([key, value]) => `it wants label ${key} ${quote(value)}, and ${has(key)}`);
    return { text: texts.join('; '), path: ['matchLabels', first[0]] };
  }
  const texts = matchExpressions.flatMap(({ key, operator, values }) => {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    const among = values.map(quote).join(', ');
    if (operator === 'In' && (value === undefined || !values.includes(value)))
      return [`it wants label ${key} to be one of ${among}, and ${has(key)}`];
    if (operator === 'NotIn' && value !== undefined && values.includes(value))
      return [`it wants label ${key} to be none of ${among}, and ${has(key)}`];
    if (operator === 'Exists' && value === undefined) return [`it wants a label ${key}, and ${has(key)}`];
    if (operator === 'DoesNotExist' && value !== undefined) return [`it wants no label ${key}, and ${has(key)}`];
    return [];
  });
  return texts.length === 0 ? undefined : { text: texts.join('; '), path: ['matchExpressions'] };
}
