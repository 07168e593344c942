import { EVENT_SCALAR, SCALAR_STYLE_PLAIN } from 'js-yaml';
import { quote } from '../model/fleet/ids.ts';
import type { FieldPath } from '../model/text/field-path.ts';
import { isJsonObject, type JsonValue } from '../model/text/json.ts';
import type { YamlDocument, YamlEvent } from './compose-documents.ts';
import { scalarText } from './event-offset.ts';
import { readingOf, yamlSurprise } from './plain-scalars.ts';
import { findEvents } from './positions.ts';
import type { FieldProblem } from './problem.ts';
import { mayHoldSecret } from './secret-text.ts';

/**
 * Makes a function that adds values as written to a problem whose message shows them as read: `true` for `yes`, `131071` for
 * `0x1FFFF`. The keys of the path count too. Nothing is added in a text that may hold a Secret.
 */
export function createWrittenScalars(): (document: YamlDocument, problem: FieldProblem) => FieldProblem {
  let known: { readonly text: string; readonly isSecret: boolean } | undefined;
  /** Each text of a file is looked through once, and only if there is something to add. */
  function mayHoldSecretOf({ text }: YamlDocument): boolean {
    if (known?.text !== text) known = { text, isSecret: mayHoldSecret(text) };
    return known.isSecret;
  }
  return (document, problem) => {
    const value = problem.atKey === true ? undefined : valueReading(document, problem);
    const readings = [...keyReadings(document, problem), ...(value === undefined ? [] : [value])];
    if (readings.length === 0 || mayHoldSecretOf(document)) return problem;
    const message = `${problem.message}: ${readings.join(', and ')}`;
    const wantsQuotes = value !== undefined && problem.reason === 'WrongType';
    return { ...problem, message, ...(wantsQuotes ? { hint: 'write it in quotes' } : {}) };
  };
}

/** The keys that the message shows otherwise than they are written. */
function keyReadings(document: YamlDocument, { path, message }: FieldProblem): readonly string[] {
  return path.flatMap((step, index) => {
    if (typeof step === 'number' || !(message.includes(quote(step)) || message.includes(`.${step}`))) return [];
    const written = plainText(document, findEvents(document, path.slice(0, index + 1))?.key);
    return written === undefined || written === step ? [] : [`the key ${written} is read as ${quote(step)}`];
  });
}

/** The value, if the message does not show it as written, or if YAML 1.2 reads it differently. */
function valueReading(document: YamlDocument, { path, reason, message }: FieldProblem): string | undefined {
  const found = valueAt(document.value, path);
  if (typeof found !== 'boolean' && typeof found !== 'number') return undefined;
  const written = plainText(document, findEvents(document, path)?.value);
  if (written === undefined || written === String(found)) return undefined;
  const isShown = reason !== 'WrongType' && message.split(/[ ,]+/).includes(String(found));
  if (!isShown && yamlSurprise(written, false) === undefined) return undefined;
  return `${written} is read as ${readingOf(found)}`;
}

/** The text of a scalar without quotes and tag; undefined for anything else. */
function plainText({ text }: YamlDocument, event: YamlEvent | undefined): string | undefined {
  const isPlain = event?.type === EVENT_SCALAR && event.style === SCALAR_STYLE_PLAIN && event.tagStart < 0;
  return isPlain ? scalarText(text, event) : undefined;
}

function valueAt(root: JsonValue, path: FieldPath): JsonValue | undefined {
  let value: JsonValue | undefined = root;
  for (const step of path) {
    value = Array.isArray(value) ? value[Number(step)] : isJsonObject(value) ? value[step] : undefined;
  }
  return value;
}
