import { expect, test } from 'vitest';
import { otherNames } from '../../../../../src/adapters/kubernetes/cluster/new-object.ts';

test.each([
  ['web', 'wef'],
  ['web-7', 'web-9'],
  ['web-9', 'web-8'],
  ['2001:db8::f', '2001:db8::e'],
  ['a', 'f'],
  ['team:', 'teamf'],
  ['n\u{1f600}', 'nf'],
])('%s is asked for as %s first, and never as itself', (name, first) => {
  const names = otherNames(name);
  expect(names[0]).toBe(first);
  expect(names).not.toContain(name);
  expect(new Set(names).size).toBe(names.length);
  for (const other of names) expect([...other]).toHaveLength([...name].length);
});
