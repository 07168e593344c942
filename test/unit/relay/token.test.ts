import { expect, test } from 'vitest';
import { checkToken, clusterToken } from '../../../src/relay/trust/token.ts';

const OLD = new Uint8Array(32).fill(1);
const NEW = new Uint8Array(32).fill(2);

test('a token is fixed by secret and cluster, and says what it is', () => {
  expect(clusterToken(OLD, 'east')).toMatch(/^frt1_[A-Za-z0-9_-]{43}$/);
  expect(clusterToken(OLD, 'east')).toBe(clusterToken(OLD.slice(), 'east'));
  expect(clusterToken(OLD, 'east')).not.toBe(clusterToken(OLD, 'west'));
  expect(clusterToken(OLD, 'east')).not.toBe(clusterToken(NEW, 'east'));
});

test('while a secret is replaced, tokens of both are right', () => {
  expect(checkToken([NEW, OLD], 'east', clusterToken(OLD, 'east'))).toBe(true);
  expect(checkToken([NEW, OLD], 'east', clusterToken(NEW, 'east'))).toBe(true);
  expect(checkToken([NEW], 'east', clusterToken(OLD, 'east'))).toBe(false);
  expect(checkToken([], 'east', clusterToken(OLD, 'east'))).toBe(false);
});

test.each(['', 'frt1_', 'x'.repeat(10_000), '\u0000'])('%j is the token of nobody', (token) => {
  expect(checkToken([OLD], 'east', token)).toBe(false);
});

test("another cluster's token is wrong", () => {
  expect(checkToken([OLD], 'east', clusterToken(OLD, 'west'))).toBe(false);
});

test('a secret that can be guessed is refused', () => {
  expect(() => clusterToken(new Uint8Array(16), 'east')).toThrow(/32 bytes/);
});
