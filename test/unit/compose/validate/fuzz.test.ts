import { expect, it } from 'vitest';
import { isLong } from '../../../support/long.ts';
import { runFuzz } from '../../../validation/fuzz/run-fuzz.ts';

const COUNT = isLong ? 300_000 : 700;

it(`${COUNT} changed manifests and definitions are judged: no error, no endless one, memory within a bound`, async () => {
  const { defects, findings, findingsAcross } = await runFuzz({
    count: COUNT,
    seed: Number(process.env.FLEETRELAY_SEED ?? 1) || 1,
  });
  expect(defects).toEqual([]);
  expect(findings).toBeGreaterThan(COUNT);
  expect(findingsAcross).toBeGreaterThan(COUNT / 10);
});
