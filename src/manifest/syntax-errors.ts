import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import { compareText } from '../model/text/json.ts';
import { TEMPLATE_HINT, type TextProblem } from './compose-documents.ts';
import { MAX_FINDINGS } from './limits.ts';
import { scanLines } from './line-scan.ts';
import { inPlainWords, tabProblem, unclosedProblem } from './syntax-messages.ts';

/** In characters of a file: the thorough parser can take 20 microseconds and some kilobytes for each. */
const THOROUGH_LIMIT = 128 * 1024;

/** An action of Go's templates, which Helm uses. */
const TEMPLATE = /\{\{-? *(?:[.$(a-zA-Z]|\/\*)/;

/**
 * The syntax errors of a text that the fast parser refused, at most one for each line, because later ones in a line are
 * mostly consequences. `first`: the error of the fast parser, which is returned if the thorough one finds none.
 * `fileLength`: the characters of the complete file, of which the text may be a part.
 */
export function syntaxProblems(text: string, first: TextProblem, fileLength = text.length): readonly TextProblem[] {
  // The syntax errors of a template are consequences of the first one.
  if (TEMPLATE.test(text)) return [{ ...inPlainWords(text, first), hint: TEMPLATE_HINT }];
  const { unclosed, tabs } = scanLines(text);
  const found = fileLength > THOROUGH_LIMIT ? [first] : foundProblems(text, first);
  // What follows an open quote or bracket is read as a part of it, and what follows a tab as if it were indented less.
  const end = Math.min(unclosed ?? text.length, startOfLine(text, tabs[0] ?? text.length));
  const before = tabs.length === 0 && unclosed === undefined ? found : found.filter(({ offset }) => offset < end);
  return [
    ...before.map((problem) => inPlainWords(text, problem)),
    ...tabs.slice(0, MAX_FINDINGS).map(tabProblem),
    ...(unclosed === undefined ? [] : [unclosedProblem(text, unclosed)]),
  ];
}

/** Whether a text has a quote that is not closed. */
export function hasOpenQuote(text: string): boolean {
  const { unclosed } = scanLines(text);
  return unclosed !== undefined && (text[unclosed] === '"' || text[unclosed] === "'");
}

function startOfLine(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

function foundProblems(text: string, first: TextProblem): readonly TextProblem[] {
  try {
    const problems = thoroughProblems(text);
    return problems.length === 0 ? [first] : problems;
  } catch {
    // Deep nesting overflows the thorough parser's stack.
    return [first];
  }
}

function thoroughProblems(text: string): readonly TextProblem[] {
  const yaml = loadYaml();
  const byLine = new Map<number, TextProblem>();
  const lineCounter = new yaml.LineCounter();
  // Duplicate keys are found by `composeDocuments`; the library compares each key with each other one.
  const options = { lineCounter, prettyErrors: false, stringKeys: true, uniqueKeys: false };
  const documents = yaml.parseAllDocuments(text, options);
  for (const error of Array.isArray(documents) ? documents.flatMap((document) => document.errors) : []) {
    // `composeDocuments` reports these; here they would hide the syntax error.
    if (error.code === 'TAG_RESOLVE_FAILED' || error.code === 'BAD_ALIAS') continue;
    const offset = error.pos[0];
    const { line } = lineCounter.linePos(offset);
    const message = withoutContent(error.message);
    if (!byLine.has(line)) byLine.set(line, { severity: 'error', reason: 'YamlSyntax', message, offset });
  }
  return [...byLine.values()].sort((a, b) => a.offset - b.offset || compareText(a.message, b.message));
}

/** Removes the piece of the text that ends some messages of the library: it may be a secret. */
function withoutContent(message: string): string {
  const plain = message.replace(/^(Not a YAML token|Unexpected [^:]*|Block scalar header[^:]*):.*$/su, '$1');
  return plain.charAt(0).toLowerCase() + plain.slice(1);
}

/**
 * Loads the library when the first broken file needs it: that takes longer than checking a file. The bare `require` lets
 * the bundler make a lazy part of it; plain Node has no `require` in a module.
 */
function loadYaml(): typeof Yaml {
  // biome-ignore lint/style/noCommonJs: decoding is synchronous, so the lazy part cannot be a dynamic import.
  return typeof require === 'function' ? require('yaml') : createRequire(import.meta.url)('yaml');
}
