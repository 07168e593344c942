import { expect, it } from 'vitest';
import { createSystemRandom } from '../../../../src/adapters/system/random.ts';

it('ids are 32 hex digits, and none comes twice', () => {
  const random = createSystemRandom();
  const ids = Array.from({ length: 1_000 }, random.id);
  expect(ids.filter((id) => !/^[0-9a-f]{32}$/.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(1_000);
});

it('random bytes are drawn for 256 ids at once, and each byte is in one id', () => {
  let draws = 0;
  const random = createSystemRandom((bytes) => {
    draws += 1;
    bytes.forEach((_, at) => {
      bytes[at] = draws * 16 + (Math.floor(at / 16) % 16);
    });
  });
  const ids = Array.from({ length: 512 }, random.id);
  expect(draws).toBe(2);
  expect(ids[0]).toBe('10'.repeat(16));
  expect(ids[15]).toBe('1f'.repeat(16));
  expect(ids[511]).toBe('2f'.repeat(16));
});
