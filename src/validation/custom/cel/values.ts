import { type CelValue, celList, celMap } from '@bufbuild/cel';
import { create } from '@bufbuild/protobuf';
import { reflect } from '@bufbuild/protobuf/reflect';
import { DurationSchema, TimestampSchema, timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { FieldPath } from '../../../model/text/field-path.ts';
import { NANOSECONDS } from '../../../model/text/go-duration.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../model/text/json.ts';
import type { Meter } from '../../values/meter.ts';
import type { Schema } from '../../values/schema.ts';
import type { Environment } from './environment.ts';
import { createMembers } from './functions/members.ts';

/** Called for each value of an object whose schema has rules. */
type Visit = (schema: Schema, self: CelValue, path: FieldPath) => void;

/** What the conversion needs: the environment of its values, and what counts its own steps. */
interface Conversion {
  readonly environment: Pick<Environment, 'meter' | 'markIncomparable'>;
  readonly steps: Meter;
}

/**
 * Converts an object to values of CEL by its schema, as an API server does: fields have their escaped names, fields that
 * rules cannot see are left out. The object must fit its schema, and its defaults must be filled in (defaults.ts).
 *
 * @param visit gets each value with rules, inner ones first
 * @throws TooMuchWork if the steps of the conversion do not suffice, and what `visit` throws
 */
export function convertObject(schema: Schema, object: JsonObject, visit: Visit, conversion: Conversion): void {
  convert(schema, object, [], visit, conversion);
}

/** Undefined: rules cannot see the value. */
function convert(
  schema: Schema,
  value: JsonValue,
  path: FieldPath,
  visit: Visit,
  conversion: Conversion,
): CelValue | undefined {
  conversion.steps.charge(1);
  const converted = convertValue(schema, value, path, visit, conversion);
  if (converted === undefined) return undefined;
  if (typeof converted === 'object' && converted !== null && hasOwnEquality(schema)) {
    conversion.environment.markIncomparable(converted);
  }
  if (value !== null && schema['x-kubernetes-validations'] !== undefined) visit(schema, converted, path);
  return converted;
}

/** Lists in any order, and objects with fields that rules do not see. */
function hasOwnEquality(schema: Schema): boolean {
  const listType = schema['x-kubernetes-list-type'];
  const keepsUnknown = schema['x-kubernetes-preserve-unknown-fields'] === true;
  return listType === 'set' || listType === 'map' || keepsUnknown;
}

function convertValue(
  schema: Schema,
  value: JsonValue,
  path: FieldPath,
  visit: Visit,
  conversion: Conversion,
): CelValue | undefined {
  if (value === null) return schema.nullable === true ? null : undefined;
  if (schema['x-kubernetes-int-or-string'] === true) {
    return typeof value === 'number' ? BigInt(Math.trunc(value)) : String(value);
  }
  switch (schema.type) {
    case 'object':
      return isJsonObject(value) ? convertMapping(schema, value, path, visit, conversion) : undefined;
    case 'array':
      return Array.isArray(value) ? convertList(schema, value, path, visit, conversion) : undefined;
    case 'string':
      return typeof value === 'string' ? convertText(schema.format, value) : undefined;
    case 'integer':
      return Number.isInteger(value) ? BigInt(value as number) : undefined;
    case 'number':
      return typeof value === 'number' ? value : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined;
    case undefined:
      return undefined;
  }
}

const NAME: Schema = { type: 'string' };

function convertMapping(
  schema: Schema,
  object: JsonObject,
  path: FieldPath,
  visit: Visit,
  conversion: Conversion,
): CelValue | undefined {
  const { properties = {}, additionalProperties } = schema;
  const members = createMembers(conversion.environment.meter);
  const add = (name: string, key: string, field: Schema, member: JsonValue): void => {
    const converted = convert(field, member, [...path, name], visit, conversion);
    if (converted === undefined) return;
    members.set(key, converted);
    // Behind a dot, a rule may also write a reserved word as it is.
    if (RESERVED.has(name)) members.set(name, converted);
  };
  if (typeof additionalProperties === 'object') {
    for (const [name, member] of Object.entries(object)) {
      if (member !== undefined) add(name, name, additionalProperties, member);
    }
  } else {
    const fields = Object.entries(properties);
    conversion.steps.charge(fields.length);
    for (const [name, field] of fields) {
      const member = Object.hasOwn(object, name) ? object[name] : undefined;
      const key = member === undefined ? undefined : escapedName(name);
      if (member === undefined || key === undefined) continue;
      const isMetadata = name === 'metadata' && schema['x-kubernetes-embedded-resource'] === true;
      add(name, key, isMetadata ? metadataSchema(field) : field, member);
    }
  }
  return celMap(members);
}

/** Of the metadata, rules see the name only. */
function metadataSchema({ properties = {}, ...rest }: Schema): Schema {
  return { ...rest, properties: { name: NAME, generateName: NAME, ...properties } };
}

function convertList(
  { items }: Schema,
  list: readonly JsonValue[],
  path: FieldPath,
  visit: Visit,
  conversion: Conversion,
): CelValue | undefined {
  if (items === undefined) return undefined;
  const values: CelValue[] = [];
  for (const [index, item] of list.entries()) {
    const converted = convert(items, item, [...path, index], visit, conversion);
    if (converted !== undefined) values.push(converted);
  }
  return celList(values);
}

/** Fields of these names have another name in rules, and keep their own behind a dot. */
export const RESERVED: ReadonlySet<string> = new Set(
  (
    'true false null in as break const continue else for function if import let loop package namespace return ' +
    'var void while'
  ).split(' '),
);

const ESCAPES: readonly (readonly [part: string, escaped: string])[] = [
  ['__', '__underscores__'],
  ['.', '__dot__'],
  ['-', '__dash__'],
  ['/', '__slash__'],
];

/** The name of a field in rules; undefined if rules cannot name it. */
export function escapedName(name: string): string | undefined {
  if (!/^[A-Za-z_.\-/][\w.\-/]*$/.test(name)) return undefined;
  if (RESERVED.has(name)) return `__${name}__`;
  return ESCAPES.reduce((text, [part, escaped]) => text.replaceAll(part, escaped), name);
}

function convertText(format: string | undefined, text: string): CelValue {
  switch (format) {
    case 'byte':
      return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    case 'date':
    case 'date-time': {
      const millis = Date.parse(format === 'date' ? `${text}T00:00:00Z` : text);
      return Number.isNaN(millis) ? text : reflect(TimestampSchema, timestampFromMs(millis));
    }
    case 'duration':
      return durationOf(text) ?? text;
    default:
      return text;
  }
}

const UNITS: Readonly<Record<string, bigint>> = {
  ...NANOSECONDS,
  d: 86_400_000_000_000n,
  w: 604_800_000_000_000n,
};

/** Longer ones are no amount of time that can be computed with. */
const LONGEST_DURATION = 1_000;

/** Reads a duration as API servers read the format `duration`: a duration of Go, or days or weeks. Undefined: it is none. */
function durationOf(text: string): CelValue | undefined {
  if (text.length > LONGEST_DURATION) return undefined;
  const [all, sign, parts = ''] = /^\s*([+-]?)((?:\d+(?:\.\d*)?\s*(?:ns|us|µs|μs|ms|s|m|h|d|w)\s*)+)$/.exec(text) ?? [];
  if (all === undefined) return undefined;
  let nanos = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of parts.matchAll(/(\d+)(?:\.(\d*))?\s*([a-zµμ]+)/g)) {
    const size = UNITS[unit] ?? 0n;
    nanos += BigInt(whole) * size + (BigInt(fraction.slice(0, 12).padEnd(12, '0')) * size) / 10n ** 12n;
  }
  const signed = sign === '-' ? -nanos : nanos;
  return reflect(
    DurationSchema,
    create(DurationSchema, { seconds: signed / 1_000_000_000n, nanos: Number(signed % 1_000_000_000n) }),
  );
}
