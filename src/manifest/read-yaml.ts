import { parseEvents, YAMLException } from 'js-yaml';
import { composeDocuments, type YamlReading } from './compose-documents.ts';
import type { DecodeLimits } from './limits.ts';
import { syntaxProblems } from './syntax-errors.ts';
import type { TextProblem, YamlEvents } from './yaml-events.ts';

/** Documents that a broken text is looked through for; more would take time that grows with their square. */
const MAX_PARTS = 100;

/** Parses YAML (and JSON, its subset). Never throws for any text. */
export function readYaml(text: string, limits: DecodeLimits): YamlReading {
  const events = parse(text, limits);
  if (Array.isArray(events)) return composeDocuments(text, events, limits);
  // The thorough parser has no bound on nesting: what the fast one refused for its depth must not reach it.
  if (events.problem.reason === 'TooDeep') return { documents: [], problems: [events.problem] };
  const parts = splitDocuments(text);
  return parts.length === 1 || parts.length > MAX_PARTS
    ? { documents: [], problems: syntaxProblems(text, events.problem) }
    : readParts(text, parts, limits);
}

/**
 * Reads a broken text document by document, so that an error in one does not hide those of the others. What stands
 * before a part is replaced by empty lines, not cut off: the offsets stay what they are in the whole text.
 */
function readParts(text: string, parts: readonly TextPart[], limits: DecodeLimits): YamlReading {
  const readings = parts.map(({ start, end }) => {
    const part = '\n'.repeat(start) + text.slice(start, end);
    const events = parse(part, limits);
    return Array.isArray(events)
      ? composeDocuments(part, events, limits)
      : { documents: [], problems: syntaxProblems(part, events.problem) };
  });
  return {
    documents: readings.flatMap((reading) => reading.documents),
    problems: readings.flatMap((reading) => reading.problems),
  };
}

interface TextPart {
  readonly start: number;
  readonly end: number;
}

/** A line that begins with `---` ends a document wherever it stands. */
function splitDocuments(text: string): readonly TextPart[] {
  const starts = [0];
  for (const match of text.matchAll(/^---(?=\s|$)/gm)) if (match.index > 0) starts.push(match.index);
  return starts.map((start, index) => ({ start, end: starts[index + 1] ?? text.length }));
}

function parse(text: string, limits: DecodeLimits): YamlEvents | { readonly problem: TextProblem } {
  try {
    return parseEvents(text, { maxDepth: Math.min(limits.maxDepth, 100) });
  } catch (error) {
    return { problem: firstProblem(error) };
  }
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
