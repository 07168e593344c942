import { type LabelSelector as SelectorDocument, validate } from '../../../generated/placement.js';
import type { LabelSelector } from '../../model/desired.ts';
import { type ClusterName, parseClusterName } from '../../model/ids.ts';
import { compareText, type JsonObject } from '../../model/json.ts';
import { globProblem } from '../globs.ts';
import { checkLabels, labelKeyProblem, labelValueProblem } from '../labels.ts';
import { type FieldPath, type FieldProblem, fieldError } from '../problem.ts';
import { check, type DocumentReading, isReadable } from './reading.ts';

/** Reads a `fleetrelay.dev/v1alpha1 Placement`. */
export function readPlacement(document: JsonObject): DocumentReading {
  const checked = check(document, validate);
  if (!checked.ok) return { problems: checked.problems };
  const { metadata, spec } = checked.value;
  const problems: FieldProblem[] = [];
  for (const [index, glob] of spec.paths.entries()) {
    const bad = globProblem(glob);
    if (bad !== undefined) problems.push(fieldError('BadPath', ['spec', 'paths', index], bad));
  }
  const clusterNames = readNames(spec.clusters.names ?? [], problems);
  const at = ['spec', 'clusters', 'selector'];
  const clusterSelector = spec.clusters.selector && readSelector(spec.clusters.selector, at, problems);
  const identity = `fleetrelay.dev/Placement/${metadata.namespace ?? ''}/${metadata.name}`;
  if (!isReadable(problems)) return { identity, problems };
  const placement = {
    name: metadata.name,
    paths: sortedUnique(spec.paths),
    clusterNames: sortedUnique(clusterNames),
    ...(clusterSelector === undefined ? {} : { clusterSelector }),
  };
  return { identity, problems, content: { type: 'placement', placement } };
}

function readNames(names: readonly string[], problems: FieldProblem[]): readonly ClusterName[] {
  return names.flatMap((text, index) => {
    const name = parseClusterName(text);
    if (name.ok) return [name.value];
    problems.push(fieldError('BadName', ['spec', 'clusters', 'names', index], name.problem));
    return [];
  });
}

/** Reads a label selector, checking keys, values and that operators and values fit. */
function readSelector(selector: SelectorDocument, at: FieldPath, problems: FieldProblem[]): LabelSelector {
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

function sortedUnique<Text extends string>(texts: readonly Text[]): readonly Text[] {
  return [...new Set(texts)].sort(compareText);
}
