import type { FindingReason } from '../model/fleet/diagnostic.ts';
import { isSecretPath } from '../model/objects/secret-values.ts';
import { displayPath, type FieldPath } from '../model/text/field-path.ts';
import { compareText, isJsonObject, type JsonObject, type JsonValue } from '../model/text/json.ts';
import { suggestion } from '../model/text/messages.ts';
import { given } from '../model/values/given.ts';

/** A problem of a document, without its place in the file. */
export interface FieldProblem {
  readonly severity: 'error' | 'warning';
  readonly reason: FindingReason;
  readonly message: string;
  readonly hint?: string;
  readonly path: FieldPath;
  /** The problem is at the key of the last step, not at its value. */
  readonly atKey?: boolean;
  /** Of a field that is missing, not empty: its path, as some problems are at the mapping that should have it. */
  readonly missing?: FieldPath;
  /** Of an unknown field: the path of the field that was meant, as far as that can be known. */
  readonly meant?: FieldPath;
  /** How the problem is mended. Only where no other reading of the author's intent is likely. */
  readonly fix?: FieldFix;
}

/**
 * A change of the field at a problem's path: another name of its key; another value, which must not come from the
 * manifest, as it may be a secret; or the scalar of the manifest in quotes, or without its quotes.
 */
export type FieldFix =
  | { readonly key: string }
  | { readonly value: string | boolean }
  | { readonly quotes: 'add' | 'remove' };

/** An error at a field. */
export function fieldError(reason: FindingReason, path: FieldPath, message: string, hint?: string): FieldProblem {
  return { severity: 'error', reason, path, message, ...given({ hint }) };
}

/** A warning at a field. */
export function fieldWarning(reason: FindingReason, path: FieldPath, message: string, hint?: string): FieldProblem {
  return { severity: 'warning', reason, path, message, ...given({ hint }) };
}

/** "did you mean X?"; undefined if no known word is near. */
export function didYouMean(text: string, known: Iterable<string>): string | undefined {
  const near = suggestion(text, known);
  return near === undefined ? undefined : `did you mean ${near}?`;
}

/** The fix of a word that differs from a known one only in upper and lower case; undefined: there is none, or several. */
export function caseFix(word: string, known: Iterable<string>): string | undefined {
  const written = word.toLowerCase();
  const [same, ...others] = [...known].filter((name) => name.toLowerCase() === written);
  return others.length === 0 && same !== word ? same : undefined;
}

/** The fix of a value whose type must be another one, as schemas name types. Undefined: it cannot be mended safely. */
export function typeFix(value: JsonValue | undefined, wanted: string): FieldFix | undefined {
  if (wanted === 'string')
    return typeof value === 'number' || typeof value === 'boolean' ? { quotes: 'add' } : undefined;
  if (typeof value !== 'string') return undefined;
  if (wanted === 'boolean')
    return TRUE.test(value) ? { value: true } : FALSE.test(value) ? { value: false } : undefined;
  const isNumber = wanted === 'integer' || wanted === 'number';
  return isNumber && PLAIN_NUMBER.test(value) ? { quotes: 'remove' } : undefined;
}

/** The words that kubectl reads as booleans if they are not quoted. */
const TRUE = /^(?:y|Y|yes|Yes|YES|on|On|ON|true|True|TRUE)$/;
const FALSE = /^(?:n|N|no|No|NO|off|Off|OFF|false|False|FALSE)$/;
/** A whole number that all readers of YAML and JSON read alike. */
const PLAIN_NUMBER = /^(?:0|-?[1-9][0-9]{0,14})$/;

/** Adds a fix to a problem, if there is one. */
export function withFix(problem: FieldProblem, fix: FieldFix | undefined): FieldProblem {
  return fix === undefined ? problem : { ...problem, fix };
}

/**
 * A field that the schema does not have, at its key.
 *
 * @param known the fields that the mapping may have
 * @param siblings the mapping
 * @param elsewhere a hint if no known field has a similar name
 */
