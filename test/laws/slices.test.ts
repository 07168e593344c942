import { test } from 'vitest';
import { createGraph } from '../../src/engine/collections/graph.ts';
import { checkLaw } from './support/check.ts';
import { slices } from './support/laws/slices.ts';

test('a commit in slices is the same as one without, wherever it is cut', { timeout: 60_000 }, () => {
  checkLaw(slices, createGraph, 200);
});
