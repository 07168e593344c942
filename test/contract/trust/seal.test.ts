import { expect, test } from 'vitest';
import { seal, unseal } from '../../../src/adapters/tls/seal.ts';

const SECRET = new Uint8Array(32).fill(7);
const OTHER = new Uint8Array(32).fill(8);
const hex = (text: string): Uint8Array => Buffer.from(text, 'hex');
const text = (opened: ReturnType<typeof unseal>): string | undefined =>
  opened === undefined ? undefined : Buffer.from(opened.bytes).toString();

test('bytes that were sealed once open: the format does not change', () => {
  const sealed = hex('01cd5db8362122dcdfff66d1bfacb31d4e7b100d74adf240809e9b29453c7dba9b2e39e5dba3d20f3b');
  expect(text(unseal([SECRET], 'trust/ca', sealed))).toBe('an authority');
  expect(unseal([OTHER, SECRET], 'trust/ca', sealed)?.secret).toBe(1);
  const empty = hex('0123335d45cd878cb3cd3e5b6e89720fea9e8e446402a81f20f05c23b3');
  expect(text(unseal([SECRET], 'trust/ca', empty))).toBe('');
});

test('a sealed value is one byte for the format, the nonce, as many bytes as the value has, and the tag', () => {
  const sealed = seal(SECRET, 'trust/ca', Buffer.from('an authority'));
  expect(sealed[0]).toBe(1);
  expect(sealed.length).toBe(1 + 12 + 'an authority'.length + 16);
  expect(text(unseal([SECRET], 'trust/ca', sealed))).toBe('an authority');
});

test('no nonce serves twice', () => {
  const nonces = Array.from({ length: 100 }, () =>
    Buffer.from(seal(SECRET, 'a', hex('')).subarray(1, 13)).toString('hex'),
  );
  expect(new Set(nonces).size).toBe(100);
});

test.each([
  ['of another secret', [OTHER], 'trust/ca', (sealed: Uint8Array) => sealed],
  ['for something else', [SECRET], 'trust/cb', (sealed: Uint8Array) => sealed],
  ['that was spoiled', [SECRET], 'trust/ca', (sealed: Uint8Array) => sealed.with(15, (sealed[15] ?? 0) ^ 1)],
  ['of another form', [SECRET], 'trust/ca', (sealed: Uint8Array) => sealed.with(0, 2)],
  ['that was cut short', [SECRET], 'trust/ca', (sealed: Uint8Array) => sealed.subarray(0, 28)],
  ['that is empty', [SECRET], 'trust/ca', () => hex('')],
])('what was sealed %s does not open', (_, secrets, purpose, spoil) => {
  expect(unseal(secrets, purpose, spoil(seal(SECRET, 'trust/ca', Buffer.from('an authority'))))).toBeUndefined();
});
