import type { JsonObject, JsonValue } from '../../src/model/text/json.ts';

/** A schema of a field of a custom kind, with values that an API server accepts and values that it refuses. */
export interface CustomValues {
  readonly name: string;
  readonly schema: JsonObject;
  readonly accepted: readonly JsonValue[];
  readonly refused: readonly JsonValue[];
}

const text = (keywords: JsonObject): JsonObject => ({ type: 'string', ...keywords });
const format = (name: string): JsonObject => text({ format: name });
const size: JsonObject = { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } } };

/** Each field of {@link customDefinition}; the verdicts come from a real API server. */
export const customValues: readonly CustomValues[] = [
  { name: 'text', schema: { type: 'string' }, accepted: ['', 'a', null], refused: [1, true, {}, []] },
  { name: 'whole', schema: { type: 'integer' }, accepted: [1, -1, 2 ** 40], refused: ['1', 1.5, true, 1e300] },
  { name: 'int32', schema: { type: 'integer', format: 'int32' }, accepted: [1], refused: [2 ** 31, -(2 ** 31) - 1] },
  { name: 'number', schema: { type: 'number' }, accepted: [1, 1.5], refused: ['1'] },
  { name: 'boolean', schema: { type: 'boolean' }, accepted: [true], refused: ['true', 1, 0] },
  {
    name: 'list',
    schema: { type: 'array', items: { type: 'string' } },
    accepted: [[], ['a']],
    refused: [{}, 'a', [1], [null]],
  },
  {
    name: 'nulls',
    schema: { type: 'array', items: { type: 'string', nullable: true } },
    accepted: [[null]],
    refused: [],
  },
  {
    name: 'mapping',
    schema: size,
    accepted: [{}, { a: 1 }, { a: null }],
    refused: [[], 'a', { c: 1 }, { A: 1 }, { a: 'b' }],
  },
  {
    name: 'required',
    schema: { ...size, required: ['a'] },
    accepted: [{ a: 1 }],
    refused: [{}, { a: null }, { b: 1 }],
  },
  {
    name: 'requiredNullable',
    schema: { type: 'object', required: ['a'], properties: { a: { type: 'integer', nullable: true } } },
    accepted: [{ a: null }, { a: 0 }],
    refused: [{}],
  },
  {
    name: 'requiredDefault',
    schema: { type: 'object', required: ['a'], properties: { a: { type: 'integer', default: 1 } } },
    accepted: [{}, { a: null }],
    refused: [{ a: 'b' }],
  },
  {
    name: 'values',
    schema: { type: 'object', additionalProperties: { type: 'integer' } },
    accepted: [{ x: 1 }, { x: null }],
    refused: [{ x: 'a' }],
  },
  {
    name: 'open',
    schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    accepted: [{ x: { y: 1 } }],
    refused: ['a'],
  },
  {
    name: 'anything',
    schema: { 'x-kubernetes-preserve-unknown-fields': true },
    accepted: [1, 'a', [], { x: 1 }, null],
    refused: [],
  },
  {
    name: 'openWithin',
    schema: {
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
      properties: { a: { type: 'object', properties: { b: { type: 'string' } } } },
    },
    accepted: [{ x: 1, a: { b: 'c' } }],
    refused: [{ a: { x: 1 } }, { a: { b: 1 } }],
  },
  {
    name: 'either',
    schema: { 'x-kubernetes-int-or-string': true },
    accepted: [1, '1', '50%', 2 ** 40],
    refused: [1.5, true, {}],
  },
  {
    name: 'eitherForms',
    schema: {
      'x-kubernetes-int-or-string': true,
      anyOf: [{ type: 'integer' }, { type: 'string' }],
      pattern: '^[0-9]+%?$',
    },
    accepted: [1, '1', '50%'],
    refused: ['a', true],
  },
  { name: 'enumOfTexts', schema: text({ enum: ['a', 'b'] }), accepted: ['a'], refused: ['', 'A', 'c'] },
  { name: 'enumOfNumbers', schema: { type: 'integer', enum: [1, 2] }, accepted: [1], refused: [3] },
  {
    name: 'lengths',
    schema: text({ minLength: 2, maxLength: 3 }),
    accepted: ['ab', 'äöü', '😀😀😀'],
    refused: ['a', '', 'abcd', '😀'],
  },
  { name: 'pattern', schema: text({ pattern: '^a+$' }), accepted: ['aa'], refused: ['', 'ab', 'baa'] },
  { name: 'patternWithin', schema: text({ pattern: 'b' }), accepted: ['abc'], refused: ['ac'] },
  {
    name: 'patternOfRe2',
    schema: text({ pattern: '(?i)^\\pL[[:digit:]]\\z' }),
    accepted: ['ä1'],
    refused: ['11', 'a1\n'],
  },
  { name: 'slowPattern', schema: text({ pattern: '^(a+)+$' }), accepted: ['a'], refused: [`${'a'.repeat(40)}!`] },
  { name: 'bounds', schema: { type: 'number', minimum: 1, maximum: 2 }, accepted: [1, 1.5, 2], refused: [0, 2.1] },
  {
    name: 'openBounds',
    schema: { type: 'integer', minimum: 1, maximum: 3, exclusiveMinimum: true, exclusiveMaximum: true },
    accepted: [2],
    refused: [1, 3],
  },
  { name: 'steps', schema: { type: 'number', multipleOf: 0.1 }, accepted: [0.3, 1.5], refused: [0.35] },
  {
    name: 'items',
    schema: { type: 'array', items: { type: 'integer' }, minItems: 1, maxItems: 2 },
    accepted: [[1]],
    refused: [[], [1, 2, 3]],
  },
  {
    name: 'amount',
    schema: { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 1, maxProperties: 2 },
    accepted: [{ a: 1 }],
    refused: [{}, { a: 1, b: 2, c: 3 }],
  },
  {
    name: 'set',
    schema: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
    accepted: [['a', 'b']],
    refused: [['a', 'a']],
  },
  {
    name: 'map',
    schema: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name', 'kind'],
      items: {
        type: 'object',
        required: ['name'],
        properties: { name: { type: 'string' }, kind: { type: 'string', default: 'A' }, x: { type: 'integer' } },
      },
    },
    accepted: [[{ name: 'a' }, { name: 'a', kind: 'B' }]],
    refused: [[{ name: 'a' }, { name: 'a', x: 1 }], [{ name: 'a' }, { name: 'a', kind: 'A' }], [{ kind: 'A' }]],
  },
  {
    name: 'oneOfFields',
    schema: { ...size, oneOf: [{ required: ['a'] }, { required: ['b'] }] },
    accepted: [{ a: 1 }, { b: 1 }],
    refused: [{}, { a: 1, b: 1 }],
  },
  {
    name: 'anyOfFields',
    schema: { ...size, anyOf: [{ required: ['a'] }, { required: ['b'] }] },
    accepted: [{ a: 1 }, { a: 1, b: 1 }],
    refused: [{}],
  },
  {
    name: 'notBoth',
    schema: { ...size, not: { required: ['a', 'b'] } },
    accepted: [{}, { a: 1 }],
    refused: [{ a: 1, b: 1 }],
  },
  {
    name: 'allOf',
    schema: { ...size, allOf: [{ properties: { a: { minimum: 1 } } }, { properties: { a: { maximum: 3 } } }] },
    accepted: [{}, { a: 2 }],
    refused: [{ a: 0 }, { a: 4 }, { c: 1 }],
  },
  {
    name: 'defaultWithin',
    schema: {
      type: 'object',
      properties: { a: { type: 'integer', default: 1 }, b: { type: 'integer' } },
      oneOf: [{ required: ['a'] }, { required: ['b'] }],
    },
    accepted: [{}],
    refused: [{ b: 1 }],
  },
  {
    name: 'embedded',
    schema: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
    accepted: [
      { apiVersion: 'v1', kind: 'A', metadata: { name: 'a' }, x: 1 },
      { apiVersion: 'v1', kind: 'A' },
    ],
    refused: [{}, { apiVersion: 'v1' }, { apiVersion: 1, kind: 'A' }],
  },
  { name: 'byte', schema: format('byte'), accepted: ['aGVsbG8='], refused: ['aGVsbG8', '!'] },
  {
    name: 'time',
    schema: format('date-time'),
    accepted: ['2006-01-02T15:04:05Z', '2006-01-02T15:04:05.1+01:00'],
    refused: ['', '2006-01-02', 'now'],
  },
  { name: 'date', schema: format('date'), accepted: ['2006-01-02'], refused: ['2006-1-2', '2006-02-30'] },
  {
    name: 'duration',
    schema: format('duration'),
    accepted: ['30s', '1h30m', '1.5h', '0', '3 days', '1d'],
    refused: ['', '30', 'a', '5 parsecs'],
  },
  {
    name: 'ipv4',
    schema: format('ipv4'),
    accepted: ['10.0.0.1', '010.0.0.1', '::ffff:10.0.0.1'],
    refused: ['10.0.0', '::1', '10.0.0.256', ''],
  },
  {
    name: 'ipv6',
    schema: format('ipv6'),
    accepted: ['::1', '2001:db8::1', '::ffff:10.0.0.1'],
    refused: ['10.0.0.1', ':::1', '::ffff:010.0.0.1', '10.0.0.1::', ''],
  },
  {
    name: 'cidr',
    schema: format('cidr'),
    accepted: ['10.0.0.0/8', '10.0.0.1/8', '::/0'],
    refused: ['10.0.0.0', '10.0.0.0/33', ''],
  },
  {
    name: 'mac',
    schema: format('mac'),
    accepted: ['00:00:5e:00:53:01', '00-00-5e-00-53-01', '0000.5e00.5301'],
    refused: ['00:00:5e:00:53', ''],
  },
  {
    name: 'uuid',
    schema: format('uuid'),
    accepted: ['6ba7b810-9dad-11d1-80b4-00c04fd430c8', '6BA7B8109DAD11D180B400C04FD430C8'],
    refused: ['6ba7b810', ''],
  },
  {
    name: 'uuid4',
    schema: format('uuid4'),
    accepted: ['6ba7b810-9dad-41d1-80b4-00c04fd430c8'],
    refused: ['6ba7b810-9dad-11d1-80b4-00c04fd430c8'],
  },
  {
    name: 'uri',
    schema: format('uri'),
    accepted: ['https://example.com/a', '/a/b', 'a:b'],
    refused: ['', 'example.com', 'a b'],
  },
  {
    name: 'email',
    schema: format('email'),
    accepted: ['a@example.com', 'A B <a@example.com>'],
    refused: ['', 'a', 'a@', '@b'],
  },
  {
    name: 'hostname',
    schema: format('hostname'),
    accepted: ['example.com', 'a', '1a.example.com'],
    refused: ['', 'a..b', '-a.com', 'a_b.com'],
  },
  { name: 'hexcolor', schema: format('hexcolor'), accepted: ['#fff', '00FF00'], refused: ['', '#ff', 'red'] },
  { name: 'shortName', schema: format('k8s-short-name'), accepted: ['a-1'], refused: ['', 'A', 'a.b', '-a'] },
  { name: 'longName', schema: format('k8s-long-name'), accepted: ['a.b-1'], refused: ['', 'A', 'a..b'] },
  { name: 'otherFormat', schema: format('semver'), accepted: ['', 'a'], refused: [] },
  { name: 'password', schema: format('password'), accepted: ['', 'a'], refused: [1] },
];

/** The definition whose `spec` has a field for each of {@link customValues}. */
export const customDefinition: JsonObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'samples.schemas.example.com' },
  spec: {
    group: 'schemas.example.com',
    names: { kind: 'Sample', plural: 'samples', listKind: 'SampleList', singular: 'sample' },
    scope: 'Namespaced',
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: Object.fromEntries(customValues.map(({ name, schema }) => [name, schema])),
              },
            },
          },
        },
      },
    ],
  },
};

/** An object of {@link customDefinition} with one field. */
export function sampleWith(field: string, value: JsonValue): JsonObject {
  return {
    apiVersion: 'schemas.example.com/v1',
    kind: 'Sample',
    metadata: { name: 'sample' },
    spec: { [field]: value },
  };
}
