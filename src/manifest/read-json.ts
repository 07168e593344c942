import type { YamlReading } from './compose-documents.ts';
import { partsOfJson, withoutTabs } from './json-parts.ts';
import type { DecodeLimits } from './limits.ts';
import { readParts, readYaml } from './read-yaml.ts';

/**
 * Parses one JSON value, or several one after the other: reports a syntax error with its place, else parses the text as
 * YAML, which reports duplicate keys and positions.
 */
export function readJson(text: string, limits: DecodeLimits): YamlReading {
  // An empty file holds no document, as in YAML.
  if (text.trim() === '') return { documents: [], problems: [] };
  const failure = jsonError(text);
  if (failure === undefined) return readYaml(withoutTabs(text), limits);
  const parts = partsOfJson(text, limits);
  if (parts !== undefined) return readParts(parts, limits);
  const offset = failure.offset ?? firstUnexpected(text);
  const message = offset >= text.trimEnd().length ? 'the JSON ends too early' : 'this is not JSON';
  return { documents: [], problems: [{ severity: 'error', reason: 'JsonSyntax', message, offset }] };
}

/** In characters: the search parses about twenty prefixes of the text. */
const SEARCH_LIMIT = 1024 * 1024;

/**
 * The offset of the error that JavaScript reports; undefined offset: it reports none, as for an unexpected token. Returns
 * undefined for valid JSON. The message itself quotes the text, which may be a Secret, so it is not used.
 */
function jsonError(text: string): { readonly offset: number | undefined } | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    const position = /^[^"']*(?:'.'[^"']*)*at position (\d+)/.exec(message)?.[1];
    if (position !== undefined) return { offset: Number(position) };
    return { offset: message.startsWith('Unexpected end') ? text.trimEnd().length : undefined };
  }
}

/** The offset of the first error: the length of the longest prefix that is incomplete but not wrong. */
function firstUnexpected(text: string): number {
  if (text.length > SEARCH_LIMIT) return 0;
  let good = 0;
  let bad = text.length;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    const failure = jsonError(text.slice(0, middle));
    const isCutOff = failure === undefined || (failure.offset ?? -1) >= text.slice(0, middle).trimEnd().length;
    if (isCutOff) good = middle;
    else bad = middle;
  }
  return good;
}
