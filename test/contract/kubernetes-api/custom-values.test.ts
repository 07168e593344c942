import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../src/model/text/json.ts';
import { customDefinition, customValues, sampleWith } from '../../support/custom-values.ts';
import { createDryRun, type DryRun } from '../../support/kubernetes/dry-run.ts';
import { sharedPlane } from '../../support/kubernetes/shared-plane.ts';
import { noProgram } from '../../support/programs.ts';
import type { ValidationCase } from '../../support/validation-corpus.ts';

describe.skipIf(noProgram('kube-apiserver'))('values of custom kinds, judged by a real API server', () => {
  const crd = JSON.stringify(customDefinition);
  const caseOf = (field: string, value: JsonValue): ValidationCase => {
    return { name: field, bytes: new TextEncoder().encode(JSON.stringify(sampleWith(field, value))), wanted: [], crd };
  };
  let dryRun: DryRun;

  beforeAll(async () => {
    dryRun = await createDryRun((await sharedPlane()).admin);
    await dryRun.prepare([caseOf('text', 'a')]);
  });
  afterAll(() => dryRun?.close());

  it.each(customValues)('$name', async ({ name, accepted, refused }) => {
    const isAccepted = async (value: JsonValue) => ({
      value,
      accepted: !(await dryRun.send(caseOf(name, value))).isRefused,
    });
    expect(await Promise.all([...accepted, ...refused].map(isAccepted))).toEqual([
      ...accepted.map((value) => ({ value, accepted: true })),
      ...refused.map((value) => ({ value, accepted: false })),
    ]);
  });
});
