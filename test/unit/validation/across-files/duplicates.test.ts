import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../../src/model/objects/object-key.ts';
import { findDuplicates } from '../../../../src/validation/across-files/duplicates.ts';

/** What is found, as `KEY at PLACE, first PLACE (+OTHERS)`. */
function found(files: Readonly<Record<string, readonly string[]>>): readonly string[] {
  const given = Object.entries(files).map(([path, keys]) => ({
    path,
    keys: keys.map((name) => `/ConfigMap/${name.includes('/') ? name : `n/${name}`}` as ObjectKey),
  }));
  return findDuplicates(given).map(({ at, first, others }) => {
    const place = ({ path, identity }: typeof at) => `${path} ${identity.slice('/ConfigMap/'.length)}`;
    return `${place(at)} < ${place(first)}${others === 0 ? '' : ` +${others}`}`;
  });
}

describe('two documents that declare one object', () => {
  it('in one file: each but the first', () => {
    expect(found({ 'a.yaml': ['x', 'y', 'x', 'x'] })).toEqual([
      'a.yaml n/x#2 < a.yaml n/x',
      'a.yaml n/x#3 < a.yaml n/x',
    ]);
  });

  it('in files of one folder: one finding for a pair of files', () => {
    expect(found({ 'd/b.yaml': ['x'], 'd/a.yaml': ['x'] })).toEqual(['d/b.yaml n/x < d/a.yaml n/x']);
    expect(found({ 'd/b.yaml': ['x', 'y', 'z'], 'd/a.yaml': ['z', 'y'] })).toEqual(['d/b.yaml n/y < d/a.yaml n/y +1']);
  });

  it('in different folders, if it is one object with a namespace in files of different names', () => {
    expect(found({ 'a/x.yaml': ['x', 'p'], 'b/y.yaml': ['x', 'q'] })).toEqual(['b/y.yaml n/x < a/x.yaml n/x']);
    expect(found({ 'a/x.yaml': ['/x'], 'b/y.yaml': ['/x'] })).toEqual([]);
  });

  it('not in folders that are variants of each other', () => {
    expect(found({ 'prod/x.yaml': ['x'], 'test/x.yaml': ['x'] })).toEqual([]);
    expect(found({ 'prod/x.yaml': ['x', 'y'], 'test/all.yaml': ['x', 'y'] })).toEqual([]);
  });

  it('whatever the order of the files', () => {
    const path = fc.constantFrom('a/x.yaml', 'a/y.yaml', 'b/x.yaml', 'b/z.yaml', 'c.yaml', 'd.yaml');
    const keys = fc.array(fc.constantFrom('n/x', 'n/y', '/z'), { maxLength: 4 });
    const files = fc.uniqueArray(fc.record({ path, keys }), { selector: (each) => each.path });
    fc.assert(
      fc.property(files, fc.infiniteStream(fc.nat()), (given, order) => {
        const of = (list: typeof given) => found(Object.fromEntries(list.map((each) => [each.path, each.keys])));
        const shuffled = given.map((each) => [order.next().value ?? 0, each] as const).sort((a, b) => a[0] - b[0]);
        expect(of(shuffled.map(([, each]) => each))).toEqual(of(given));
      }),
    );
  });
});
