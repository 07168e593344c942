import { EVENT_DOCUMENT, YAMLException } from 'js-yaml';
import { isJsonObject } from '../model/text/json.ts';
import {
  composeDocuments,
  type TextProblem,
  type Used,
  type YamlDocument,
  type YamlEvents,
  type YamlReading,
} from './compose-documents.ts';
import { partsOfJson, type TextPart } from './json-parts.ts';
import { formsThatKubectlRefuses } from './kubectl-forms.ts';
import type { DecodeLimits } from './limits.ts';
import { parseYamlEvents } from './parse-yaml.ts';
import { readSimpleYaml, type SimpleDocument } from './simple-yaml.ts';
import { hasOpenQuote, syntaxProblems } from './syntax-errors.ts';

/** Parses YAML. As for kubectl, a text that begins with `{` may also be JSON documents one after the other. Never throws. */
export function readYaml(text: string, limits: DecodeLimits): YamlReading {
  const simple = readSimpleYaml(text, limits);
  if (simple !== undefined) return { documents: withEvents(text, simple, limits), problems: [] };
  const joined = joinedFiles(text);
  if (joined !== undefined && joined.length > limits.maxDocuments) return tooManyParts(joined, limits);
  if (joined !== undefined) return readParts(joined, limits);
  const events = parse(text, limits);
  if (Array.isArray(events)) return compose(text, events, limits);
  // The thorough parser does not limit nesting, so it must not get a text that is nested too deep.
  if (events.problem.reason === 'TooDeep') return { documents: [], problems: [events.problem] };
  const json = partsOfJson(text, limits);
  if (json !== undefined) return readParts(json, limits);
  const parts = partsOfYaml(text);
  return parts.length === 1 || parts.length > limits.maxDocuments
    ? { documents: [], problems: syntaxProblems(text, events.problem) }
    : readParts(parts, limits);
}

/** Parses the events of documents when the first position in one of them is looked for, which is seldom. */
function withEvents(text: string, documents: readonly SimpleDocument[], limits: DecodeLimits): readonly YamlDocument[] {
  let parsed: { readonly events: YamlEvents; readonly begins: readonly number[] } | undefined;
  const parsedText = () => {
    if (parsed !== undefined) return parsed;
    const found = parse(text, limits);
    // Without events a finding is at the beginning of its document.
    const events = Array.isArray(found) ? found : [];
    parsed = { events, begins: events.flatMap(({ type }, at) => (type === EVENT_DOCUMENT ? [at] : [])) };
    return parsed;
  };
  return documents.map((document, index) => ({
    ...document,
    text,
    base: 0,
    children: new Map(),
    get events() {
      return parsedText().events;
    },
    get root() {
      return (parsedText().begins[index] ?? 0) + 1;
    },
  }));
}

/**
 * Parses a text part by part, so that an error in one does not hide those in others. The limits hold for all together.
 */
export function readParts(parts: readonly TextPart[], limits: DecodeLimits): YamlReading {
  const used: Used = { nodes: 0, aliases: 0, repeated: 0 };
  const length = parts.reduce((sum, { text }) => sum + text.length, 0);
  let isInQuote = false;
  const readings = parts.map(({ text, base }) => {
    const events = parse(text, limits);
    const { documents, problems } = Array.isArray(events)
      ? compose(text, events, limits, used)
      : { documents: [], problems: syntaxProblems(text, events.problem, length) };
    // The text of a quote that a line with --- has ended is no document.
    const isRest = isInQuote && !documents.some(({ value }) => isJsonObject(value) && Object.hasOwn(value, 'kind'));
    isInQuote =
      (isInQuote && isRest && !/["']/.test(text)) || (!isRest && !Array.isArray(events) && hasOpenQuote(text));
    if (isRest) return { documents: [], problems: [] };
    return {
      documents: documents.map((document) => ({ ...document, base })),
      problems: problems.map((problem) => ({ ...problem, offset: base + problem.offset })),
    };
  });
  return {
    documents: readings.flatMap((reading) => reading.documents),
    problems: readings.flatMap((reading) => reading.problems),
  };
}

function compose(text: string, events: YamlEvents, limits: DecodeLimits, used?: Used): YamlReading {
  const reading = composeDocuments(text, events, limits, used);
  const refused = formsThatKubectlRefuses(text, events);
  return refused.length === 0 ? reading : { ...reading, problems: [...reading.problems, ...refused] };
}

/** The parts of a text in which documents begin with a byte order mark, as in joined files; undefined: there is none. */
function joinedFiles(text: string): readonly TextPart[] | undefined {
  if (!text.includes('\ufeff')) return undefined;
  const starts = [...text.matchAll(/^---[^\n]*\n\ufeff/gm)].map((match) => match.index + match[0].length);
  if (starts.length === 0) return undefined;
  return [0, ...starts].map((base, index) => {
    const next = starts[index];
    return { text: text.slice(base, next === undefined ? undefined : next - 1), base };
  });
}

function tooManyParts(parts: readonly TextPart[], { maxDocuments }: DecodeLimits): YamlReading {
  const message = `the file holds more than ${maxDocuments} documents`;
  const offset = parts[maxDocuments]?.base ?? 0;
  return { documents: [], problems: [{ severity: 'error', reason: 'TooManyDocuments', message, offset }] };
}

/** A line that begins with `---` ends a document wherever it stands. */
function partsOfYaml(text: string): readonly TextPart[] {
  const starts = [0];
  for (const match of text.matchAll(/^---(?=\s|$)/gm)) if (match.index > 0) starts.push(match.index);
  return starts.map((base, index) => ({ text: text.slice(base, starts[index + 1]), base }));
}

/** The parser calls itself for each level. */
const DEEPEST = 100;

function depthOf({ maxDepth }: DecodeLimits): number {
  return Math.min(maxDepth, DEEPEST);
}

function parse(text: string, limits: DecodeLimits): YamlEvents | { readonly problem: TextProblem } {
  try {
    return parseYamlEvents(text, depthOf(limits));
  } catch (error) {
    return { problem: problemOfParser(error, depthOf(limits)) };
  }
}

/** Why the parser of events has stopped, without the text of a tag, which may be a secret that begins with an exclamation mark. */
export function reasonOfParser({ reason }: YAMLException): string {
  return reason.replace(/^(tag name cannot contain such characters|undeclared tag handle).*$/s, '$1');
}

/** Describes why the parser of events has stopped. */
function problemOfParser(error: unknown, maxDepth: number): TextProblem {
  if (!(error instanceof YAMLException)) {
    return { severity: 'error', reason: 'YamlSyntax', message: 'the file cannot be parsed', offset: 0 };
  }
  const offset = error.mark?.position ?? 0;
  return /maxDepth/.test(error.reason)
    ? {
        severity: 'error',
        reason: 'TooDeep',
        message: `lists and mappings are nested more than ${maxDepth} deep`,
        offset,
      }
    : { severity: 'error', reason: 'YamlSyntax', message: reasonOfParser(error), offset };
}
