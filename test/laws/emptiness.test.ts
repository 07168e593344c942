import { test } from 'vitest';
import { createGraph } from '../../src/engine/collections/graph.ts';
import { checkLaw } from './support/check.ts';
import { emptiness } from './support/laws/emptiness.ts';

test('nothing is held after everything was deleted', { timeout: 60_000 }, () => {
  checkLaw(emptiness, createGraph, 200);
});
