import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDryRun, type DryRun, type DryRunAnswer } from '../../support/kubernetes/dry-run.ts';
import { sharedPlane } from '../../support/kubernetes/shared-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { validationCases } from '../../support/validation-corpus.ts';

/** The share of the refused manifests that the API server refuses as well. */
const LEAST_AGREEMENT = 0.95;

describe.skipIf(noProgram('kube-apiserver'))('the corpus of manifests, judged by a real API server', () => {
  const refused = validationCases('refused');
  const accepted = validationCases('accepted');
  const answers = new Map<string, DryRunAnswer>();
  let dryRun: DryRun;

  beforeAll(async () => {
    dryRun = await createDryRun((await sharedPlane()).admin);
    await dryRun.prepare([...refused, ...accepted]);
  });
  afterAll(() => dryRun?.close());

  it.each(refused)('refuses $name', async (refusedCase) => {
    const answer = await dryRun.send(refusedCase);
    answers.set(refusedCase.name, answer);
    // A case that says the server accepts it must be right about that too.
    expect(answer.isRefused, answer.message).toBe(refusedCase.serverAccepts === undefined);
  });

  it.each(accepted)('accepts $name', async (acceptedCase) => {
    expect(await dryRun.send(acceptedCase)).toEqual({ isRefused: false, message: '' });
  });

  it(`refuses at least ${LEAST_AGREEMENT * 100} percent of the refused manifests`, () => {
    const agreed = refused.filter(({ name }) => answers.get(name)?.isRefused === true);
    expect(agreed.length / refused.length).toBeGreaterThanOrEqual(LEAST_AGREEMENT);
  });
});
