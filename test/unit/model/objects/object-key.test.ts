import { expect, test } from 'vitest';
import { annotationOf, labelsOf, metadataOf } from '../../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../../src/model/text/json.ts';

test('metadata, labels and annotations are read as they are', () => {
  const labels = { app: 'web' };
  const metadata = { name: 'a', labels, annotations: { note: 'x' } };
  expect(metadataOf({ metadata })).toBe(metadata);
  expect(labelsOf({ metadata })).toBe(labels);
  expect(annotationOf({ metadata }, 'note')).toBe('x');
});

test.for<JsonObject>([
  {},
  { metadata: null },
  { metadata: 'text' },
  { metadata: [] },
  { metadata: { labels: 'text', annotations: 'text' } },
  { metadata: { labels: [], annotations: { note: 1 } } },
])('an object without them is as one with empty ones: %j', (value) => {
  expect(labelsOf(value)).toEqual({});
  expect(annotationOf(value, 'note')).toBe('');
});
