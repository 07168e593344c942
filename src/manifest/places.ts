import type { TextProblem } from './compose-documents.ts';
import type { DecodeLimits } from './limits.ts';

/** In YAML and JSON a value begins after one of these characters, or at the beginning of the text. */
const BEFORE_VALUES = '\n\r,:?[{';
/** A dash begins an item of a list only if a space or the end of the line follows it. */
const AFTER_DASH = ' \t\n\r';
const DASH = 45;

const isPlace = maskOf(BEFORE_VALUES);
const endsDash = maskOf(AFTER_DASH);

/**
 * The problem of a text in which values can begin at more than twice `maxNodes` places; undefined: there are fewer. Parsers build
 * all their events before anything can count them, a few for each place: so this bounds their memory and time. It takes one pass,
 * and counts too many places rather than too few: also places in texts, quotes and comments.
 */
export function tooManyPlaces(text: string, { maxNodes }: DecodeLimits): TextProblem | undefined {
  const most = 2 * maxNodes;
  if (text.length <= most) return undefined;
  let places = 1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= isPlace.length) continue;
    const counts =
      code === DASH ? at + 1 === text.length || endsDash[text.charCodeAt(at + 1)] === 1 : isPlace[code] === 1;
    if (!counts) continue;
    places += 1;
    if (places <= most) continue;
    const message = `the file has more than ${most} places where a value can begin: lines, colons, commas, brackets, dashes`;
    return { severity: 'error', reason: 'TooManyValues', message, hint: 'split it into several files', offset: at };
  }
  return undefined;
}

function maskOf(characters: string): Uint8Array {
  const mask = new Uint8Array(128);
  for (const character of characters) mask[character.charCodeAt(0)] = 1;
  return mask;
}
