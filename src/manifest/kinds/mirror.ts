import { validate } from '../../../generated/service-mirror.js';
import type { JsonObject } from '../../model/json.ts';
import type { FieldProblem } from '../problem.ts';
import { readClusterChoice } from './cluster-choice.ts';
import { check, type DocumentReading, declare, identityOf, isReadable } from './reading.ts';
import { readSelector } from './selector.ts';

/** What selects the services of a mirror that names no selector. */
const EXPORTED = { matchLabels: { 'fleetrelay.dev/service-export': 'true' } };

/** Reads a `fleetrelay.dev/v1alpha1 ServiceMirror`. */
export function readMirror(document: JsonObject): DocumentReading {
  const checked = check(document, validate);
  if (!checked.ok) return { problems: checked.problems };
  const { metadata, spec } = checked.value;
  const problems: FieldProblem[] = [];
  const mirror = {
    name: metadata.name,
    from: readClusterChoice(spec.from, ['spec', 'from'], problems),
    to: readClusterChoice(spec.to, ['spec', 'to'], problems),
    serviceSelector: readSelector(spec.serviceSelector ?? EXPORTED, ['spec', 'serviceSelector'], problems),
  };
  const identity = identityOf('ServiceMirror', metadata);
  if (!isReadable(problems)) return { identity, problems };
  return { identity, problems, content: declare('ServiceMirror', metadata, mirror) };
}
