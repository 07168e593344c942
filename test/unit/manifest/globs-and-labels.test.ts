import { describe, expect, it } from 'vitest';
import { globProblem } from '../../../src/manifest/kinds/decoders.ts';
import { labelKeyProblem, labelValueProblem } from '../../../src/manifest/kinds/selectors.ts';
import { suggestion } from '../../../src/model/text/messages.ts';

describe('globProblem', () => {
  it.each([
    'apps/web/**',
    '**',
    '*.yaml',
    'a',
    'a/',
    'a/b-?.yaml',
    'a/[a-c]*.yml',
    '{a,b}/*.{yaml,yml}',
    '{apps/**,infra/**}',
    'apps/{web,**/api}/*',
    'a/{b/**,c}/**',
    '*a*b*c*d*e*f*',
    '{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}',
    '[]a]*',
    'a]',
    '.hidden/**',
    'a b/c',
    'a..b/*',
    '...',
  ])('takes %j', (glob) => {
    expect(globProblem(glob)).toBeUndefined();
  });
  it.each([
    '',
    '/a',
    '//a',
    'a//b',
    '.',
    '..',
    './a',
    'a/..',
    'a/../b',
    '../a',
    '..\\a',
    'a\\b',
    '!a',
    '@(a|b)',
    '+(a)',
    'a|b',
    '{a',
    'a}',
    '{a,{b}}',
    '[a',
    'a\nb',
    '\u0000',
    'x'.repeat(1025),
    '{a}',
    '{a,b',
    '[]',
    '[a/b]*',
    '{[},a]',
    '**.yaml',
    'a**',
    'a/***/b',
    'a{b,**}',
    '{a,**}b',
    '*?'.repeat(51),
    `{${'a,'.repeat(100)}a}`,
  ])('refuses %j', (glob) => {
    expect(globProblem(glob)).toBeTypeOf('string');
  });
});

describe('labels follow the rules of Kubernetes', () => {
  it.each(['a', 'A.b_c-d', 'example.com/name', 'a.b.c/d', '0', 'x'.repeat(63), `${'a'.repeat(63)}.b/c`])(
    'key %j',
    (key) => {
      expect(labelKeyProblem(key)).toBeUndefined();
    },
  );
  it.each([
    '',
    '/',
    'a/',
    '/a',
    'a/b/c',
    '-a',
    'a-',
    'a b',
    'Example.com/a',
    'x'.repeat(64),
    `${'a.'.repeat(127)}b/c`,
    'é',
  ])('no key %j', (key) => {
    expect(labelKeyProblem(key)).toBeTypeOf('string');
  });
  it.each(['', 'a', 'A1', 'a.b_c-d', 'x'.repeat(63)])('value %j', (value) => {
    expect(labelValueProblem(value)).toBeUndefined();
  });
  it.each([' ', '-', 'a-', 'a/b', 'x'.repeat(64), 'a\nb'])('no value %j', (value) => {
    expect(labelValueProblem(value)).toBeTypeOf('string');
  });
});

describe('suggestion', () => {
  it.each([
    ['skipWarmin', ['clusterDomain', 'skipWarming'], 'skipWarming'],
    ['cluster', ['clusters', 'paths'], 'clusters'],
    ['namse', ['names'], 'names'],
    ['token', ['passwordEnv', 'tokenEnv', 'tokenFile'], 'tokenEnv'],
    ['xyz', ['names', 'paths'], undefined],
    ['in', ['In', 'NotIn'], 'In'],
    ['x'.repeat(10_000), ['names'], undefined],
  ] as const)('%j of %j', (text, candidates, expected) => {
    expect(suggestion(text, candidates)).toBe(expected);
  });
});
