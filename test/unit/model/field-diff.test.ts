import { describe, expect, it } from 'vitest';
import { fieldDiff, MASKED } from '../../../src/model/field-diff.ts';
import { immutableChanges } from '../../../src/model/immutable-fields.ts';
import type { JsonObject } from '../../../src/model/json.ts';

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

describe('fields that an API server refuses to change', () => {
  const changed = (group: string, kind: string, before: JsonObject, after: JsonObject): readonly string[] =>
    immutableChanges({ group, kind }, before, fieldDiff(before, after));

  it.each<[string, string, JsonObject, JsonObject, readonly string[]]>([
    [
      'apps',
      'Deployment',
      { spec: { selector: { a: 1 }, replicas: 1 } },
      { spec: { selector: { a: 2 }, replicas: 2 } },
      ['spec.selector.a'],
    ],
    [
      'apps',
      'StatefulSet',
      { spec: { serviceName: 'a', replicas: 1 } },
      { spec: { serviceName: 'b', replicas: 2 } },
      ['spec.serviceName'],
    ],
    [
      '',
      'PersistentVolumeClaim',
      { spec: { resources: { requests: { storage: 1 } } } },
      { spec: { resources: { requests: { storage: 2 } } } },
      [],
    ],
    ['', 'ConfigMap', { immutable: true, data: { a: '1' } }, { immutable: true, data: { a: '2' } }, ['data.a']],
    ['', 'ConfigMap', { data: { a: '1' } }, { data: { a: '2' } }, []],
    ['', 'Service', { spec: {} }, { spec: { clusterIP: '10.0.0.1' } }, []],
    ['', 'Service', { spec: { clusterIP: '10.0.0.1' } }, { spec: { clusterIP: '10.0.0.2' } }, ['spec.clusterIP']],
    [
      'rbac.authorization.k8s.io',
      'RoleBinding',
      { roleRef: { name: 'a' } },
      { roleRef: { name: 'b' } },
      ['roleRef.name'],
    ],
  ])('%s %s', (group, kind, before, after, expected) => {
    expect(changed(group, kind, before, after)).toEqual(expected);
  });
});
