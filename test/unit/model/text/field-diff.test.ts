import { describe, expect, it } from 'vitest';
import { fieldDiff, MASKED } from '../../../../src/model/text/field-diff.ts';
import type { JsonObject } from '../../../../src/model/text/json.ts';

const paths = (before: JsonObject, after: JsonObject): readonly string[] =>
  fieldDiff(before, after).map(({ path }) => path);

describe('the difference of two versions', () => {
  it('names each field that differs, in canonical order', () => {
    expect(
      fieldDiff(
        { spec: { b: 1, a: 1, same: { x: [] } }, kind: 'X' },
        { spec: { a: 2, c: null, same: { x: [] } }, kind: 'X' },
      ),
    ).toEqual([
      { path: 'spec.a', before: 1, after: 2 },
      { path: 'spec.b', before: 1 },
      { path: 'spec.c', after: null },
    ]);
    expect(fieldDiff({ a: 1 }, { a: 1 })).toEqual([]);
  });

  it('compares items with names by name, and others by place', () => {
    const named = (...names: readonly string[]) => ({ items: names.map((name) => ({ name, v: name })) });
    expect(paths(named('a', 'b'), named('b', 'c'))).toEqual(['items[0]', 'items[1]']);
    expect(paths({ items: [1, 2, 3] }, { items: [1, 9] })).toEqual(['items[1]', 'items[2]']);
  });

  it('says that the order of named items has changed', () => {
    const [first, second] = [{ name: 'a' }, { name: 'b' }];
    expect(fieldDiff({ env: [first, second] }, { env: [second, first] })).toEqual([
      { path: 'env', before: ['a', 'b'], after: ['b', 'a'] },
    ]);
  });

  it.each([
    ['data', 'v1'],
    ['stringData', 'v1'],
    // A mistyped member, and another version of the core group, are warnings: the object is shipped.
    ['stringdata', 'v1'],
    ['stringData', 'v2'],
  ])('masks %s of a Secret of %s', (member, apiVersion) => {
    const secret = (value: string) => ({
      apiVersion,
      kind: 'Secret',
      metadata: { name: 'x' },
      [member]: { code: value },
    });
    expect(fieldDiff(secret('one'), secret('two'))).toEqual([
      { path: `${member}.code`, before: MASKED, after: MASKED },
    ]);
    expect(JSON.stringify(fieldDiff({ kind: 'ConfigMap' }, secret('two')))).not.toContain('two');
  });

  it('masks the copy of kubectl in an annotation of a Secret, and shows its other metadata', () => {
    const name = 'kubectl.kubernetes.io/last-applied-configuration';
    const secret = (text: string) => ({
      ...{ apiVersion: 'v1', kind: 'Secret', metadata: { annotations: { [name]: text, plain: text } } },
    });
    expect(fieldDiff(secret('one'), secret('two')).map(({ after }) => after)).toEqual([MASKED, 'two']);
  });
});
