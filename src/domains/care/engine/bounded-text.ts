import { cutText, firstNames } from '../../../model/text/messages.ts';

/** Most characters in a message of what one peer said. */
const MOST_SAID = 2_048;
/** Most names in a message. */
const MOST_NAMED = 100;

/** A text of a peer, cut if it is long; then it says so. */
export function bounded(text: string): string {
  return cutText(text, MOST_SAID);
}

/** Names in a message: "a, b and 3 more". */
export function boundedNames(names: readonly string[]): string {
  return firstNames(names.slice(0, MOST_NAMED).map(bounded), MOST_NAMED, names.length);
}
