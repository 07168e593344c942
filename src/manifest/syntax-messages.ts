import type { TextProblem } from './compose-documents.ts';
import { mayHoldSecret } from './secret-text.ts';

/** What a message of a parser means, and what to do. */
const MEANINGS: readonly (readonly [pattern: RegExp, message: string, hint: string])[] = [
  [
    /^flow (?:map|sequence) in block collection|^(?:deficient|bad) indentation.*flow/i,
    'an opening bracket or brace before this has no closing one, or another one',
    'write ] or } where the list or mapping ends, or put the text in quotes',
  ],
  [
    /^missing closing ['"]quote/i,
    'a quote before this is not closed',
    'write the same quote where the text ends; within single quotes, write a quote twice',
  ],
  [
    /^unexpected flow-(?:seq|map)-end/i,
    'a closing bracket or brace has no opening one',
    'remove it, or put the text in quotes',
  ],
  [
    /^nested mappings are not allowed|^bad indentation of a mapping entry/i,
    'a second key cannot follow here',
    'indent the keys of one mapping alike, and put a text that holds a colon and a space in quotes',
  ],
  [
    /^all mapping items must start at the same column/i,
    'the line is indented differently from the keys of its mapping',
    'indent the keys of one mapping alike',
  ],
  [
    /^implicit (?:map )?keys need to be/i,
    'the line is no key with a value, and continues no text',
    'write a colon and a space after the key, or indent the line more if it belongs to the line above',
  ],
  [
    /^unexpected block-seq-ind on same line/i,
    'a list cannot begin on the line of its key',
    'begin it on the next line',
  ],
  [
    /^block scalars with more-indented leading empty lines/i,
    'an empty line above the text is indented more than the text',
    'remove the spaces of the empty line',
  ],
  [/^tabs are not allowed as indentation/i, 'kubectl refuses a tab as indentation', 'write spaces'],
  [
    /^plain value cannot start with/i,
    'a text without quotes cannot begin with this character',
    'put the text in quotes',
  ],
  [
    /^invalid (?:hex )?escape sequence|^unknown escape/i,
    'the text in double quotes holds an escape that YAML does not have',
    'write a backslash twice, or use single quotes',
  ],
  [/^unexpected scalar at node end/i, 'text follows the end of the value', 'put the complete text in quotes'],
  [
    /^a block sequence may not be used as an implicit map key|^all sequence items must start at the same column/i,
    'the item is indented differently from the items of its list',
    'indent the items of one list alike',
  ],
  [/^unexpected ,/i, 'a comma has no value before it', 'remove the comma'],
  [
    /^not a yaml token|^block scalar header/i,
    'this cannot stand here',
    'begin the text after | or > on the next line, and put another text in quotes',
  ],
  [/^name of an (?:anchor|alias) node/i, 'no name follows the & or *', 'put the text in quotes if no anchor is meant'],
  [/^comments must be separated/i, 'a comment needs a space before it', 'write a space before the #'],
  [
    /^block collections are not allowed within flow/i,
    'a list with dashes cannot stand within brackets',
    'put the dash in quotes, or separate the items with commas',
  ],
  [/^with stringKeys/i, 'a key must be text', 'put the key in quotes'],
  [/^deficient indentation/i, 'the line must be indented more', 'indent it more than the key above it'],
  [/^unexpected end of the (?:stream|document)/i, 'the text ends too early', 'complete it'],
];

/** What a line with an error means, whatever the message of the parser is, and what to do. */
const LINES: readonly (readonly [pattern: RegExp, message: string, hint: string])[] = [
  [
    /[\u0085\u2028\u2029]/,
    'the line holds U+0085, U+2028 or U+2029, which ends a line for kubectl, but not for other tools',
    'end the line there, or write the escape of the character in double quotes',
  ],
  [/^[-? \t]*\*[\w-]+:(?:\s|$)/, 'an alias as a key needs a space before the colon', 'write the space'],
  [/^[ \t]+---\s*$/, 'a document mark (---) cannot be indented', 'remove the spaces before it'],
  [/^-{4,}\s*$/, 'a document mark has three dashes', 'write ---'],
  [
    /^[^"'#{[]*:[ \t]+\?[ \t]/,
    'a text without quotes cannot begin with a question mark and a space',
    'put the text in quotes',
  ],
  [
    /^[^"'#{[]*:[ \t]+[^"'#{[\s][^"'#]*:(?:\s|$)/,
    'a key with a value cannot be the value of a key on the same line',
    'put a text that holds a colon and a space in quotes, or begin the second key on the next line',
  ],
];

/** The problem in plain words, if its message is one of a parser. */
export function inPlainWords(text: string, problem: TextProblem): TextProblem {
  const start = text.lastIndexOf('\n', problem.offset - 1) + 1;
  const line = text.slice(start, start + LONGEST_LINE).split('\n', 1)[0] ?? '';
  const found =
    LINES.find(([pattern]) => pattern.test(line)) ?? MEANINGS.find(([pattern]) => pattern.test(problem.message));
  return found === undefined ? problem : { ...problem, message: found[1], hint: problem.hint ?? found[2] };
}

/** In characters: of a longer line only the beginning is looked at. */
const LONGEST_LINE = 500;

const CLOSING: Readonly<Record<string, readonly [name: string, close: string]>> = {
  '[': ['bracket', ']'],
  '{': ['brace', '}'],
  '"': ['double quote', '"'],
  "'": ['single quote', "'"],
};

/** A quote or bracket at the offset that is not closed. */
export function unclosedProblem(text: string, offset: number): TextProblem {
  if (mayHoldSecret(text)) {
    const hint = 'close it where it ends, or put the text in quotes';
    return { severity: 'error', reason: 'YamlSyntax', message: 'what opens here is not closed', hint, offset };
  }
  const [name, close] = CLOSING[text[offset] ?? ''] ?? ['bracket', ']'];
  const message = `the ${name} that opens here is not closed`;
  const isQuote = close === '"' || close === "'";
  const other = close === '"' ? 'single quotes' : 'double quotes';
  const hint = isQuote
    ? `write ${close} where the text ends, or put the text in ${other} if it begins with ${close}`
    : `write ${close} where it ends, or put the text in quotes if it begins with ${text[offset]}`;
  return { severity: 'error', reason: 'YamlSyntax', message, hint, offset };
}

/** A tab at the offset that kubectl refuses. */
export function tabProblem(offset: number): TextProblem {
  const message = 'kubectl refuses a tab as indentation';
  return { severity: 'error', reason: 'YamlSyntax', message, hint: 'write spaces', offset };
}
