import { celEnv, parse, plan } from '@bufbuild/cel';
import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, it } from 'vitest';
import { mostInstructions } from '../../../../src/model/text/pattern-size.ts';
import { createEnvironment } from '../../../../src/validation/custom/cel/environment.ts';
import { createCelEvaluator } from '../../../../src/validation/custom/cel/evaluator.ts';
import { createMeter } from '../../../../src/validation/values/meter.ts';
import type { Schema } from '../../../../src/validation/values/schema.ts';

const SCHEMA: Schema = {
  type: 'object',
  properties: {
    list: { type: 'array', items: { type: 'integer' } },
    text: { type: 'string' },
    map: { type: 'object', additionalProperties: { type: 'string' } },
  },
};

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at);

function judge(rule: string, object: Readonly<Record<string, unknown>>) {
  const { compileRules, notEvaluated } = createCelEvaluator();
  const at = 'crds/things.yaml:12:9';
  const check = compileRules({ ...SCHEMA, 'x-kubernetes-validations': [{ rule, at }] }, 'Thing');
  return { problems: check(object as never), notEvaluated: notEvaluated() };
}

/** A text or list that is doubled 40 times. */
const doubled = (what: string, by: string): string =>
  `${`cel.bind(x, ${by}, `.repeat(40)}x${')'.repeat(40)}.size() > 0`.replace(by, what);

const nested = (body: string): string =>
  `${'cel.bind(x, [x, x], '.repeat(40)}${body}${')'.repeat(40)}`.replace('[x, x]', '[1]');

describe('the steps of rules in CEL', () => {
  it.each([
    ['loops in loops', 'self.list.all(a, self.list.all(b, self.list.all(c, a == a)))'],
    ['loops over computed lists', 'self.list.map(a, self.list.map(b, self.list.map(c, c))).size() > 0'],
    ['loops that end at once, because their range is copied', 'self.list.all(a, self.list.exists(b, true))'],
    ['a text that doubles', doubled('"a"', 'x + x')],
    ['a list that doubles', doubled('[1]', 'x + x')],
    ['bytes that double', doubled('b"a"', 'x + x')],
    ['a text of a list in itself', nested('"%s".format([x]).size() > 0')],
    ['a comparison of lists in themselves', nested('x == [x, x]')],
    ['a list in itself that is flattened', nested('x.flatten(50).size() > 0')],
    ['comparisons of large values', 'self.list.all(a, self.list.all(b, self.list == self.list))'],
    ['a replacement of each character', "self.text.replace('a', self.text).size() > 0"],
    ['a replacement between all characters', "self.text.replace('', self.text).size() > 0"],
    ['a joined list of a long text', 'self.list.map(a, self.text).join(self.text).size() > 0'],
    ['a format with a long text', "self.list.map(a, '%s'.format([self.text])).join().size() > 0"],
    ['a format in hexadecimal', "self.list.all(a, '%x'.format([self.text]).size() > 0)"],
    ['quoted texts', 'self.list.all(a, strings.quote(self.text).size() > 0)'],
    ['sizes of texts', 'self.list.all(a, self.text.size() > 0)'],
    ['sums of texts', 'self.list.map(a, self.text).sum().size() > 0'],
    ['sums of bytes', 'self.list.map(a, bytes(self.text)).sum().size() > 0'],
    ['texts to bytes', 'self.list.all(a, bytes(self.text).size() > 0)'],
    ['bytes to texts', 'cel.bind(b, bytes(self.text), self.list.all(a, string(b).size() > 0))'],
    ['characters', "self.list.all(a, self.text.split('').size() > 0)"],
    ['letters', "self.list.all(a, self.text.upperAscii() != '')"],
    ['a search for a long text', "self.list.all(a, self.text.lastIndexOf('b' + self.text.substring(25000)) < 0)"],
    ['numbers with many digits', "self.list.all(a, int(self.text.replace('a', '9')) > 0 || true)"],
    ['versions with many digits', "self.list.all(a, isSemver('1.0.0-' + self.text))"],
    ['quantities', 'self.list.all(a, !isQuantity(self.text))'],
    [
      'numbers as keys of the parameters of a URL',
      "[url('http://a/?' + self.map.map(k, k).join('&')).getQuery()].all(q, self.list.exists(a, q[a] == []))",
    ],
    ['URLs', 'self.list.all(a, !isURL(self.text))'],
    ['forms of names', 'self.list.all(a, format.dns1123Label().validate(self.text).hasValue())'],
    ['numbers as keys of a large mapping', "self.list.exists(a, self.map[a] == 'x')"],
    ['a pattern that is slow elsewhere', 'self.list.all(a, !self.text.matches("^(a+)+(a+)+(a+)+b$"))'],
    [
      'a pattern that is long when it is compiled',
      "self.text.matches('(a|b){1000}(c|d){1000}'+self.text.substring(0,1))",
    ],
    ['many patterns', "self.list.all(a, !self.text.matches('b{400}' + string(a)))"],
    ['all matches of a pattern', "self.list.all(a, self.text.findAll('a').size() > 0)"],
    ['long expressions of constants', `self.list.all(a, ${'true && '.repeat(2_000)}true)`],
    ['zones', "self.list.all(a, self.list.all(b, timestamp('2024-01-01T00:00:00Z').getHours('Europe/Berlin') > -1))"],
    ['errors', "self.list.exists(a, self.list.exists(b, quantity('x') == quantity('1')))"],
  ])('are limited: %s', (_, rule) => {
    const map = Object.fromEntries(numbers(5_000).map((at) => [`k${at}`, 'v']));
    const { problems, notEvaluated } = judge(rule, { list: numbers(5_000), text: 'a'.repeat(50_000), map });
    expect(notEvaluated).toEqual([]);
    expect(problems).toEqual([expect.objectContaining({ reason: 'RuleTooExpensive', path: [] })]);
  });

  it('are named with the place of the rule and of the object', () => {
    const items: Schema = {
      type: 'string',
      'x-kubernetes-validations': [{ rule: 'self.replace("a", self) != ""', at: 'c.yaml:3:1' }],
    };
    const schema: Schema = { type: 'object', properties: { texts: { type: 'array', items } } };
    const { compileRules } = createCelEvaluator();
    expect(compileRules(schema, 'Thing')({ texts: ['b', 'a'.repeat(100_000)] })).toMatchObject([
      {
        path: ['texts', 1],
        message:
          'texts[1] is not judged by the rule at c.yaml:3:1: it takes more than 1000000 steps: self.replace("a", self) != ""',
      },
    ]);
  });

  it('are limited for an object, and the rules after that are not evaluated', () => {
    const rule = { rule: 'lists.range(100000).all(a, a >= 0)' };
    const schema: Schema = {
      type: 'object',
      properties: { list: { type: 'array', items: { type: 'integer', 'x-kubernetes-validations': [rule] } } },
    };
    const { compileRules } = createCelEvaluator();
    const problems = compileRules(schema, 'Thing')({ list: [...numbers(1_000)] });
    expect(problems).toMatchObject([
      { message: expect.stringContaining('the rules for the object take more than 5000000 steps together') },
    ]);
  });

  it('count small rules of very many values', () => {
    const rules = numbers(1_000).map((at) => ({ rule: `self.a != ${at} || true` }));
    const item: Schema = { type: 'object', properties: { a: { type: 'integer' } }, 'x-kubernetes-validations': rules };
    const schema: Schema = { type: 'object', properties: { list: { type: 'array', items: item } } };
    const { compileRules } = createCelEvaluator();
    expect(compileRules(schema, 'Thing')({ list: numbers(5_000).map((a) => ({ a })) })).toMatchObject([
      { reason: 'RuleTooExpensive' },
    ]);
  });

  it('are the same for each object, whatever was judged before', () => {
    const rule = 'self.text.matches("(a|b){300}c{300}")';
    const { compileRules } = createCelEvaluator();
    const check = compileRules({ ...SCHEMA, 'x-kubernetes-validations': [{ rule }] }, 'Thing');
    const objects = numbers(20).map(() => ({ text: 'a'.repeat(2_000) }));
    expect(
      new Set(
        objects.map((object) =>
          check(object)
            .map(({ message }) => message)
            .join(),
        ),
      ).size,
    ).toBe(1);
  });

  it('are counted for each mapping that a function makes', () => {
    const { env } = createEnvironment(createMeter());
    const made = [...env.funcs].filter(({ result }) => result.kind === 'map').map(({ name }) => name);
    // A new one makes its mapping by createMembers, and has a rule with a number as key above.
    expect([...new Set(made)].sort()).toEqual(['@map', 'getQuery']);
  });

  it('are counted by every function', () => {
    const { env } = createEnvironment(createMeter());
    // Each function ends in the meter, which has no steps.
    const uncounted = [...env.funcs].filter((func) => {
      const { target, arguments: types } = func;
      const values = [...(target === undefined ? [] : [target]), ...types];
      return (
        values.length > 0 &&
        values.every(({ kind }) => kind === 'scalar') &&
        !/too many steps/.test(String(resultOf(func)))
      );
    });
    expect(uncounted.map(({ id }) => id)).toEqual([]);
  });
});

const SAMPLES: Readonly<Record<string, unknown>> = {
  ...{ string: '1', int: 1n, bool: true, double: 1.5, bytes: new Uint8Array(1), dyn: 1n, null_type: null },
};

type Func = ReturnType<typeof celEnv>['funcs'] extends Iterable<infer Each> ? Each : never;

function resultOf(func: Func): unknown {
  const sample = ({ name }: { readonly name: string }): never => (SAMPLES[name] ?? unsigned()) as never;
  const { target, arguments: types } = func;
  return func.call(0, target === undefined ? undefined : sample(target), types.map(sample));
}

function unsigned(): unknown {
  const { expr } = parse('1u');
  return expr === undefined ? undefined : plan(celEnv(), expr)({});
}

describe('the most instructions of a pattern', () => {
  it.each(['[', '\\p{', '[[:', '[\\', '[[:a:]', '{1', '\\Q', '(', '[^]'])('are counted in linear time: %s', (part) => {
    // Where each part is read to the end of the pattern, these are 10^11 characters: the test does not end.
    expect(mostInstructions(part.repeat(300_000))).toBeLessThan(Number.POSITIVE_INFINITY);
  });

  it.each([
    ...[
      'a',
      '',
      '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
      '(a{1,10}){1,20}',
      '\\Qa.b\\E{3}',
      '[[:alpha:]]{7}',
      '[]a]{5}',
      '\\pL{10}',
    ],
    ...[
      '\\p{Greek}{10}|x',
      '((a|b)*c?d+){30}',
      '(?:a|b|ab){300}c',
      '(?i)straße{9}',
      'a{0}',
      '(|a){40}',
      '\\x{10FFFF}{3}',
      'é{4}',
    ],
  ])('are not fewer than it has: %s', (pattern) => {
    expect(mostInstructions(pattern)).toBeGreaterThanOrEqual(RE2JS.compile(pattern).programSize());
  });

  it.each([
    ['a class of properties', `[${'\\p{L}'.repeat(700)}]`],
    ['properties', '\\pL'.repeat(700)],
    ['a class of characters', `(?i)[${'a-z'.repeat(10_000)}]`],
  ])('are more for what takes long to read: %s', (_, pattern) => {
    expect(mostInstructions(pattern)).toBeGreaterThan(20_000);
  });

  it('are not more for a property that is repeated: it is read once', () => {
    expect(mostInstructions('^[\\p{L}]{1,1000}$')).toBeLessThan(4_000);
  });

  it('are not fewer than generated patterns have', () => {
    const part = fc.constantFrom(
      'a',
      'é',
      '[a-z]',
      '[^x]',
      '\\d',
      '\\.',
      '.',
      '(',
      ')',
      '(?:',
      '|',
      '*',
      '+',
      '?',
      '{3}',
      '{2,5}',
      '{1,}',
      '^',
      '$',
      '\\b',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 14 }), (parts) => {
        const pattern = parts.join('');
        let size = 0;
        try {
          size = RE2JS.compile(pattern).programSize();
        } catch {
          // No pattern of RE2.
        }
        expect(mostInstructions(pattern)).toBeGreaterThanOrEqual(size);
      }),
    );
  });
});
