import { Ajv, type Options } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { schemaProblems } from '../../manifest/schema-problems.ts';
import type { SchemaError } from '../../manifest/schema-validator.ts';
import { isJsonObject, type JsonValue } from '../../model/json.ts';
import { ok, problem } from '../../model/result.ts';
import { isTime } from '../values/formats.ts';
import { type Ip, looseForm, parseIp } from '../values/ip.ts';
import { compilePattern } from '../values/patterns.ts';
import type { JsonSchemaCompiler } from './located-kinds.ts';

const UUID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;

/** The formats that are checked; others say nothing. */
const FORMATS: Options['formats'] = {
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

/** A pattern that matches in linear time. One that RE2 cannot express (a look-ahead) allows every text. */
const regExp = Object.assign(
  (pattern: string): { test(text: string): boolean } => ({ test: compilePattern(pattern) ?? (() => true) }),
  { code: 'undefined' },
);

const OPTIONS: Options = {
  ...{ strict: false, allErrors: true, verbose: true, validateSchema: false, logger: false },
  ...{
    formats: FORMATS,
    inlineRefs: false,
    code: { regExp: regExp as NonNullable<Options['code']>['regExp'] & object },
  },
};

/**
 * Makes a compiler of JSON Schemas of any draft, from draft 4 to 2020-12. Import this module when there is a schema, not before:
 * it loads the library.
 */
export function createJsonSchemaCompiler(): JsonSchemaCompiler {
  return ({ location, documents }) => {
    const root = documents[location];
    if (!isJsonObject(root) && typeof root !== 'boolean') return problem(`${location} is no JSON Schema`);
    try {
      const ajv = validatorFor(isJsonObject(root) ? root.$schema : undefined);
      for (const [name, document] of Object.entries(documents)) {
        ajv.addSchema(withoutDraft4(document) as object, urlOf(name));
      }
      const validate = ajv.getSchema(urlOf(location));
      if (validate === undefined) return problem(`${location} is no JSON Schema`);
      return ok((object) => {
        if (validate(object) === true) return [];
        return schemaProblems(object, (validate.errors ?? []) as readonly SchemaError[]);
      });
    } catch (error) {
      return problem(
        `the schema ${location} cannot be used: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  };
}

function validatorFor(draft: JsonValue | undefined): Ajv {
  const name = typeof draft === 'string' ? draft : '';
  if (name.includes('/2020-12/')) return new Ajv2020(OPTIONS);
  return name.includes('/2019-09/') ? new Ajv2019(OPTIONS) : new Ajv(OPTIONS);
}

/** The name of a document among the schemas: references are resolved against it. */
function urlOf(location: string): string {
  return /^https?:/.test(location) ? location : `file://${location.startsWith('/') ? '' : '/'}${encodeURI(location)}`;
}

/** The keywords that hold values, not schemas. */
const VALUES: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'example']);

/** Draft 4 writes `exclusiveMinimum: true` beside the limit. Identifiers of schemas would move the base of references. */
function withoutDraft4(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map(withoutDraft4);
  if (!isJsonObject(schema)) return schema;
  const converted: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(schema)) {
    if (value === undefined || ((name === '$id' || name === 'id' || name === '$schema') && typeof value === 'string'))
      continue;
    converted[name] = VALUES.has(name) ? value : withoutDraft4(value);
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
  return converted;
}
