import type { ClusterChoice } from '../../model/fleet/desired.ts';
import { type ClusterName, parseClusterName, quote } from '../../model/fleet/ids.ts';
import type { LabelRequirement, LabelSelector } from '../../model/objects/label-selector.ts';
import { displayPath, type FieldPath } from '../../model/text/field-path.ts';
import { compareText } from '../../model/text/json.ts';
import { type FieldProblem, fieldError } from '../problem.ts';

const NAME = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const PREFIX = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

/** Why the text is no label key by the rules of Kubernetes; undefined if it is one. Annotation keys have the same rules. */
export function labelKeyProblem(key: string): string | undefined {
  const slash = key.indexOf('/');
  const prefix = slash < 0 ? undefined : key.slice(0, slash);
  const name = key.slice(slash + 1);
  if (prefix !== undefined && (prefix.length > 253 || !PREFIX.test(prefix))) {
    return `the prefix of the key ${quote(key)} must be a DNS name of at most 253 characters`;
  }
  return NAME.test(name)
    ? undefined
    : `the key ${quote(key)} must be 1 to 63 letters, digits, "-", "_" or ".", and begin and end with a letter or digit`;
}

/** Why the text is no label value by the rules of Kubernetes; undefined if it is one. The empty value is allowed. */
export function labelValueProblem(value: string): string | undefined {
  return value === '' || NAME.test(value)
    ? undefined
    : `the value ${quote(value)} must be empty or 1 to 63 letters, digits, "-", "_" or ".", and begin and end with a letter or digit`;
}

/** The problems of a map of labels. */
export function checkLabels(labels: Readonly<Record<string, string>>, path: FieldPath): readonly FieldProblem[] {
  return Object.entries(labels).flatMap(([key, value]) => {
    const at = [...path, key];
    const badKey = labelKeyProblem(key);
    const badValue = labelValueProblem(value);
    return [
      ...(badKey === undefined
        ? []
        : [{ ...fieldError('BadLabel', at, `${displayPath(path)}: ${badKey}`), atKey: true }]),
      ...(badValue === undefined
        ? []
        : [fieldError('BadLabel', at, `${displayPath(path)}[${quote(key)}]: ${badValue}`)]),
    ];
  });
}

/** A selector as the schemas of several kinds have it. */
interface SelectorDocument {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly (Omit<LabelRequirement, 'values'> & { readonly values?: readonly string[] })[];
}

/** Reads a label selector; adds the problems of its keys, values and operators. */
export function readSelector(selector: SelectorDocument, at: FieldPath, problems: FieldProblem[]): LabelSelector {
  const matchLabels = selector.matchLabels ?? {};
  problems.push(...checkLabels(matchLabels, [...at, 'matchLabels']));
  const matchExpressions = (selector.matchExpressions ?? []).map(({ key, operator, values = [] }, index) => {
    const path = [...at, 'matchExpressions', index];
    const badKey = labelKeyProblem(key);
    if (badKey !== undefined)
      problems.push(fieldError('BadLabel', [...path, 'key'], `${displayPath(path)}: ${badKey}`));
    for (const [position, value] of values.entries()) {
      const badValue = labelValueProblem(value);
      if (badValue !== undefined) {
        const place = [...path, 'values', position];
        problems.push(fieldError('BadLabel', place, `${displayPath(place)}: ${badValue}`));
      }
    }
    const takesValues = operator === 'In' || operator === 'NotIn';
    if (takesValues && values.length === 0) {
      problems.push(fieldError('BadSelector', path, `the operator ${operator} needs values`));
    }
    if (!takesValues && values.length > 0) {
      problems.push(fieldError('BadSelector', [...path, 'values'], `the operator ${operator} takes no values`));
    }
    return { key, operator, values: sortedUnique(values) };
  });
  return { matchLabels, matchExpressions };
}

/** A choice of clusters as the schemas of several kinds have it. */
interface ClusterChoiceDocument {
  readonly names?: readonly string[];
  readonly selector?: SelectorDocument;
}

/** Reads a choice of clusters; adds the problems of its names and its selector. */
export function readClusterChoice(
  { names = [], selector }: ClusterChoiceDocument,
  at: FieldPath,
  problems: FieldProblem[],
): ClusterChoice {
  const read = names.flatMap((text, index): readonly ClusterName[] => {
    const name = parseClusterName(text);
    if (name.ok) return [name.value];
    problems.push(fieldError('BadName', [...at, 'names', index], name.problem));
    return [];
  });
  return {
    names: sortedUnique(read),
    ...(selector === undefined ? {} : { selector: readSelector(selector, [...at, 'selector'], problems) }),
  };
}

/** The distinct texts in canonical order. */
export function sortedUnique<Text extends string>(texts: readonly Text[] = []): readonly Text[] {
  return [...new Set(texts)].sort(compareText);
}
