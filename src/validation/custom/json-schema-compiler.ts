import { _, Ajv, type Options } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { schemaProblems } from '../../manifest/schema-problems.ts';
import type { SchemaError } from '../../manifest/schema-validator.ts';
import { type Ip, looseForm, parseIp } from '../../model/text/ip-address.ts';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../model/text/json.ts';
import { mostInstructions } from '../../model/text/pattern-size.ts';
import { ok, problem } from '../../model/values/result.ts';
import { isTime } from '../values/formats.ts';
import { createMeter, type Meter, MOST_STEPS, TooMuchWork, tooMuchWork } from '../values/meter.ts';
import { PatternTooLarge } from '../values/metered-patterns.ts';
import { compilePattern } from '../values/patterns.ts';
import { STEP_OF_TEXT } from '../values/value-rules.ts';
import type { JsonSchemaCompiler } from './located-kinds.ts';

const UUID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;

/** The formats that are checked; others say nothing. */
const FORMATS: NonNullable<Options['formats']> = {
  'date-time': isTime,
  date: /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/,
  ipv4: (text: string) => hasFamily(text, 'IPv4'),
  ipv6: (text: string) => hasFamily(text, 'IPv6'),
  uuid: UUID,
};

function hasFamily(text: string, family: Ip['family']): boolean {
  const ip = parseIp(text);
  return ip?.family === family && looseForm(text, ip) !== 'leading zeros';
}

function optionsWith(meter: Meter): Options {
  // A pattern that matches in linear time. One that RE2 cannot express (a look-ahead) allows every text.
  const matching = (pattern: string): { test(text: string): boolean } => {
    const compiled = compilePattern(pattern);
    return {
      test: (text) => {
        if (compiled !== undefined) meter.charge(compiled.steps(text));
        return compiled?.matches(text) ?? true;
      },
    };
  };
  const regExp = Object.assign(matching, { code: 'undefined' });
  return {
    strict: false,
    allErrors: true,
    verbose: true,
    validateSchema: false,
    logger: false,
    formats: FORMATS,
    inlineRefs: false,
    code: { regExp: regExp as NonNullable<Options['code']>['regExp'] & object },
  };
}

/**
 * Makes a compiler of JSON Schemas of any draft, from draft 4 to 2020-12. Import this module when there is a schema, not before:
 * it loads the library.
 */
export function createJsonSchemaCompiler(): JsonSchemaCompiler {
  return ({ location, documents }) => {
    const root = documents[location];
    if (!isJsonObject(root) && typeof root !== 'boolean') return problem(`${location} is no JSON Schema`);
    try {
      const meter = createMeter();
      const ajv = validatorFor(isJsonObject(root) ? root.$schema : undefined, meter);
      const nodes = createMeter();
      nodes.reset(MOST_NODES);
      for (const [name, document] of Object.entries(documents)) {
        ajv.addSchema(metered(document, nodes) as object, urlOf(name));
      }
      const validate = ajv.getSchema(urlOf(location));
      if (validate === undefined) return problem(`${location} is no JSON Schema`);
      return ok((object) => {
        meter.reset(MOST_STEPS);
        try {
          if (validate(object) === true) return [];
          const errors = (validate.errors ?? []) as readonly SchemaError[];
          return schemaProblems(object, errors.slice(0, MOST_ERRORS));
        } catch (error) {
          // A schema that refers to itself for the same value ends in one or the other.
          if (error instanceof TooMuchWork || error instanceof RangeError) return [tooMuchWork()];
          throw error;
        }
      });
    } catch (error) {
      const why =
        error instanceof TooMuchWork && !(error instanceof PatternTooLarge)
          ? `it has more than ${MOST_NODES} parts, or as much in patterns`
          : error instanceof Error
            ? error.message
            : String(error);
      return problem(`the schema ${location} cannot be used: ${why}`);
    }
  };
}

/** The mappings and lists of one schema with its files. To compile one takes a quarter of a millisecond. */
const MOST_NODES = 30_000;
/** To compile this many instructions of a pattern takes as long as a node. */
const INSTRUCTIONS_OF_NODE = 40;
/** To sort out which errors matter takes a multiple of their number. */
const MOST_ERRORS = 1_000;

