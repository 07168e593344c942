import { describe, expect, it } from 'vitest';
import { decoders } from '../../../src/domains/decoders.ts';
import { locate } from '../../../src/manifest/locate.ts';
import type { WrittenPath } from '../../../src/model/text/field-path.ts';
import { bytesOf } from '../../support/decoding.ts';

const TEXT = `# first
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
data:
  x: |
    text
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a}
  data:
    "y": text
- apiVersion: v1
  kind: Namespace
  metadata: {name: web}
---
type: Dataplane
name: web
networking: {address: 10.0.0.1, inbound: [{port: 1}, {port: 2}]}
`;
const find = (identity: string, field: WrittenPath = [], part: 'key' | 'value' = 'key') =>
  locate(decoders, 'a.yaml', bytesOf(TEXT), { identity, field, part })?.at;

describe('locate', () => {
  it('finds documents by identity, repetitions and items of lists too', () => {
    expect(find('/ConfigMap//a')).toEqual({ path: 'a.yaml', line: 2, column: 1 });
    expect(find('/ConfigMap//a#2')).toEqual({ path: 'a.yaml', line: 13, column: 3 });
    expect(find('/Namespace//web')).toEqual({ path: 'a.yaml', line: 18, column: 3 });
    expect(find('kuma.io/Dataplane//web@default')).toEqual({ path: 'a.yaml', line: 22, column: 1 });
  });
  it('finds fields by their key, items by their beginning', () => {
    expect(find('/ConfigMap//a', ['data', 'x'])).toEqual({ path: 'a.yaml', line: 7, column: 3 });
    expect(find('/ConfigMap//a#2', ['data', 'y'])).toEqual({ path: 'a.yaml', line: 17, column: 5 });
    expect(find('kuma.io/Dataplane//web@default', ['networking', 'inbound', 1])).toEqual({
      path: 'a.yaml',
      line: 24,
      column: 54,
    });
  });
  it('finds the nearest parent of a field that is not there', () => {
    expect(find('/ConfigMap//a', ['data', 'nope', 'deeper'])).toEqual({ path: 'a.yaml', line: 7, column: 3 });
  });
  it('finds nothing where there is nothing', () => {
    expect(find('/ConfigMap//b')).toBeUndefined();
    expect(find('/ConfigMap//a#3')).toBeUndefined();
    expect(locate(decoders, 'a.yaml', bytesOf('['), { identity: '/ConfigMap//a', part: 'key' })).toBeUndefined();
  });
});

describe('locate by value', () => {
  const PLACEMENT = `apiVersion: fleetrelay.dev/v1alpha1
kind: Placement
metadata: {name: p}
spec:
  paths: [a/**]
  clusters:
    names:
    - west
    - nowhere
    - east
`;
  const at = (field: WrittenPath) =>
    locate(decoders, 'p.yaml', bytesOf(PLACEMENT), { identity: 'fleetrelay.dev/Placement//p', field, part: 'value' })
      ?.at;

  it('points at the value of a field', () => {
    expect(at(['metadata', 'name'])).toEqual({ path: 'p.yaml', line: 3, column: 18 });
  });
  it('finds the item of a list by its text, wherever it stands', () => {
    expect(at(['spec', 'clusters', 'names', { item: 'nowhere' }])).toEqual({ path: 'p.yaml', line: 9, column: 7 });
    expect(at(['spec', 'clusters', 'names', { item: 'west' }])).toEqual({ path: 'p.yaml', line: 8, column: 7 });
  });
  it('points at the list if the item is not in it', () => {
    expect(at(['spec', 'clusters', 'names', { item: 'south' }])).toEqual({ path: 'p.yaml', line: 8, column: 5 });
  });
  it('says whether it found the field or its nearest parent', () => {
    const found = (field: WrittenPath) =>
      locate(decoders, 'p.yaml', bytesOf(PLACEMENT), { identity: 'fleetrelay.dev/Placement//p', field, part: 'key' })
        ?.isParent;
    expect(found(['spec', 'clusters', 'names', 1])).toBe(false);
    expect(found(['spec', 'clusters', 'names', 3])).toBe(true);
    expect(found(['spec', 'clusters', 'names', { item: 'south' }])).toBe(true);
    expect(found(['spec', 'clusters', 'selector'])).toBe(true);
  });
  it('finds the name of a document that has its metadata at its root', () => {
    const place = { identity: 'kuma.io/Dataplane//web@default', field: ['metadata', 'name'], part: 'value' } as const;
    expect(locate(decoders, 'a.yaml', bytesOf(TEXT), place)?.at).toEqual({ path: 'a.yaml', line: 23, column: 7 });
  });
});
