import { describe, expect, test } from 'vitest';
import {
  fieldsOf,
  joinedFields,
  sharedFields,
  subtractFields,
  undeclaredFields,
  withoutPaths,
} from '../../../../../src/adapters/kubernetes/cluster/field-sets.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';

const container = (name: string, inside: JsonObject): JsonObject => ({
  'f:containers': { [`k:{"name":"${name}"}`]: { '.': {}, 'f:name': {}, ...inside } },
});
const names = (fields: JsonObject) => fieldsOf(fields).map(({ name }) => name);

describe('sets of fields', () => {
  test('what a declared value does not set is found in maps, lists by key, sets of values and atomic values', () => {
    const fields = {
      'f:data': { 'f:a': {}, 'f:b': {} },
      'f:args': {},
      'f:selector': {},
      'f:finalizers': { 'v:"x"': {}, 'v:"y"': {} },
      ...container('main', { 'f:image': {}, 'f:env': { 'k:{"name":"A"}': { '.': {}, 'f:name': {}, 'f:value': {} } } }),
    };
    const declared = {
      data: { a: '1', b: null },
      args: ['one'],
      finalizers: ['y'],
      containers: [{ name: 'main', image: 'x' }],
    };
    expect(names(undeclaredFields(fields, declared))).toEqual([
      '.data.b',
      '.selector',
      '.finalizers[="x"]',
      '.containers[name="main"].env[name="A"].name',
      '.containers[name="main"].env[name="A"].value',
    ]);
    expect(undeclaredFields(fields, { ...declared, ...{ data: { a: '', b: '' }, selector: {} } })).not.toHaveProperty(
      'f:data',
    );
  });

  test('an item of which a key is the default of the server is declared', () => {
    const fields = { 'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {} } } };
    expect(undeclaredFields(fields, { ports: [{ port: 80 }] })).toEqual({});
    expect(names(undeclaredFields(fields, { ports: [{ port: 81 }] }))).toEqual(['.ports[port=80,protocol="TCP"].port']);
  });

  test('two managers share a field, and not because both have the map or the item around it', () => {
    const ours = { 'f:data': { 'f:a': {} }, ...container('main', { 'f:image': {} }) };
    expect(sharedFields(ours, { 'f:data': { '.': {}, 'f:b': {} } })).toEqual({});
    expect(names(sharedFields(ours, { 'f:data': { '.': {}, 'f:a': {} } }))).toEqual(['.data.a']);
    expect(names(sharedFields(ours, container('main', { 'f:image': {} })))).toEqual([
      '.containers[name="main"].name',
      '.containers[name="main"].image',
    ]);
    expect(sharedFields(ours, container('other', { 'f:image': {} }))).toEqual({});
    // As one value.
    expect(names(sharedFields({ 'f:selector': {} }, { 'f:selector': {} }))).toEqual(['.selector']);
    // One of the two has an empty map.
    expect(sharedFields({ 'f:selector': {} }, { 'f:selector': { 'f:app': {} } })).toEqual({});
    expect(sharedFields({ 'f:selector': { 'f:app': {} } }, { 'f:selector': {} })).toEqual({});
  });

  test('sets are joined and subtracted', () => {
    const a = { 'f:data': { 'f:a': {} }, 'f:x': {} };
    const b = { 'f:data': { '.': {}, 'f:b': {} }, 'f:x': { 'f:y': {} } };
    const joined = { 'f:data': { '.': {}, 'f:a': {}, 'f:b': {} }, 'f:x': { '.': {}, 'f:y': {} } };
    expect(joinedFields(a, b)).toEqual(joined);
    expect(joinedFields(b, a)).toEqual(joined);
    expect(names(subtractFields(joined, { 'f:data': { 'f:a': {} } }))).toEqual(['.data.b', '.x.y']);
    expect(subtractFields(a, a)).toEqual({});
  });

  test('paths are left out, also in every item of a list', () => {
    const fields = { 'f:spec': { 'f:replicas': {}, ...container('main', { 'f:image': {} }) } };
    expect(names(withoutPaths(fields, [['spec', 'replicas']]))).toEqual([
      '.spec.containers[name="main"].name',
      '.spec.containers[name="main"].image',
    ]);
    const paths = [
      ['spec', 'containers', 'image'],
      ['spec', 'containers', 'name'],
    ];
    expect(names(withoutPaths(fields, paths))).toEqual(['.spec.replicas']);
    expect(withoutPaths(fields, [['spec']])).toEqual({});
  });

  test('a field finds its value', () => {
    const [field] = fieldsOf(container('main', {})).slice(-1);
    expect(field?.valueIn({ containers: [{ name: 'other' }, { name: 'main' }] })).toBe('main');
    expect(field?.valueIn({ containers: [] })).toBeUndefined();
  });
});

test('an item of a list stays in a set that loses one of its fields, and goes with the last one', () => {
  const item = { '.': {}, 'f:name': {}, 'f:image': {} };
  const set = { 'f:spec': { 'f:replicas': {}, 'f:containers': { 'k:{"name":"a"}': item, 'k:{"name":"b"}': item } } };
  const others = {
    'f:spec': { 'f:replicas': {}, 'f:containers': { 'k:{"name":"a"}': { 'f:image': {} }, 'k:{"name":"b"}': item } },
  };
  expect(subtractFields(set, others)).toEqual({
    'f:spec': { 'f:containers': { 'k:{"name":"a"}': { '.': {}, 'f:name': {} } } },
  });
  expect(subtractFields(set, { 'f:spec': { 'f:replicas': {} } })).toEqual({
    'f:spec': { 'f:containers': { 'k:{"name":"a"}': item, 'k:{"name":"b"}': item } },
  });
});
