import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import { compareText } from '../model/json.ts';
import type { TextProblem } from './yaml-events.ts';

/** Characters; the thorough parser needs seven times as long as the fast one, and it blocks. */
const THOROUGH_LIMIT = 1024 * 1024;

/**
 * Every syntax error of a text that the fast parser refused, at most one a line (what follows in a line is nearly always
 * a consequence). `first` is what the fast parser said; it stands if the thorough one finds nothing.
 */
export function syntaxProblems(text: string, first: TextProblem): readonly TextProblem[] {
  if (text.length > THOROUGH_LIMIT) return [first];
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
  const documents = yaml.parseAllDocuments(text, { lineCounter, prettyErrors: false, stringKeys: true });
  for (const error of Array.isArray(documents) ? documents.flatMap((document) => document.errors) : []) {
    // These are found, and better worded, when the values are composed; here they would hide the syntax error.
    if (error.code === 'DUPLICATE_KEY' || error.code === 'TAG_RESOLVE_FAILED' || error.code === 'BAD_ALIAS') continue;
    const offset = error.pos[0];
    const { line } = lineCounter.linePos(offset);
    const message = withoutContent(error.message);
    if (!byLine.has(line)) byLine.set(line, { severity: 'error', reason: 'YamlSyntax', message, offset });
  }
  return [...byLine.values()].sort((a, b) => a.offset - b.offset || compareText(a.message, b.message));
}

/** Some messages of the library end with a piece of the text, which may be a secret. */
function withoutContent(message: string): string {
  const plain = message.replace(/^(Not a YAML token|Unexpected [^:]*|Block scalar header[^:]*):.*$/su, '$1');
  return plain.charAt(0).toLowerCase() + plain.slice(1);
}

/**
 * Loads the library only when a file is broken: it costs more time than everything else that a check of one file does.
 * The bare `require` is for the bundler, which makes it a lazy part of the bundle; plain Node has none in a module.
 */
function loadYaml(): typeof Yaml {
  // biome-ignore lint/style/noCommonJs: decoding is synchronous, so the lazy part cannot be a dynamic import.
  return typeof require === 'function' ? require('yaml') : createRequire(import.meta.url)('yaml');
}