export function unknownField(
  path: FieldPath,
  known: readonly string[],
  siblings: JsonObject,
  elsewhere?: string,
): FieldProblem {
  const key = String(path.at(-1));
  const isShort = known.length > 0 && known.length <= MOST_LISTED;
  const list = isShort ? `known fields: ${[...known].sort(compareText).join(', ')}` : undefined;
  const message = `${displayPath(path)} is not a field that is known here`;
  const problem = fieldError('UnknownField', path, message, didYouMean(key, known) ?? elsewhere ?? list);
  const meant = caseFix(key, known);
  const fix = meant === undefined || Object.hasOwn(siblings, meant) ? undefined : { key: meant };
  return withFix({ ...problem, atKey: true }, fix);
}

const MOST_LISTED = 12;

/**
 * A value of another type than the schema demands, in words that follow the name of the field, with a hint and a fix. `wanted`
 * tells nothing of the value.
 *
 * @param types as JSON Schema names types, and `int-or-string`
 * @param fields of the mapping that the value must be
 */
export function wrongType(value: JsonValue | undefined, types: readonly string[], fields: readonly string[] = []) {
  const wanted = types.map((type) => TYPE_WORDS[type] ?? type).join(' or ');
  const isFraction = typeof value === 'number' && wanted.includes('a whole number');
  const [type = ''] = types.length === 1 ? types : [];
  return {
    wanted: `must be ${wanted}`,
    words: `must be ${wanted}, not ${isFraction ? 'a fraction' : typeWord(value)}`,
    hint: typeHint(value, type) ?? (type === 'object' ? mappingHint(value, fields) : undefined),
    fix: typeFix(value, type),
  };
}

/** What to do with any value of a Secret that is no text. */
export const SECRET_TEXT_HINT = 'write it in quotes, or as text below "|"';

/** The problem without the type of a value of a Secret; any other problem as it is. */
export function withoutSecretType(problem: FieldProblem): FieldProblem {
  const { reason, path, atKey } = problem;
  if (reason !== 'WrongType' || atKey === true || !isSecretPath(path)) return problem;
  const isMapping = path.length === 1 || displayPath(path) === 'metadata.annotations';
  const message = `${displayPath(path)} must be ${isMapping ? 'a mapping' : 'text'}`;
  return { ...problem, message, hint: isMapping ? 'give each text a key' : SECRET_TEXT_HINT };
}

function typeHint(value: JsonValue | undefined, wanted: string): string | undefined {
  if (wanted === 'string' && (typeof value === 'number' || typeof value === 'boolean'))
    return 'quote it if text is meant';
  if (wanted === 'array' && value !== undefined && isJsonObject(value)) return 'begin each item with a dash';
  if (typeof value !== 'string') return undefined;
  if (wanted === 'array') return 'write it as an item of a list, with a dash';
  const isNumber = (wanted === 'integer' || wanted === 'number') && /^-?\d+$/.test(value);
  if ((wanted === 'integer' || wanted === 'number') && /^\d+ ?(?:s|%)$/.test(value)) return 'write the number alone';
  return isNumber || (wanted === 'boolean' && /^(true|false)$/.test(value)) ? 'remove the quotes' : undefined;
}

function mappingHint(value: JsonValue | undefined, fields: readonly string[]): string | undefined {
  if (fields.length > 0 && fields.length <= MOST_LISTED)
    return `its fields are ${[...fields].sort(compareText).join(', ')}`;
  return Array.isArray(value) && fields.length === 0 ? 'write it without dashes' : undefined;
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  object: 'a mapping',
  array: 'a list',
  null: 'nothing',
  'int-or-string': 'a whole number or text',
};

/** The type of a value, for people. */
export function typeWord(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  return TYPE_WORDS[typeof value] ?? typeof value;
}

/** Reports an error at a field, which is named as in `relay.secrets[0]`. */
export type Refuse = (reason: FindingReason, at: string, message: string) => void;
