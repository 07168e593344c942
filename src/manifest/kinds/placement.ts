import { validate } from '../../../generated/placement.js';
import { type ClusterName, parseClusterName } from '../../model/ids.ts';
import { compareText, type JsonObject } from '../../model/json.ts';
import { globProblem } from '../globs.ts';
import { type FieldProblem, fieldError } from '../problem.ts';
import { check, type DocumentReading, isReadable } from './reading.ts';
import { readSelector } from './selector.ts';

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

function sortedUnique<Text extends string>(texts: readonly Text[]): readonly Text[] {
  return [...new Set(texts)].sort(compareText);
}
