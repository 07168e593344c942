import { validate } from '../../../../generated/dataplane.js';
import { checkForeign, type Decoded, withoutNulls } from '../../../manifest/kinds/reading.ts';
import type { FieldProblem } from '../../../manifest/problem.ts';
import type { FieldPath } from '../../../model/text/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf } from '../../../model/text/json.ts';
import { camelCaseName, withCamelCaseNames } from '../../../model/text/proto-json.ts';
import { given } from '../../../model/values/given.ts';
import { type DeclaredDataplane, dataplaneIdOf, dataplaneLabels, dataplaneOf } from '../model/dataplane.ts';
import { checkMesh, checkName } from './names.ts';
import { checkSpec } from './networking.ts';

/**
 * Decodes a Kuma Dataplane, in the flat (Universal) form or as a custom resource, by the rules of Kuma. As Kuma does, it reads
 * the JSON form of Protocol Buffers, and ignores unknown fields with a warning.
 */
export function readDataplane(document: JsonObject): Decoded<DeclaredDataplane> {
  const camelCase = withEmptyTexts(withCamelCaseNames(document));
  const { problems, value } = checkForeign(camelCase, validate);
  const plain = withoutNulls(camelCase);
  const violations = ofRightTypes(violationsOf(plain), problems);
  const all = [...problems, ...violations].map((problem) => ({
    ...problem,
    path: writtenPath(document, problem.path),
  }));
  if (value === undefined) return { problems: all };
  const { name = '', namespace = '' } = 'type' in value ? { name: value.name } : { ...value.metadata };
  if (name === '') return { problems: all };
  const id = dataplaneIdOf(plain);
  const metadata = 'type' in value ? { name, parent: id.mesh } : { name, namespace };
  const { networking, probes } = ('type' in value ? value : { ...value.spec }) as unknown as JsonObject;
  const spec = { networking, ...given({ probes }) };
  const dataplane = dataplaneOf(spec, id, dataplaneLabels(plain));
  return { problems: all, metadata, value: { dataplane, spec } };
}

/** @param document without nulls, with names in camelCase */
function violationsOf(document: JsonObject): readonly FieldProblem[] {
  const problems: FieldProblem[] = [];
  const isFlat = document.kind === undefined;
  if (isFlat) checkName(document.name, ['name'], problems);
  else checkName(objectOf(document.metadata).name, ['metadata', 'name'], problems);
  checkMesh(document.mesh, ['mesh'], problems);
  if (isFlat) checkSpec(document, [], problems);
  else checkSpec(objectOf(document.spec), ['spec'], problems);
  return problems;
}

const TEXT_MAPS: ReadonlySet<string> = new Set(['tags', 'labels']);

/** Gives tags and labels without a value the empty text. */
function withEmptyTexts(value: JsonObject): JsonObject;
function withEmptyTexts(value: JsonValue): JsonValue;
function withEmptyTexts(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => withEmptyTexts(item));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      if (member === undefined || !isJsonObject(member) || !TEXT_MAPS.has(key))
        return [key, withEmptyTexts(member ?? null)];
      return [key, Object.fromEntries(Object.entries(member).map(([tag, text]) => [tag, text ?? '']))];
    }),
  );
}

/** The violations of values that have the right type and form, and so have the values that contain them. */
function ofRightTypes(violations: readonly FieldProblem[], problems: readonly FieldProblem[]): readonly FieldProblem[] {
  const wrong = new Set(
    problems.filter(({ severity }) => severity === 'error').map(({ path }) => JSON.stringify(path)),
  );
  if (wrong.size === 0) return violations;
  return violations.filter(({ path }) => !path.some((_, index) => wrong.has(JSON.stringify(path.slice(0, index + 1)))));
}

/** The path with the names as the document has them. */
function writtenPath(document: JsonObject, path: FieldPath): FieldPath {
  let value: JsonValue | undefined = document;
  return path.map((step) => {
    const written = isJsonObject(value) && typeof step === 'string' ? writtenName(value, step) : step;
    value = Array.isArray(value) ? value[Number(step)] : isJsonObject(value) ? value[written] : undefined;
    return written;
  });
}

function writtenName(object: JsonObject, name: string): string {
  if (Object.hasOwn(object, name)) return name;
  return Object.keys(object).find((key) => camelCaseName(key) === name) ?? name;
}
