/** The most instructions of a pattern that is compiled. To compile them takes a quarter of a second. */
export const MOST_INSTRUCTIONS = 50_000;
/** To read a property of Unicode, such as `\p{L}`, takes as long as to compile this many instructions. */
const INSTRUCTIONS_OF_PROPERTY = 64;
/** The steps to compile an instruction. */
export const STEPS_OF_COMPILING = 16;
/** How often a step applies an instruction of a pattern to a character. */
const INSTRUCTIONS_OF_STEP = 8;

/** The steps to match a pattern of this number of instructions against a text. */
export function stepsOfMatching(size: number, text: string): number {
  return (size * text.length) / INSTRUCTIONS_OF_STEP;
}

/**
 * One part of a pattern: a text between `\Q` and `\E`, an escape, a repetition, or another character. A part reads few characters
 * beyond its end, so that a pattern of any length is read in linear time; a class of characters is found by {@link endOfClass}.
 */
const PART = /\\Q(.*?)(?:\\E|$)|\\[pPx]\{[^}]{0,64}\}|\\.|\{(\d+)(?:,(\d*))?\}|./suy;
const PROPERTIES = /\\[pP]/g;
/** A class with a name, within another class. */
const NAMED_CLASS = /\[:\^?\w{1,16}:\]/y;

/**
 * Returns how many instructions a pattern has at most, from its text: repetitions are written out when it is compiled. What takes long
 * to read counts as instructions too: characters and properties in classes. Takes linear time. A class without an end is an error of
 * the pattern, and what follows it does not count.
 */
export function mostInstructions(pattern: string): number {
  // Instructions of each open group: before its last part, and in its last part, which may be repeated.
  const groups = [{ before: 0, last: 0 }];
  // What it takes to read the tokens. A token is read once, also in a part that is repeated.
  let reading = 0;
  for (const { token, quoted, least, most } of partsOf(pattern)) {
    if (token.startsWith('['))
      reading += token.length + INSTRUCTIONS_OF_PROPERTY * (token.match(PROPERTIES)?.length ?? 0);
    else if (/^\\[pP]/.test(token)) reading += INSTRUCTIONS_OF_PROPERTY;
    const group = groups.at(-1) ?? { before: 0, last: 0 };
    const add = (size: number): void => {
      group.before += group.last;
      group.last = size;
    };
    if (least !== undefined) {
      const times = Math.max(Number(least), Number(most ?? 0), 1);
      group.last = group.last * times + times;
    } else if (token === '(') groups.push({ before: 0, last: 0 });
    else if (token === ')' && groups.length > 1) {
      groups.pop();
      const around = groups.at(-1);
      if (around === undefined) continue;
      around.before += around.last;
      around.last = group.before + group.last + 2;
    } else if (token === '*' || token === '+' || token === '?') group.last += 2;
    else add(quoted === undefined ? 2 : quoted.length + 1);
  }
  return groups.reduce((sum, { before, last }) => sum + before + last, 4 + reading);
}

interface Part {
  readonly token: string;
  readonly quoted?: string | undefined;
  readonly least?: string | undefined;
  readonly most?: string | undefined;
}

function* partsOf(pattern: string): Generator<Part> {
  for (let at = 0; at < pattern.length; ) {
    const end = pattern[at] === '[' ? endOfClass(pattern, at) : undefined;
    PART.lastIndex = at;
    const [token = '', quoted, least, most] = end === undefined ? (PART.exec(pattern) ?? []) : [pattern.slice(at, end)];
    at = end ?? PART.lastIndex;
    if (token === '[' || token === '') return;
    yield { token, quoted, least, most };
  }
}

/** The place after the class of characters that begins at a place; undefined: the class has no end. */
function endOfClass(pattern: string, start: number): number | undefined {
  let at = start + 1;
  if (pattern[at] === '^') at += 1;
  if (pattern[at] === ']') at += 1;
  while (at < pattern.length) {
    if (pattern[at] === ']') return at + 1;
    NAMED_CLASS.lastIndex = at;
    if (NAMED_CLASS.test(pattern)) at = NAMED_CLASS.lastIndex;
    else at += pattern[at] === '\\' ? 2 : 1;
  }
  return undefined;
}
