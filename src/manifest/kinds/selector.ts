import type { FieldPath } from '../../model/field-path.ts';
import { compareText } from '../../model/json.ts';
import type { LabelSelector } from '../../model/label-selector.ts';
import { checkLabels, labelKeyProblem, labelValueProblem } from '../labels.ts';
import { type FieldProblem, fieldError } from '../problem.ts';

/** A selector as the schemas of several kinds have it. */
export interface SelectorDocument {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    readonly values?: readonly string[];
  }[];
}

/** Reads a label selector, checking keys, values and that operators and values fit. */
export function readSelector(selector: SelectorDocument, at: FieldPath, problems: FieldProblem[]): LabelSelector {
  const matchLabels = selector.matchLabels ?? {};
  problems.push(...checkLabels(matchLabels, [...at, 'matchLabels']));
  const matchExpressions = (selector.matchExpressions ?? []).map((requirement, index) => {
    const path = [...at, 'matchExpressions', index];
    const values = requirement.values ?? [];
    const badKey = labelKeyProblem(requirement.key);
    if (badKey !== undefined) problems.push(fieldError('BadLabel', [...path, 'key'], badKey));
    for (const [position, value] of values.entries()) {
      const badValue = labelValueProblem(value);
      if (badValue !== undefined) problems.push(fieldError('BadLabel', [...path, 'values', position], badValue));
    }
    const takesValues = requirement.operator === 'In' || requirement.operator === 'NotIn';
    if (takesValues && values.length === 0) {
      problems.push(fieldError('BadSelector', path, `the operator ${requirement.operator} needs values`));
    }
    if (!takesValues && values.length > 0) {
      const message = `the operator ${requirement.operator} takes no values`;
      problems.push(fieldError('BadSelector', [...path, 'values'], message));
    }
    return { key: requirement.key, operator: requirement.operator, values: sortedUnique(values) };
  });
  return { matchLabels, matchExpressions };
}

function sortedUnique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort(compareText);
}
