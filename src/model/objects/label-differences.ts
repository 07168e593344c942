import { quote } from '../fleet/ids.ts';
import {
  type LabelRequirement,
  type LabelSelector,
  type Labels,
  labelOf,
  matchesRequirement,
} from './label-selector.ts';

/** The first parts of a selector that the labels do not match, and where it is. `owner`: of the labels, in a sentence. */
export function differences(
  { matchLabels, matchExpressions }: LabelSelector,
  labels: Labels,
  owner: string,
): { readonly text: string; readonly path: readonly string[] } | undefined {
  const unlike = (wanted: string, key: string): string => {
    const value = labelOf(labels, key);
    return `it wants ${wanted}, and ${owner} has ${value === undefined ? 'no such label' : quote(value)}`;
  };
  const wrong = Object.entries(matchLabels).filter(([key, value]) => labelOf(labels, key) !== value);
  const [first] = wrong;
  if (first !== undefined) {
    const texts = wrong.map(([key, value]) => unlike(`label ${key} ${quote(value)}`, key));
    return { text: texts.join('; '), path: ['matchLabels', first[0]] };
  }
  const texts = matchExpressions
    .filter((requirement) => !matchesRequirement(requirement, labels))
    .map((requirement) => unlike(wantedBy(requirement), requirement.key));
  return texts.length === 0 ? undefined : { text: texts.join('; '), path: ['matchExpressions'] };
}

function wantedBy({ key, operator, values }: LabelRequirement): string {
  const among = values.map(quote).join(', ');
  switch (operator) {
    case 'In':
      return `label ${key} to be one of ${among}`;
    case 'NotIn':
      return `label ${key} to be none of ${among}`;
    case 'Exists':
      return `a label ${key}`;
    case 'DoesNotExist':
      return `no label ${key}`;
  }
}
