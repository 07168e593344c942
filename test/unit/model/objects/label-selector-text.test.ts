import { expect, test } from 'vitest';
import { matchesLabels } from '../../../../src/model/objects/label-selector.ts';
import { parseLabelSelector } from '../../../../src/model/objects/label-selector-text.ts';

const labels = { region: 'eu', 'example.com/tier': 'web', empty: '' };

test.each([
  ['region=eu', true],
  ['region==eu', true],
  ['region=us', false],
  ['region!=us', true],
  ['other!=us', true],
  ['region=eu,example.com/tier=db', false],
  ['region in (us, eu),example.com/tier notin (db)', true],
  ['region in (us,asia)', false],
  ['region', true],
  ['!region', false],
  ['!other , region', true],
  ['empty=', true],
])('%s selects the labels: %s', (text, selects) => {
  const parsed = parseLabelSelector(text);
  expect(parsed.ok && matchesLabels(parsed.value, labels)).toBe(selects);
  expect(parsed.ok).toBe(true);
});

test.each([
  '',
  ',',
  'a=b=c',
  'a=b,,c',
  'a in b',
  'a in (b',
  '=b',
  'a b',
  '-a=b',
  'a>1',
  `${'a'.repeat(64)}=b`,
  'x'.repeat(5_000),
])('%j is refused', (text) => {
  expect(parseLabelSelector(text).ok).toBe(false);
});
