import { describe, expect, it } from 'vitest';
import { displayDiagnostic } from '../../../src/model/fleet/diagnostic.ts';
import { diagnosticsOfCase, errorsOf, validationCases } from '../../support/validation-corpus.ts';

describe('manifests that an API server refuses', () => {
  it.each(validationCases('refused'))('$name', (refused) => {
    expect(refused.wanted).not.toEqual([]);
    expect(errorsOf(diagnosticsOfCase(refused))).toEqual(refused.wanted);
  });
});

describe('unusual manifests that an API server accepts', () => {
  it.each(validationCases('accepted'))('$name', (accepted) => {
    expect(accepted.wanted).toEqual([]);
    const errors = diagnosticsOfCase(accepted).filter(({ severity }) => severity === 'error');
    expect(errors.map(displayDiagnostic)).toEqual([]);
  });
});