function validatorFor(draft: JsonValue | undefined, meter: Meter): Ajv {
  const name = typeof draft === 'string' ? draft : '';
  const ajv = name.includes('/2020-12/')
    ? new Ajv2020(optionsWith(meter))
    : name.includes('/2019-09/')
      ? new Ajv2019(optionsWith(meter))
      : new Ajv(optionsWith(meter));
  // Is looked at before references and alternatives.
  ajv.addKeyword({
    keyword: STEPS,
    before: '$ref',
    code: ({ gen, schema, parentSchema, data }) => {
      const charge = gen.scopeValue('keyword', { ref: meter.charge });
      gen.code(_`${charge}(${Number(schema)})`);
      const ofValue = stepsOfValue(parentSchema);
      if (ofValue === undefined) return;
      const chargeValue = gen.scopeValue('keyword', { ref: (value: JsonValue) => meter.charge(ofValue(value)) });
      gen.code(_`${chargeValue}(${data})`);
    },
  });
  // The library's own keyword compares each item with each other one.
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    error: { message: 'must not have two equal items' },
    validate: (isUnique: unknown, list: readonly JsonValue[]) =>
      isUnique !== true || new Set(list.map(canonicalJson)).size === list.length,
  });
  return ajv;
}

/** The keyword for the steps of a schema that do not depend on the value. */
const STEPS = 'x-fleetrelay-steps';

/** The keywords with work that depends on the size of the value, without keywords that look at each value by a schema. */
const LINEAR = ['minLength', 'maxLength', 'format', 'uniqueItems', 'patternProperties'];

/** Returns the steps for a value by the keywords of a schema whose work depends on it; undefined: there are none. */
function stepsOfValue(schema: Readonly<Record<string, unknown>>): ((value: JsonValue) => number) | undefined {
  if (LINEAR.every((keyword) => schema[keyword] === undefined)) return undefined;
  const patterns = Object.keys(schema.patternProperties ?? {}).length;
  return (value) => {
    if (typeof value === 'string') return value.length / STEP_OF_TEXT;
    if (Array.isArray(value)) return schema.uniqueItems === true ? JSON.stringify(value).length / STEP_OF_TEXT : 0;
    return isJsonObject(value) ? Object.keys(value).length * patterns : 0;
  };
}

/** The name of a document among the schemas: references are resolved against it. */
function urlOf(location: string): string {
  return /^https?:/.test(location) ? location : `file://${location.startsWith('/') ? '' : '/'}${encodeURI(location)}`;
}

/** The keywords that hold values, not schemas. */
const VALUES: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'example']);

/** The keywords that hold schemas by name. */
const MAPS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'definitions',
  '$defs',
  'dependentSchemas',
  'dependencies',
]);

/**
 * Returns a schema with the number of its own steps in each schema within that has others or takes long. Draft 4 writes `exclusiveMinimum: true` beside the
 * limit. Identifiers of schemas would move the base of references.
 */
function metered(schema: JsonValue, nodes: Meter): JsonValue {
  if (typeof schema === 'object') nodes.charge(1 + patternsOf(schema) / INSTRUCTIONS_OF_NODE);
  if (Array.isArray(schema)) return schema.map((each) => metered(each, nodes));
  if (!isJsonObject(schema)) return schema;
  const converted: Record<string, JsonValue> = {};
  let steps = 1;
  for (const [name, value] of Object.entries(schema)) {
    if (value === undefined || ((name === '$id' || name === 'id' || name === '$schema') && typeof value === 'string'))
      continue;
    const isMap = MAPS.has(name) && isJsonObject(value);
    converted[name] = VALUES.has(name) ? value : isMap ? meteredMap(value, nodes) : metered(value, nodes);
    steps += stepsOfKeyword(name, value);
  }
  for (const [limit, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    if (typeof converted[exclusive] !== 'boolean') continue;
    const isExclusive = converted[exclusive];
    const value = converted[limit];
    delete converted[exclusive];
    if (isExclusive && typeof value === 'number') {
      delete converted[limit];
      converted[exclusive] = value;
    }
  }
  // A small schema without others in it takes its steps from the schema around it.
  if (steps > 1 || converted.$ref !== undefined || LINEAR.some((keyword) => converted[keyword] !== undefined)) {
    converted[STEPS] = steps;
  }
  return converted;
}

/** The instructions of the patterns of a schema itself, or of the names of patterns of its fields. */
function patternsOf(schema: JsonValue): number {
  if (!isJsonObject(schema)) return 0;
  const { pattern, patternProperties } = schema;
  const patterns = [pattern, ...Object.keys(isJsonObject(patternProperties) ? patternProperties : {})];
  return patterns.reduce<number>((sum, each) => sum + (typeof each === 'string' ? mostInstructions(each) : 0), 0);
}

function meteredMap(schemas: JsonObject, nodes: Meter): JsonObject {
  const entries = Object.entries(schemas).map(([name, schema]) => [name, metered(schema ?? null, nodes)] as const);
  return Object.fromEntries(entries);
}

function stepsOfKeyword(name: string, value: JsonValue): number {
  if (name === 'definitions' || name === '$defs' || typeof value !== 'object' || value === null) return 0;
  return VALUES.has(name) ? JSON.stringify(value).length / STEP_OF_TEXT : Object.keys(value).length;
}
