import { parseEvents, YAMLException } from 'js-yaml';
import type { DecodeLimits } from './limits.ts';
import { syntaxProblems } from './syntax-errors.ts';
import { composeDocuments, type TextProblem, type YamlEvents, type YamlReading } from './yaml-documents.ts';

/** A text as documents, with the events that positions are found in (undefined if the text does not parse). */
export interface TextDocuments extends YamlReading {
  readonly events: YamlEvents | undefined;
}

/** Parses YAML (and JSON, its subset). Never throws for any text. */
export function readYaml(text: string, limits: DecodeLimits): TextDocuments {
  let events: YamlEvents;
  try {
    events = parseEvents(text, { maxDepth: Math.min(limits.maxDepth, 100) });
  } catch (error) {
    return { events: undefined, documents: [], problems: syntaxTrouble(text, error) };
  }
  return { events, ...composeDocuments(text, events, limits) };
}

function syntaxTrouble(text: string, error: unknown): readonly TextProblem[] {
  const first = firstProblem(error);
  // The thorough parser has no bound on nesting: what the fast one refused for its depth must not reach it.
  return first.reason === 'TooDeep' ? [first] : syntaxProblems(text, first);
}

function firstProblem(error: unknown): TextProblem {
  if (!(error instanceof YAMLException)) {
    return { severity: 'error', reason: 'YamlSyntax', message: 'the file cannot be parsed', offset: 0 };
  }
  const offset = error.mark?.position ?? 0;
  return /maxDepth/.test(error.reason)
    ? { severity: 'error', reason: 'TooDeep', message: 'lists and mappings are nested more than 100 deep', offset }
    : { severity: 'error', reason: 'YamlSyntax', message: error.reason, offset };
}

/**
 * Parses JSON. What is no JSON is refused with its place; what is, is then read as YAML, which knows duplicate keys and
 * positions. Tabs before a line's first character become spaces, which changes no offset and no value.
 */
export function readJson(text: string, limits: DecodeLimits): TextDocuments {
  try {
    JSON.parse(text);
  } catch (error) {
    const offset = jsonErrorOffset(text, error);
    const message = offset >= text.trimEnd().length ? 'the JSON ends too early' : 'this is not JSON';
    return {
      events: undefined,
      documents: [],
      problems: [{ severity: 'error', reason: 'JsonSyntax', message, offset }],
    };
  }
  return readYaml(
    text.replace(/^\t+/gm, (tabs) => ' '.repeat(tabs.length)),
    limits,
  );
}

/** The engine's message holds the offset, and a piece of the text, which is why the message itself is not used. */
function jsonErrorOffset(text: string, error: unknown): number {
  const match = error instanceof Error ? /at position (\d+)/.exec(error.message) : null;
  return match === null ? text.trimEnd().length : Number(match[1]);
}
