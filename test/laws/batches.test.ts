import { test } from 'vitest';
import { createGraph } from '../../src/engine/collections/graph.ts';
import { checkLaw } from './support/check.ts';
import { batches } from './support/laws/batches.ts';

test('one batch is the same as its changes one by one', { timeout: 60_000 }, () => {
  checkLaw(batches, createGraph, 200);
});
