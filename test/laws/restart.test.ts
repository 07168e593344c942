import { test } from 'vitest';
import { createGraph } from '../../src/engine/collections/graph.ts';
import { checkLaw } from './support/check.ts';
import { restart } from './support/laws/restart.ts';

test('a restart with the same inputs and ledger gives the same bytes', { timeout: 60_000 }, () => {
  checkLaw(restart, createGraph, 150);
});
