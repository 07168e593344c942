import { describe, expect, it } from 'vitest';
import { locate } from '../../../src/manifest/locate.ts';
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
const find = (identity: string, field?: readonly (string | number)[]) =>
  locate('a.yaml', bytesOf(TEXT), identity, field);

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
    expect(locate('a.yaml', bytesOf('['), '/ConfigMap//a')).toBeUndefined();
  });
});
