import type { ClusterChoice } from '../../model/desired.ts';
import type { FieldPath } from '../../model/field-path.ts';
import { type ClusterName, parseClusterName } from '../../model/ids.ts';
import { compareText } from '../../model/json.ts';
import { type FieldProblem, fieldError } from '../problem.ts';
import { readSelector, type SelectorDocument } from './selector.ts';

/** Clusters as the schemas of several kinds choose them. */
interface ClusterChoiceDocument {
  readonly names?: readonly string[];
  readonly selector?: SelectorDocument;
}

/** Reads a choice of clusters, checking names and the selector. */
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
    names: [...new Set(read)].sort(compareText),
    ...(selector === undefined ? {} : { selector: readSelector(selector, [...at, 'selector'], problems) }),
  };
}
