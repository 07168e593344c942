import { expect, test } from 'vitest';
import { clusterToken, tokenGeneration } from '../../../src/relay/trust/tokens.ts';

const OLD = new Uint8Array(32).fill(1);
const NEW = new Uint8Array(32).fill(2);

test('a token is determined by secret and cluster, and has a prefix of its kind', () => {
  expect(clusterToken(OLD, 'east')).toMatch(/^frt1_[A-Za-z0-9_-]{43}$/);
  expect(clusterToken(OLD, 'east')).toBe(clusterToken(OLD.slice(), 'east'));
  expect(clusterToken(OLD, 'east')).not.toBe(clusterToken(OLD, 'west'));
  expect(clusterToken(OLD, 'east')).not.toBe(clusterToken(NEW, 'east'));
});

test('while a secret is replaced, tokens of both are right', () => {
  expect(tokenGeneration([NEW, OLD], 'east', clusterToken(OLD, 'east'))).toBe(0);
  expect(tokenGeneration([NEW, OLD], 'east', clusterToken(NEW, 'east'))).toBe(0);
  expect(tokenGeneration([NEW], 'east', clusterToken(OLD, 'east'))).toBe(undefined);
  expect(tokenGeneration([], 'east', clusterToken(OLD, 'east'))).toBe(undefined);
});

test.each(['', 'frt1_', 'x'.repeat(10_000), '\u0000'])('%j is no token of the cluster', (token) => {
  expect(tokenGeneration([OLD], 'east', token)).toBe(undefined);
});

test("another cluster's token is wrong", () => {
  expect(tokenGeneration([OLD], 'east', clusterToken(OLD, 'west'))).toBe(undefined);
});

test('a renewed token states its generation, and proves it', () => {
  const renewed = clusterToken(OLD, 'east', 1_780_000_000);
  expect(renewed).toMatch(/^frt2_1780000000_[A-Za-z0-9_-]{43}$/);
  expect(tokenGeneration([NEW, OLD], 'east', renewed)).toBe(1_780_000_000);
  expect(tokenGeneration([OLD], 'west', renewed)).toBe(undefined);
  expect(tokenGeneration([NEW], 'east', renewed)).toBe(undefined);
  for (const said of ['1780000001', '1', '01780000000', '0', '-1', '1780000000.0', '']) {
    expect(tokenGeneration([OLD], 'east', renewed.replace('1780000000', said)), said).toBe(undefined);
  }
  const first = clusterToken(OLD, 'east');
  expect(tokenGeneration([OLD], 'east', first.replace('frt1_', 'frt2_1_'))).toBe(undefined);
  expect(tokenGeneration([OLD], 'east', renewed.replace(/^frt2_\d+_/, 'frt1_'))).toBe(undefined);
});

test('a token is derived from the secret and the name of the cluster alone', () => {
  expect(clusterToken(OLD, 'east')).toBe('frt1_5iDItsnmXixvc_7p-GStooujqAcnxMPXkg5sXNQ0Ik8');
});

test('a secret that can be guessed is refused', () => {
  expect(() => clusterToken(new Uint8Array(16), 'east')).toThrow(/32 bytes/);
});
