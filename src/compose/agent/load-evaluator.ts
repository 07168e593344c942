import type { LoadEvaluator } from '../../model/objects/health-check.ts';

/** Makes what evaluates health checks. The library for CEL is loaded only where a policy has some. */
export const loadEvaluator: LoadEvaluator = async (checks) => {
  const { createHealthEvaluator } = await import('../../validation/custom/cel/health-evaluator.ts');
  return createHealthEvaluator(checks);
};
