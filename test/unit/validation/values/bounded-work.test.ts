import { describe, expect, it } from 'vitest';
import type { FieldProblem } from '../../../../src/manifest/problem.ts';
import type { JsonObject, JsonValue } from '../../../../src/model/text/json.ts';
import { createObjectCheck } from '../../../../src/validation/check-object.ts';
import { createCustomKinds } from '../../../../src/validation/custom/custom-kinds.ts';
import { openKubernetesSchemas } from '../../../../src/validation/kubernetes-schemas.ts';
import { compilePattern } from '../../../../src/validation/values/patterns.ts';

const kubernetes = await openKubernetesSchemas('1.36');
const metadata = { name: 'a', namespace: 'default' };

/** The reasons and places of what is found in a custom object whose spec has the schema. */
function judged(spec: JsonObject, value: JsonValue): readonly string[] {
  return [...new Set(checkOf(spec)(value).map(({ reason, path }) => `${reason} ${path.join('.')}`))];
}

/** Checks objects by the same definition. */
function checkOf(spec: JsonObject, compile = compilePattern): (value: JsonValue) => readonly FieldProblem[] {
  const openAPIV3Schema = { type: 'object', properties: { spec } };
  const definition = {
    spec: {
      group: 'example.com',
      names: { kind: 'Thing', plural: 'things' },
      versions: [{ name: 'v1', served: true, schema: { openAPIV3Schema } }],
    },
  };
  const check = createObjectCheck({ kubernetes, custom: [createCustomKinds([definition])], compilePattern: compile });
  return (value) => check({ apiVersion: 'example.com/v1', kind: 'Thing', metadata, spec: value });
}

const many = <Item>(count: number, item: (index: number) => Item): readonly Item[] =>
  Array.from({ length: count }, (_, index) => item(index));
const objectOf = (count: number, value: (index: number) => JsonValue): JsonObject =>
  Object.fromEntries(many(count, (index) => [`f${index}`, value(index)]));

const ANY = { 'x-kubernetes-preserve-unknown-fields': true };
const string = { type: 'string' };
const list = (items: JsonObject): JsonObject => ({ type: 'array', items });

describe('the check of an object by the schema of its definition ends, and says so', () => {
  it.each<readonly [string, JsonObject, JsonValue]>([
    [
      'of many alternatives for many values',
      list({ type: 'object', anyOf: many(1_000, (index) => ({ required: [`f${index}`] })) }),
      many(10_000, () => ({})),
    ],
    [
      'of alternatives in alternatives',
      {
        type: 'string',
        anyOf: many(100, () => ({ anyOf: many(100, () => ({ anyOf: many(30, () => ({ minLength: 9 })) })) })),
      },
      'a',
    ],
    [
      'of a text and a pattern with very many states at once',
      { ...string, pattern: '(a*)*'.repeat(1_000) },
      'a'.repeat(3_000),
    ],
    [
      'of many patterns that take long to compile',
      { type: 'object', properties: objectOf(60, (index) => ({ ...string, pattern: `^[a-z]{1,${1000 - index}}$` })) },
      objectOf(60, () => 'a'),
    ],
    ['of a long text and a large pattern', { ...string, pattern: '(a|b|ab|ba){500}c' }, 'ab'.repeat(500_000)],
    [
      'of the length of a long text',
      { ...string, allOf: many(1_000, () => ({ minLength: 1 })) },
      'a'.repeat(1_000_000),
    ],
    [
      'of many defaults for many values',
      list({ type: 'object', properties: objectOf(1_000, () => ({ ...string, default: 'a' })) }),
      many(10_000, () => ({})),
    ],
    [
      'of many fields that are required',
      list({ type: 'object', required: many(1_000, (index) => `f${index}`) }),
      many(10_000, () => ({})),
    ],
    [
      'of many large values to choose from',
      list({ type: 'object', ...ANY, enum: many(1_000, (index) => ({ a: many(100, () => 0), index })) }),
      many(200, () => ({ a: many(100, () => 0) })),
    ],
  ])('%s', (_, schema, value) => {
    expect(judged(schema, value)).toContain('SchemaUnreadable kind');
  });
});

