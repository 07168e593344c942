import { expect, test } from 'vitest';
import { connectionToken, statedSubject, tokenGeneration } from '../../../src/relay/trust/tokens.ts';

const OLD = new Uint8Array(32).fill(1);
const NEW = new Uint8Array(32).fill(2);

test('a token is determined by secret and subject, and has a prefix of its kind', () => {
  expect(connectionToken(OLD, 'east')).toMatch(/^frt1_[A-Za-z0-9_-]{43}$/);
  expect(connectionToken(OLD, 'east')).toBe(connectionToken(OLD.slice(), 'east'));
  expect(connectionToken(OLD, 'east')).not.toBe(connectionToken(OLD, 'west'));
  expect(connectionToken(OLD, 'east')).not.toBe(connectionToken(NEW, 'east'));
});

test('while a secret is replaced, tokens of both are right', () => {
  expect(tokenGeneration([NEW, OLD], 'east', connectionToken(OLD, 'east'))).toBe(0);
  expect(tokenGeneration([NEW, OLD], 'east', connectionToken(NEW, 'east'))).toBe(0);
  expect(tokenGeneration([NEW], 'east', connectionToken(OLD, 'east'))).toBe(undefined);
  expect(tokenGeneration([], 'east', connectionToken(OLD, 'east'))).toBe(undefined);
});

test.each(['', 'frt1_', 'x'.repeat(10_000), '\u0000'])('%j is no token of the cluster', (token) => {
  expect(tokenGeneration([OLD], 'east', token)).toBe(undefined);
});

test("another cluster's token is wrong", () => {
  expect(tokenGeneration([OLD], 'east', connectionToken(OLD, 'west'))).toBe(undefined);
});

test('a renewed token states its generation, and proves it', () => {
  const renewed = connectionToken(OLD, 'east', 1_780_000_000);
  expect(renewed).toMatch(/^frt2_1780000000_[A-Za-z0-9_-]{43}$/);
  expect(tokenGeneration([NEW, OLD], 'east', renewed)).toBe(1_780_000_000);
  expect(tokenGeneration([OLD], 'west', renewed)).toBe(undefined);
  expect(tokenGeneration([NEW], 'east', renewed)).toBe(undefined);
  for (const said of ['1780000001', '1', '01780000000', '0', '-1', '1780000000.0', '']) {
    expect(tokenGeneration([OLD], 'east', renewed.replace('1780000000', said)), said).toBe(undefined);
  }
  const first = connectionToken(OLD, 'east');
  expect(tokenGeneration([OLD], 'east', first.replace('frt1_', 'frt2_1_'))).toBe(undefined);
  expect(tokenGeneration([OLD], 'east', renewed.replace(/^frt2_\d+_/, 'frt1_'))).toBe(undefined);
});

test('a token is derived from the secret and the name of the cluster alone', () => {
  expect(connectionToken(OLD, 'east')).toBe('frt1_5iDItsnmXixvc_7p-GStooujqAcnxMPXkg5sXNQ0Ik8');
});

test('the token of a subject that is no cluster states it, and is good for it alone', () => {
  for (const generation of [0, 1_780_000_000]) {
    const token = connectionToken(OLD, 'gateway/east', generation);
    expect(statedSubject(token)).toBe('gateway/east');
    expect(tokenGeneration([OLD], 'gateway/east', token)).toBe(generation);
    expect(tokenGeneration([OLD], 'gateway/west', token)).toBe(undefined);
    const other = token.replace(/_[^_]+_([^_]{43})$/, `_${Buffer.from('gateway/west').toString('base64url')}_$1`);
    expect(tokenGeneration([OLD], 'gateway/west', other)).toBe(undefined);
  }
  expect(statedSubject(connectionToken(OLD, 'east'))).toBe(undefined);
});

test('a secret that can be guessed is refused', () => {
  expect(() => connectionToken(new Uint8Array(16), 'east')).toThrow(/32 bytes/);
});
