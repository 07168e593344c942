import { DRIFT_ANNOTATION, DRIFT_MODES } from '../../model/fleet/drift.ts';
import { quote } from '../../model/fleet/ids.ts';
import { didYouMean, type FieldProblem, fieldWarning } from '../problem.ts';

const SWITCH = ['true', 'false'];
const OPT_OUT = ['disabled', 'enabled'];

/** The values that annotations of fleetrelay may have. Other annotations are not checked. */
const WORDS: ReadonlyMap<string, readonly string[]> = new Map([
  [DRIFT_ANNOTATION, DRIFT_MODES.map((mode) => mode.toLowerCase())],
  ['fleetrelay.dev/adopt', SWITCH],
  ['fleetrelay.dev/replace', SWITCH],
  ['fleetrelay.dev/force-conflicts', SWITCH],
  ['fleetrelay.dev/prune', OPT_OUT],
  ['fleetrelay.dev/reconcile', OPT_OUT],
  ['fleetrelay.dev/discovery', OPT_OUT],
]);

/** Warns of a value of an annotation that fleetrelay does not know: it has no effect. */
export function checkOwnAnnotation(name: string, text: string): readonly FieldProblem[] {
  const words = WORDS.get(name);
  // The mode of drift may be written as in a policy.
  const written = name === DRIFT_ANNOTATION ? text.toLowerCase() : text;
  if (words === undefined || text === '' || words.includes(written)) return [];
  const message = `metadata.annotations[${quote(name)}]: ${quote(text)} has no effect; known are ${words.join(', ')}`;
  return [fieldWarning('BadAnnotation', ['metadata', 'annotations', name], message, didYouMean(text, words))];
}