it('an object is judged by the patterns of its own fields, and patterns of other fields cost nothing', () => {
  // An API server takes this definition, and any object of it.
  const schema = {
    type: 'object',
    properties: objectOf(500, (index) => ({ ...string, pattern: `^[a-z]{1,${1000 - index}}$` })),
  };
  expect(
    judged(
      schema,
      objectOf(17, () => 'a'),
    ),
  ).toEqual([]);
  expect(judged(schema, { f3: 'A' })).toEqual(['WrongValue spec.f3']);
});

it('pays for a pattern in each object, also for one that is compiled already', () => {
  const check = checkOf({
    type: 'object',
    properties: objectOf(60, (index) => ({ ...string, pattern: `^[a-z]{1,${1000 - index}}$` })),
  });
  const first = objectOf(30, () => 'a');
  const second = Object.fromEntries(many(30, (index) => [`f${30 + index}`, 'a']));
  expect([first, second, { ...first, ...second }, first].map((value) => check(value).length)).toEqual([0, 0, 1, 0]);
});

it('keeps compiled patterns up to a sum of their instructions', () => {
  const compiled: string[] = [];
  const check = checkOf(
    {
      type: 'object',
      properties: objectOf(100, (index) => ({ ...string, pattern: `^[a-z]{1,${1000 - index}}$` })),
    },
    (pattern) => {
      compiled.push(pattern);
      return compilePattern(pattern);
    },
  );
  for (const index of [98, 99, 98]) check({ [`f${index}`]: 'a' });
  expect(compiled).toHaveLength(2);
  // These have more than all that are kept.
  for (const index of many(98, (at) => at)) check({ [`f${index}`]: 'a' });
  expect(compiled).toHaveLength(100);
  for (const index of [97, 98]) check({ [`f${index}`]: 'a' });
  expect(compiled.slice(100)).toEqual(['^[a-z]{1,902}$']);
});

it.each([
  ['is long when it is compiled', 'a{1000}'.repeat(60), /has up to 1\d{5} instructions/],
  ['has a class with very many properties', `[${'\\p{L}'.repeat(1_000)}]`, /has up to 69\d+ instructions/],
])('says where a pattern is that %s', (_, pattern, message) => {
  const found = checkOf({
    type: 'array',
    items: { type: 'object', properties: { b: { not: { ...string, pattern } } } },
  })([{}, { b: 'a' }]);
  expect(found).toMatchObject([{ reason: 'SchemaUnreadable', path: ['spec', 1, 'b'] }]);
  expect(found[0]?.message).toMatch(message);
  expect(found[0]?.message).toContain('cannot be used at properties.spec.items.properties.b.not.pattern: the pattern ');
});

it('a large object of a usual kind is judged completely', () => {
  const host = {
    ...string,
    maxLength: 253,
    pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$',
  };
  const port = { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] };
  const schema = list({
    type: 'object',
    required: ['host'],
    properties: { host, port, mode: { enum: ['a', 'b'], ...string } },
  });
  const value = (host: string) =>
    many(2_000, (index) => ({ host: `${host}-${index}.shop.example.com`, port: 80, mode: 'a' }));
  expect(judged(schema, value('web'))).toEqual([]);
  expect(judged(schema, [...value('web'), { host: 'A' }])).toEqual(['WrongValue spec.2000.host']);
});

it('an object of a built-in kind with very many mistakes has the first of them alone', () => {
  const check = createObjectCheck({ kubernetes });
  const problems = check({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: objectOf(100_000, () => 1) });
  expect(problems.map(({ reason }) => reason)).toEqual(many(100, () => 'WrongType'));
});
