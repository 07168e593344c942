import { type JsonObject, objectsOf, textOf } from '../../../model/text/json.ts';
import { cutText } from '../../../model/text/messages.ts';

/** Gardener's task for what is wrong with a Shoot itself: no task of an operation. */
export const DECLARATION_TASK = 'initializeOperation';

/** In characters. */
const MOST_SAID = 2_048;

/** The entry of `lastErrors` that says why the declaration of a Shoot does not count, or not as it is now. */
export function declarationError(message: string): JsonObject {
  return { description: cutText(message, MOST_SAID), taskID: DECLARATION_TASK, codes: ['ERR_CONFIGURATION_PROBLEM'] };
}

/** What {@link declarationError} says in a status; undefined: it is not there. */
export function declarationErrorIn(status: JsonObject | undefined): string | undefined {
  const found = objectsOf(status?.lastErrors).find(({ taskID }) => taskID === DECLARATION_TASK);
  return found === undefined ? undefined : textOf(found.description);
}
