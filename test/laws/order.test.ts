import { test } from 'vitest';
import { createGraph } from '../../src/engine/collections/graph.ts';
import { checkLaw } from './support/check.ts';
import { order } from './support/laws/order.ts';

test('another order of the same inputs gives the same bytes', { timeout: 60_000 }, () => {
  checkLaw(order, createGraph, 200);
});
