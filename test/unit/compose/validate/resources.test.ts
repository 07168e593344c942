import { expect, it } from 'vitest';
import { validatePaths } from '../../../../src/compose/validate/validate.ts';
import { bytesOf } from '../../../support/decoding.ts';

function configMap(name: string, more: object) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, ...more };
}

it('an error belongs to its object, also where several are on one line', async () => {
  const items = [configMap('a', {}), configMap('b', { dta: {} }), configMap('c', {})];
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  const { resources } = await validatePaths({ paths: ['-'], cwd: '/', readStdin: async () => bytesOf(list) });
  expect(resources.map(({ name, state }) => [name, state])).toEqual([
    ['a', 'valid'],
    ['b', 'invalid'],
    ['c', 'valid'],
  ]);
});

it.each([
  ['a key that is there twice', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b, a: c}\n'],
  ['an apiVersion alone', 'apiVersion: v1\n'],
])('a document with %s is invalid, and counted', async (_, text) => {
  const { resources } = await validatePaths({ paths: ['-'], cwd: '/', readStdin: async () => bytesOf(text) });
  expect(resources.map(({ state }) => state)).toEqual(['invalid']);
});

it.each([
  ['name: CI\njobs: {}\n', undefined],
  ['- a\n', undefined],
  ['a: {{ .Values.b }}: c\n', 'this looks like a template: commit what it renders to'],
])('no hint says that standard input be listed in an ignore file: %j', async (text, hint) => {
  const { diagnostics } = await validatePaths({ paths: ['-'], cwd: '/', readStdin: async () => bytesOf(text) });
  expect(diagnostics.map((finding) => finding.hint)).toEqual([hint]);
});
