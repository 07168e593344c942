import { describe, expect, it } from 'vitest';
import { createObjectCheck } from '../../../../src/validation/check-object.ts';
import { createCustomKinds } from '../../../../src/validation/custom/custom-kinds.ts';
import { openKubernetesSchemas } from '../../../../src/validation/kubernetes-schemas.ts';
import { compilePattern } from '../../../../src/validation/values/patterns.ts';
import { customDefinition, customValues, sampleWith } from '../../../support/custom-values.ts';

const check = createObjectCheck({
  kubernetes: await openKubernetesSchemas('1.36'),
  custom: [createCustomKinds([customDefinition])],
  compilePattern,
});

describe('values of custom kinds', () => {
  it.each(customValues)('$name', ({ name, accepted, refused }) => {
    const verdicts = [...accepted, ...refused].map((value) => {
      return { value, accepted: check(sampleWith(name, value)).length === 0 };
    });
    expect(verdicts).toEqual([
      ...accepted.map((value) => ({ value, accepted: true })),
      ...refused.map((value) => ({ value, accepted: false })),
    ]);
  });
});
