import { expect, test } from 'vitest';
import type { Digest } from '../../../../src/model/fleet/ids.ts';
import { liveObjectOf } from '../../../../src/model/objects/live-object.ts';
import { objectKey } from '../../../../src/model/objects/object-key.ts';

function service(name: string, filler = '') {
  const key = objectKey({ group: '', kind: 'Service', namespace: 'web', name });
  return liveObjectOf(key, 'digest' as Digest, JSON.stringify({ metadata: { name }, filler }));
}

test('the value of a live object is parsed once while few others are read', () => {
  const object = service('shop');
  const { value } = object;
  expect(value).toEqual({ metadata: { name: 'shop' }, filler: '' });
  for (let at = 0; at < 100; at += 1) void service(`s${at}`).value;
  expect(object.value).toBe(value);
});

test('the value of a live object is forgotten when many others or long ones were read', () => {
  const many = service('shop');
  const before = many.value;
  for (let at = 0; at < 5_000; at += 1) void service(`s${at}`).value;
  expect(many.value).not.toBe(before);
  expect(many.value).toEqual(before);
  const { value } = many;
  for (let at = 0; at < 5; at += 1) void service(`s${at}`, 'x'.repeat(1024 * 1024)).value;
  expect(many.value).not.toBe(value);
});

test('a value that is given need not be parsed', () => {
  const value = { kind: 'Service' };
  const key = objectKey({ group: '', kind: 'Service', namespace: 'web', name: 'shop' });
  expect(liveObjectOf(key, 'digest' as Digest, '{"kind":"Service"}', value).value).toBe(value);
});
