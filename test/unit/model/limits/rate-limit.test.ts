import { expect, it } from 'vitest';
import { createBudget, createRateLimit } from '../../../../src/model/limits/rate-limit.ts';

const RATE = { burst: 10, perSecond: 1 };
const MANY = 10_000;

it('a budget forgets the keys that were not used for longest, so that one in debt gets no full bucket while it asks', () => {
  const budget = createBudget(() => 0, RATE);
  budget.spend('debtor', 20);
  for (let at = 0; at < 2 * MANY; at += 1) {
    budget.spend(`other-${at}`, 1);
    if (at % 100 === 0) expect(budget.wait('debtor')).toBeGreaterThan(0);
  }
  expect(budget.wait('debtor')).toBe(10_001);
});

it('a rate limit forgets the keys that were not used for longest', () => {
  const limit = createRateLimit(() => 0, { burst: 1, perSecond: 1 });
  expect(limit('busy')).toBe(0);
  for (let at = 0; at < 2 * MANY; at += 1) {
    limit(`other-${at}`);
    if (at % 100 === 0) expect(limit('busy')).toBe(1000);
  }
  limit.giveBack('busy');
  expect(limit('busy')).toBe(0);
  expect(limit('other-0')).toBe(0);
});
