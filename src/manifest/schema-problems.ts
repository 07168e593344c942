import { displayPath, type FieldPath } from '../model/text/field-path.ts';
import { compareText, isJsonObject, type JsonValue } from '../model/text/json.ts';
import { caseFix, didYouMean, type FieldProblem, fieldError, unknownField, withFix, wrongType } from './problem.ts';
import type { SchemaError } from './schema-validator.ts';

/** Converts the errors of a validator to problems with paths, each once, without the errors of single branches. */
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
 * Leaves out errors that repeat another one: that a branch has errors (`if`); the missing field of each branch of an
 * alternative (all alternatives of the schemas are "one of these fields is required"); and all other errors of a value of
 * the wrong type.
 */
function relevant(errors: readonly SchemaError[]): readonly SchemaError[] {
  // All items of a list have the same path in the schema.
  const alternatives = [...new Set(errors.filter(isAlternative).map((error) => `${error.schemaPath}/`))];
  const own = errors.filter(
    (error) => error.keyword !== 'if' && !alternatives.some((path) => error.schemaPath.startsWith(path)),
  );
  const mistyped = new Set(own.filter((error) => error.keyword === 'type').map((error) => error.instancePath));
  return own.filter((error) => error.keyword === 'type' || !mistyped.has(error.instancePath));
}

function isAlternative(error: SchemaError): boolean {
  return error.keyword === 'oneOf' || error.keyword === 'anyOf';
}

function schemaProblem(value: JsonValue, error: SchemaError): FieldProblem {
  const { path, found } = follow(error.instancePath, value);
  const name = path.length === 0 ? 'the document' : displayPath(path);
  const { params } = error;
  switch (error.keyword) {
    case 'additionalProperties':
      return unknownField(
        [...path, String(params.additionalProperty)],
        Object.keys(error.parentSchema?.properties ?? {}),
        isJsonObject(found) ? found : {},
      );
    case 'required': {
      const missing = [...path, String(params.missingProperty)];
      return { ...fieldError('MissingField', path, `${displayPath(missing)} is missing`), missing };
    }
    case 'oneOf':
    case 'anyOf':
      return choice(error, path, name);
    case 'type': {
      const types = Array.isArray(params.type) ? params.type.map(String) : String(params.type).split(',');
      const { words, hint, fix } = wrongType(found, types);
      return withFix(fieldError('WrongType', path, `${name} ${words}`, hint), fix);
    }
    case 'enum':
      return wrongWord(found, error, path, name);
    case 'const':
      return fieldError('WrongValue', path, `${name} must be ${JSON.stringify(params.allowedValue)}`);
    default:
      return fieldError('WrongValue', path, `${name} ${constraintWords(error)}`);
  }
}

function choice({ keyword, parentSchema }: SchemaError, path: FieldPath, name: string): FieldProblem {
  const isOneOf = keyword === 'oneOf';
  const branches = (isOneOf ? parentSchema?.oneOf : parentSchema?.anyOf) ?? [];
  const fields = branches.flatMap(({ required = [] }) => required);
  const which = [...new Set(fields)].sort(compareText).join(', ');
  const howMany = isOneOf ? 'exactly' : 'at least';
  if (which === '')
    return fieldError('WrongChoice', path, `${name} must fit ${howMany} one of the alternatives of the schema`);
  return fieldError('WrongChoice', path, `${name} needs ${howMany} one of ${which}`);
}

function wrongWord(found: JsonValue | undefined, error: SchemaError, path: FieldPath, name: string): FieldProblem {
  const values = error.params.allowedValues as readonly unknown[];
  // A list of words may also allow their numbers; people write the words.
  const words = values.filter((allowed) => typeof allowed === 'string');
  const allowed = words.length > 0 ? words : values.map(String);
  const hint = typeof found === 'string' ? didYouMean(found, allowed) : undefined;
  const problem = fieldError('WrongValue', path, `${name} must be one of ${allowed.join(', ')}`, hint);
  const meant = typeof found === 'string' ? caseFix(found, allowed) : undefined;
  return withFix(problem, meant === undefined ? undefined : { value: meant });
}

function constraintWords(error: SchemaError): string {
  const { limit } = error.params;
  if (error.keyword === 'pattern') {
    const [example] = error.parentSchema?.examples ?? [];
    return `does not have the right form${example === undefined ? '' : `, which is for example ${JSON.stringify(example)}`}`;
  }
  if (error.keyword === 'minProperties') return 'must not be empty';
  if (limit === 1 && (error.keyword === 'minLength' || error.keyword === 'minItems')) return 'must not be empty';
  const [words, unit = ''] = LIMITS[error.keyword] ?? [];
  if (words === undefined) return error.message ?? `breaks the rule ${error.keyword}`;
  return `must ${words} ${limit}${unit}`;
}

const LIMITS: Readonly<Record<string, readonly [words: string, unit?: string]>> = {
  minimum: ['be at least'],
  maximum: ['be at most'],
  minLength: ['have at least', ' characters'],
  maxLength: ['have at most', ' characters'],
  minItems: ['have at least', ' items'],
  maxItems: ['have at most', ' items'],
};

/** Follows a JSON pointer. Digits are an index only where the value is a list. */
function follow(pointer: string, root: JsonValue): { readonly path: FieldPath; readonly found: JsonValue | undefined } {
  const path: (string | number)[] = [];
  let found: JsonValue | undefined = root;
  for (const part of pointer.split('/').slice(1)) {
    const step = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(found) ? Number(step) : step);
    found = Array.isArray(found) ? found[Number(step)] : isJsonObject(found) ? found[step] : undefined;
  }
  return { path, found };
}
