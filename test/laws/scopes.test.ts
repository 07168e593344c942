import { test } from 'vitest';
import { createGraph } from '../../src/engine/collections/graph.ts';
import { checkLaw } from './support/check.ts';
import { scopes } from './support/laws/scopes.ts';

test('what is outside the scope never changes an entry', { timeout: 60_000 }, () => {
  checkLaw(scopes, createGraph, 300);
});
