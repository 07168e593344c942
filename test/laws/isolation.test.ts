import { test } from 'vitest';
import { createGraph } from '../../src/engine/collections/graph.ts';
import { checkLaw } from './support/check.ts';
import { isolation } from './support/laws/isolation.ts';

test('a record whose function throws disturbs no other record', { timeout: 60_000 }, () => {
  checkLaw(isolation, createGraph, 200);
});
