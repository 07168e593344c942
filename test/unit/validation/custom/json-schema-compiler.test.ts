import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/model/text/json.ts';
import { must } from '../../../../src/model/values/result.ts';
import { createJsonSchemaCompiler } from '../../../../src/validation/custom/json-schema-compiler.ts';
import { createLocatedKinds } from '../../../../src/validation/custom/located-kinds.ts';
import { findModelines } from '../../../../src/validation/custom/modelines.ts';
import { parseLocation } from '../../../../src/validation/custom/schema-template.ts';

function problemsOf(schema: JsonObject, object: JsonObject): readonly string[] {
  const file = { location: '/schemas/thing.json', documents: { '/schemas/thing.json': schema } };
  return must(createJsonSchemaCompiler()(file))(object).map(({ reason, message }) => `${reason} ${message}`);
}

describe('JSON Schemas of schema locations', () => {
  it.each([
    ['a draft that is not named', {}],
    ['draft 7', { $schema: 'http://json-schema.org/draft-07/schema#' }],
    ['draft 2019-09', { $schema: 'https://json-schema.org/draft/2019-09/schema' }],
    ['draft 2020-12', { $schema: 'https://json-schema.org/draft/2020-12/schema', $id: 'https://example.com/thing' }],
  ])('judge an object: %s', (_, draft) => {
    const schema = {
      ...draft,
      type: 'object',
      additionalProperties: false,
      required: ['spec'],
      properties: {
        spec: { type: 'object', properties: { size: { type: 'integer' } }, required: ['size'] },
        id: { type: 'string' },
      },
    };
    expect(problemsOf(schema, { spec: { size: 1 }, id: 'x' })).toEqual([]);
    expect(problemsOf(schema, { spec: { size: 'x' }, other: 1 })).toEqual([
      'UnknownField other is not a field that is known here',
      'WrongType spec.size must be a whole number, not text',
    ]);
    expect(problemsOf(schema, {})).toEqual(['MissingField spec is missing']);
  });

  it('knows the exclusive limits of draft 4 and references between files', () => {
    const documents = {
      'https://example.com/v1/thing.json': { properties: { size: { $ref: '_definitions.json#/definitions/size' } } },
      'https://example.com/v1/_definitions.json': {
        definitions: { size: { type: 'number', minimum: 0, exclusiveMinimum: true } },
      },
    };
    const check = must(createJsonSchemaCompiler()({ location: 'https://example.com/v1/thing.json', documents }));
    expect(check({ size: 1 })).toEqual([]);
    expect(check({ size: 0 }).map(({ path }) => path)).toEqual([['size']]);
  });

  it('reports one problem of alternatives, and texts without the form of a pattern or format', () => {
    const port = { oneOf: [{ type: 'string' }, { type: 'integer' }] };
    const schema = {
      properties: { port, name: { pattern: '^(a+)+$' }, at: { format: 'date-time' }, any: { format: 'x' } },
    };
    const wrong = { port: true, name: `${'a'.repeat(5_000)}!`, at: 'now', any: 'y' };
    expect(problemsOf(schema, wrong).map((text) => text.split(' ')[0])).toEqual([
      ...['WrongChoice', 'WrongValue', 'WrongValue'],
    ]);
    expect(problemsOf(schema, { port: 80, name: 'aaa', at: '2024-01-01T00:00:00Z' })).toEqual([]);
  });

  it('gives an error at the kind of an object if a schema cannot be used', () => {
    const name = { group: 'example.com', version: 'v1' };
    const broken = { location: '/b.json', documents: { '/b.json': { type: 'nonsense' } } };
    const kinds = createLocatedKinds(
      [
        { ...name, kind: 'Broken', file: broken },
        { ...name, kind: 'Unreadable', problem: 'the schema x cannot be read: it is away' },
      ],
      createJsonSchemaCompiler(),
    );
    const found = ['Broken', 'Unreadable'].map((kind) => kinds.find('example.com', 'v1', kind)?.rules?.({}) ?? []);
    expect(found.flat().map(({ reason, path }) => [reason, path])).toEqual([
      ['SchemaUnreadable', ['kind']],
      ['SchemaUnreadable', ['kind']],
    ]);
    expect(found[0]?.[0]?.message).toContain('the schema /b.json cannot be used: ');
    expect(kinds.find('example.com', 'v2', 'Broken')).toBeUndefined();
  });
});

