import { displayPath, type FieldPath } from '../model/field-path.ts';
import { compareText, isJsonObject, type JsonValue } from '../model/json.ts';
import { didYouMean, type FieldProblem, fieldError } from './problem.ts';
import type { SchemaError } from './schema-validator.ts';

/** Turns what a validator says into problems with paths, one a place, without the noise of branches. */
export function schemaProblems(value: JsonValue, errors: readonly SchemaError[]): readonly FieldProblem[] {
  const problems = relevant(errors).map((error) => schemaProblem(value, error));
  const seen = new Map<string, FieldProblem>();
  for (const problem of problems) {
    const place = `${displayPath(problem.path)} ${problem.reason} ${problem.message}`;
    if (!seen.has(place)) seen.set(place, problem);
  }
  return [...seen.values()];
}

/**
 * Leaves out what only repeats another error: that a chosen branch has errors (`if`), what each branch of an alternative
 * misses (the alternative itself says it; the schemas have no alternatives but "one of these fields must be there"), and
 * every other complaint about a value of the wrong type.
 */
function relevant(errors: readonly SchemaError[]): readonly SchemaError[] {
  const alternatives = errors.filter(isAlternative).map((error) => `${error.schemaPath}/`);
  const mistyped = new Set(errors.filter((error) => error.keyword === 'type').map((error) => error.instancePath));
  return errors.filter(
    (error) =>
      error.keyword !== 'if' &&
      !alternatives.some((path) => error.schemaPath.startsWith(path)) &&
      (error.keyword === 'type' || !mistyped.has(error.instancePath)),
  );
}

function isAlternative(error: SchemaError): boolean {
  return error.keyword === 'oneOf' || error.keyword === 'anyOf';
}

function schemaProblem(value: JsonValue, error: SchemaError): FieldProblem {
  const path = pathOf(error.instancePath, value);
  const name = path.length === 0 ? 'the document' : displayPath(path);
  const { params } = error;
  switch (error.keyword) {
    case 'additionalProperties':
      return unknownField(error, path, siblingsAllowed(error));
    case 'required': {
      const missing = [...path, String(params.missingProperty)];
      return fieldError('MissingField', path, `${displayPath(missing)} is missing`);
    }
    case 'oneOf':
    case 'anyOf':
      return choice(error, path, name);
    case 'type': {
      const wanted = typeWords(params.type);
      const hint = wanted === 'text' ? 'quote it if text is meant' : undefined;
      return fieldError(
        'WrongType',
        path,
        `${name} must be ${wanted}, not ${foundWord(valueAt(value, path), wanted)}`,
        hint,
      );
    }
    case 'enum':
      return wrongWord(value, error, path, name);
    case 'const':
      return fieldError('WrongValue', path, `${name} must be ${JSON.stringify(params.allowedValue)}`);
    default:
      return fieldError('WrongValue', path, `${name} ${constraintWords(error)}`);
  }
}

function unknownField(error: SchemaError, path: FieldPath, known: readonly string[]): FieldProblem {
  const key = String(error.params.additionalProperty);
  const list = known.length > 0 && known.length <= 12 ? `known fields: ${known.join(', ')}` : undefined;
  const hint = didYouMean(key, known) ?? list;
  return {
    ...fieldError(
      'UnknownField',
      [...path, key],
      `${displayPath([...path, key])} is not a field that is known here`,
      hint,
    ),
    atKey: true,
  };
}

/** With `verbose` the validator names the schema that holds the keyword; its properties are what is known. */
function siblingsAllowed(error: SchemaError): readonly string[] {
  const properties = (error.parentSchema as { readonly properties?: object } | undefined)?.properties;
  return properties === undefined ? [] : Object.keys(properties).sort(compareText);
}

function choice(error: SchemaError, path: FieldPath, name: string): FieldProblem {
  const branches = (
    error.parentSchema as Readonly<Record<string, readonly { readonly required?: readonly string[] }[]>>
  )[error.keyword];
  const fields = (branches ?? []).flatMap(({ required = [] }) => required);
  const which = [...new Set(fields)].sort(compareText).join(', ');
  if (which === '') return fieldError('WrongValue', path, `${name} ${constraintWords(error)}`);
  return fieldError(
    'WrongChoice',
    path,
    `${name} needs ${error.keyword === 'oneOf' ? 'exactly' : 'at least'} one of ${which}`,
  );
}

function wrongWord(value: JsonValue, error: SchemaError, path: FieldPath, name: string): FieldProblem {
  const values = error.params.allowedValues as readonly unknown[];
  // Where a number stands for a word as well, the words are what a person writes.
  const words = values.filter((allowed) => typeof allowed === 'string');
  const allowed = words.length > 0 ? words : values.map(String);
  const found = valueAt(value, path);
  const hint = typeof found === 'string' ? didYouMean(found, allowed) : undefined;
  return fieldError('WrongValue', path, `${name} must be one of ${allowed.join(', ')}`, hint);
}

function constraintWords(error: SchemaError): string {
  const { params } = error;
  switch (error.keyword) {
    case 'minimum':
      return `must be at least ${params.limit}`;
    case 'maximum':
      return `must be at most ${params.limit}`;
    case 'minLength':
      return params.limit === 1 ? 'must not be empty' : `must have at least ${params.limit} characters`;
    case 'maxLength':
      return `must have at most ${params.limit} characters`;
    case 'minItems':
      return params.limit === 1 ? 'must not be empty' : `must have at least ${params.limit} items`;
    case 'maxItems':
      return `must have at most ${params.limit} items`;
    case 'minProperties':
      return 'must not be empty';
    case 'pattern':
      return `does not have the right form${exampleOf(error)}`;
    default:
      return error.message ?? `breaks the rule ${error.keyword}`;
  }
}

function exampleOf(error: SchemaError): string {
  const examples = (error.parentSchema as { readonly examples?: readonly unknown[] } | undefined)?.examples ?? [];
  return examples.length === 0 ? '' : `, which is for example ${JSON.stringify(examples[0])}`;
}

/** A JSON pointer as steps; digits are an index only where the value is a list. */
function pathOf(pointer: string, root: JsonValue): FieldPath {
  const path: (string | number)[] = [];
  let value: JsonValue | undefined = root;
  for (const part of pointer.split('/').slice(1)) {
    const step = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(value)) {
      path.push(Number(step));
      value = value[Number(step)];
    } else {
      path.push(step);
      value = isJsonObject(value) ? value[step] : undefined;
    }
  }
  return path;
}

function valueAt(root: JsonValue, path: FieldPath): JsonValue | undefined {
  let value: JsonValue | undefined = root;
  for (const step of path) {
    if (Array.isArray(value)) value = value[Number(step)];
    else if (isJsonObject(value)) value = value[String(step)];
    else return undefined;
  }
  return value;
}

const WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  object: 'a mapping',
  array: 'a list',
  null: 'nothing',
};

function typeWords(type: unknown): string {
  const types: readonly unknown[] = Array.isArray(type) ? type : String(type).split(',');
  return types.map((name) => WORDS[String(name)] ?? String(name)).join(' or ');
}

function foundWord(found: JsonValue | undefined, wanted: string): string {
  return typeof found === 'number' && wanted.includes('whole number') ? 'a fraction' : typeWord(found);
}

/** What a value is, in a person's words. */
export function typeWord(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  return WORDS[typeof value] ?? typeof value;
}
