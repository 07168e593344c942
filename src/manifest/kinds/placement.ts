import { validate } from '../../../generated/placement.js';
import { compareText, type JsonObject } from '../../model/json.ts';
import { globProblem } from '../globs.ts';
import { type FieldProblem, fieldError } from '../problem.ts';
import { readClusterChoice } from './cluster-choice.ts';
import { check, type DocumentReading, declare, identityOf, isReadable } from './reading.ts';

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
  const { names, selector } = readClusterChoice(spec.clusters, ['spec', 'clusters'], problems);
  const identity = identityOf('Placement', metadata);
  if (!isReadable(problems)) return { identity, problems };
  const placement = {
    name: metadata.name,
    paths: [...new Set(spec.paths)].sort(compareText),
    clusterNames: names,
    ...(selector === undefined ? {} : { clusterSelector: selector }),
  };
  return { identity, problems, content: declare('Placement', metadata, placement) };
}