describe('a JSON Schema of a hostile repository', () => {
  const TOO_MUCH =
    'SchemaUnreadable the schema of the kind cannot be used: to check this object takes more than 2000000 steps';
  const nested = (depth: number): JsonObject => (depth === 0 ? {} : { a: nested(depth - 1) });
  const twice = (reference: string) => [{ $ref: reference }, { $ref: reference }];
  const chain = Object.fromEntries(
    Array.from({ length: 60 }, (_, index) => [`d${index}`, { allOf: twice(`#/definitions/d${index + 1}`) }]),
  );

  it.each<readonly [string, JsonObject, JsonObject]>([
    ['refers twice to its root for each value', { properties: { a: { allOf: twice('#') } } }, nested(90)],
    [
      'refers twice to a definition that does the same',
      { ...chain, definitions: { ...chain, d60: {} }, allOf: twice('#/definitions/d0') },
      {},
    ],
    ['refers to itself for the same value', { $ref: '#' }, {}],
    [
      'has a pattern with very many states at once',
      { properties: { a: { pattern: '(a*)*'.repeat(1_000) } } },
      { a: 'a'.repeat(3_000) },
    ],
    ['refers to itself through an alternative', { anyOf: [{ not: { $ref: '#' } }] }, {}],
    [
      'has many alternatives for many values',
      { properties: { a: { items: { anyOf: Array.from({ length: 1_000 }, () => ({ type: 'string' })) } } } },
      { a: Array.from({ length: 10_000 }, () => 1) },
    ],
    [
      'has patterns for a long text',
      { properties: { a: { allOf: Array.from({ length: 100 }, () => ({ pattern: '(a|b|ab|ba){50}c' })) } } },
      { a: 'ab'.repeat(100_000) },
    ],
    [
      'has patterns for many names',
      { patternProperties: Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`${index}x`, {}])) },
      Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`a${index}`, 1])),
    ],
  ])('that %s ends, and says so', (_, schema, object) => {
    expect(problemsOf(schema, object)).toEqual([TOO_MUCH]);
  });

  it.each([
    ['nested too deep', Array.from({ length: 20_000 }).reduce<JsonObject>((inner) => ({ not: inner }), {})],
    [
      'of too many parts',
      { properties: Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`${index}`, {}])) },
    ],
  ])('%s cannot be used', (_, schema) => {
    const file = { location: '/a.json', documents: { '/a.json': schema } };
    expect(createJsonSchemaCompiler()(file)).toMatchObject({ ok: false, problem: expect.stringContaining('/a.json') });
  });

  it('compares items in linear time, by value', () => {
    const schema = { properties: { list: { uniqueItems: true } } };
    const list = Array.from({ length: 20_000 }, (_, index) => ({ a: index, b: 1 }));
    expect(problemsOf(schema, { list })).toEqual([]);
    expect(problemsOf(schema, { list: [...list, { b: 1, a: 7 }] })).toEqual([
      'WrongValue list must not have two equal items',
    ]);
  });

  it('may name a field as a keyword', () => {
    const schema = {
      additionalProperties: false,
      properties: { properties: { type: 'integer' }, not: { type: 'integer' } },
    };
    expect(problemsOf(schema, { properties: 1, not: 1 })).toEqual([]);
    expect(problemsOf(schema, { properties: 'x', not: 1 })).toEqual([
      'WrongType properties must be a whole number, not text',
    ]);
  });
});

describe('a schema location', () => {
  const route = { group: 'gateway.networking.k8s.io', version: 'v1', kind: 'HTTPRoute' };
  const pathOf = (location: string, of = route) => must(parseLocation(location, '1.36.0'))(of);

  it('has the variables of kubeconform', () => {
    expect(pathOf('s/{{ .Group }}/{{.ResourceKind}}_{{- .ResourceAPIVersion -}}.json')).toBe(
      's/gateway.networking.k8s.io/httproute_v1.json',
    );
    expect(pathOf('https://example.com/s/')).toBe(
      'https://example.com/s/v1.36.0-standalone-strict/httproute-gateway-v1.json',
    );
    expect(pathOf('{{.Group}}/{{.ResourceKind}}{{.KindSuffix}}.json', { group: '', version: 'v1', kind: 'Pod' })).toBe(
      'v1/pod-v1.json',
    );
  });

  it('is refused with a variable that does not exist', () => {
    expect(parseLocation('{{ .Kind }}.json', '1.36.0')).toMatchObject({ ok: false });
  });

  it.each(['../../etc/passwd', 'a/b', '', 'x%2e'])('has no path for the kind "%s"', (kind) => {
    expect(pathOf('{{.ResourceKind}}.json', { ...route, kind })).toBeUndefined();
    expect(pathOf('{{.Group}}.json', { ...route, group: kind === '' ? '..' : kind })).toBeUndefined();
  });
});

describe('the schema that a file names', () => {
  it('is found in comments, with its place', () => {
    const text =
      'a: 1\n# yaml-language-server: $schema=./a.json\n---\n#yaml-language-server:$schema = https://e.com/b.json \nb: 1\n';
    expect(findModelines(text)).toEqual([
      { line: 2, column: 33, reference: './a.json' },
      { line: 4, column: 33, reference: 'https://e.com/b.json' },
    ]);
    expect(findModelines('  # yaml-language-server: $schema=x\nb: "# yaml-language-server: $schema=x"\n')).toEqual([]);
  });
});
