import { describe, expect, it } from 'vitest';
import { diagnosticOf } from '../../../../src/model/fleet/diagnostic.ts';
import { findings } from '../../../../src/model/fleet/findings.ts';

describe('the codes of findings', () => {
  const codes = Object.values(findings).map(({ code }) => code);

  it('stand for one reason each, in a range that is documented', () => {
    expect(new Set(codes).size).toBe(codes.length);
    for (const code of codes) expect(code).toMatch(/^FR[1-4]\d{3}$/);
    expect(codes).toEqual(codes.toSorted());
  });

  it('have a sentence that says what they mean', () => {
    for (const { meaning } of Object.values(findings)) expect(meaning).toMatch(/^[A-Z].+\.$/);
  });
});

describe('a diagnostic', () => {
  it('has the code of its reason', () => {
    expect(diagnosticOf({ severity: 'error', reason: 'MissingField', message: 'spec is missing' })).toEqual({
      severity: 'error',
      code: 'FR2002',
      reason: 'MissingField',
      message: 'spec is missing',
    });
  });
});
