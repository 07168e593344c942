import { test } from 'vitest';
import { createGraph } from '../../src/engine/collections/graph.ts';
import { checkLaw } from './support/check.ts';
import { incremental } from './support/laws/incremental.ts';

test('incremental is the same as recomputed from nothing', { timeout: 60_000 }, () => {
  checkLaw(incremental, createGraph, 300);
});
