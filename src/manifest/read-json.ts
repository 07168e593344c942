import type { YamlReading } from './compose-documents.ts';
import type { DecodeLimits } from './limits.ts';
import { readYaml } from './read-yaml.ts';

/**
 * Parses JSON. What is no JSON is refused with its place; what is, is then read as YAML, which knows duplicate keys and
 * positions. Tabs before a line's first character become spaces, which changes no offset and no value.
 */
export function readJson(text: string, limits: DecodeLimits): YamlReading {
  // An empty file holds no document, as in YAML.
  if (text.trim() === '') return { documents: [], problems: [] };
  const trouble = jsonTrouble(text);
  if (trouble === undefined) {
    return readYaml(
      text.replace(/^\t+/gm, (tabs) => ' '.repeat(tabs.length)),
      limits,
    );
  }
  const offset = trouble.offset ?? firstUnexpected(text);
  const message = offset >= text.trimEnd().length ? 'the JSON ends too early' : 'this is not JSON';
  return { documents: [], problems: [{ severity: 'error', reason: 'JsonSyntax', message, offset }] };
}

/** Characters; the search below parses about twenty prefixes. */
const SEARCH_LIMIT = 1024 * 1024;

/**
 * What the engine says about a text that is no JSON. Its message quotes the text, which may be a Secret, so only the
 * offset is taken; for an unexpected token it states none.
 */
function jsonTrouble(text: string): { readonly offset: number | undefined } | undefined {
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

/** The end of the longest beginning of the text that is merely cut off, and so the offset of what is wrong. */
function firstUnexpected(text: string): number {
  if (text.length > SEARCH_LIMIT) return 0;
  let good = 0;
  let bad = text.length;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    const trouble = jsonTrouble(text.slice(0, middle));
    const isCutOff = trouble === undefined || (trouble.offset ?? -1) >= text.slice(0, middle).trimEnd().length;
    if (isCutOff) good = middle;
    else bad = middle;
  }
  return good;
}
