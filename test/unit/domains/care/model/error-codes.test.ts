import { describe, expect, test } from 'vitest';
import { codesOfText, isRetryable, isUserError } from '../../../../../src/domains/care/model/error-codes.ts';

describe('codes of the texts of errors', () => {
  test.each([
    ['foo', []],
    ['authentication failed', ['ERR_INFRA_UNAUTHENTICATED']],
    ['invalidauthenticationtokentenant', ['ERR_INFRA_UNAUTHENTICATED']],
    ['unauthorized', ['ERR_INFRA_UNAUTHORIZED']],
    ['accessdenied', ['ERR_INFRA_UNAUTHORIZED']],
    ['no sufficient permissions: AuthorizationFailed', ['ERR_INFRA_UNAUTHORIZED']],
    ['message=cannot get hosted zones: Throttling', ['ERR_INFRA_RATE_LIMITS_EXCEEDED']],
    ['pendingverification', ['ERR_INFRA_DEPENDENCIES']],
    ['error occurred: not available in the current hardware cluster', ['ERR_INFRA_RESOURCES_DEPLETED']],
    ['error occurred: InvalidParameterValue', ['ERR_CONFIGURATION_PROBLEM']],
    [
      'pod disruption budget default/pdb is misconfigured and requires zero voluntary evictions',
      ['ERR_RETRYABLE_CONFIGURATION_PROBLEM'],
    ],
    ['Code="RetryableError" Message="A retryable error occurred', ['ERR_RETRYABLE_INFRA_DEPENDENCIES']],
    ['InvalidTransitGatewayID.NotFound', ['ERR_CONFIGURATION_PROBLEM']],
    ['DependencyViolation: resource sg-1 has a dependent object', ['ERR_INFRA_DEPENDENCIES']],
    ['error during apply of object apps/v1/Deployment a/b is invalid: x', ['ERR_CONFIGURATION_PROBLEM']],
    ['VcpuLimitExceeded', ['ERR_INFRA_QUOTA_EXCEEDED']],
    ['testLimitExceeded', ['ERR_INFRA_QUOTA_EXCEEDED']],
    ['LimitExceeded', ['ERR_INFRA_QUOTA_EXCEEDED']],
    ['RequestLimitExceeded', ['ERR_INFRA_RATE_LIMITS_EXCEEDED']],
    ['Quota of CPUs was exceeded', ['ERR_INFRA_QUOTA_EXCEEDED']],
    ['Throttling, and AccessDenied', ['ERR_INFRA_RATE_LIMITS_EXCEEDED', 'ERR_INFRA_UNAUTHORIZED']],
    ['query returned no results', ['ERR_INFRA_UNAUTHENTICATED']],
    ['Your query returned no results', ['ERR_CONFIGURATION_PROBLEM', 'ERR_INFRA_UNAUTHENTICATED']],
  ])('%s: %s', (text, codes) => {
    expect(codesOfText(text)).toEqual(codes);
  });

  test('a hostile text costs little: its beginning is read', () => {
    const begun = performance.now();
    expect(codesOfText('quota'.repeat(2_000_000))).toEqual([]);
    expect(codesOfText(`Throttling ${'error during apply of object '.repeat(300_000)}`)).toEqual([
      'ERR_INFRA_RATE_LIMITS_EXCEEDED',
    ]);
    expect(performance.now() - begun).toBeLessThan(1000);
  });
});

describe('what codes mean', () => {
  const code = (name: string) => `ERR_${name}`;

  test.each([
    ['INFRA_UNAUTHENTICATED', true, false],
    ['INFRA_UNAUTHORIZED', true, false],
    ['INFRA_QUOTA_EXCEEDED', true, false],
    ['INFRA_RATE_LIMITS_EXCEEDED', false, false],
    ['INFRA_DEPENDENCIES', true, false],
    ['RETRYABLE_INFRA_DEPENDENCIES', false, true],
    ['INFRA_RESOURCES_DEPLETED', true, true],
    ['CLEANUP_CLUSTER_RESOURCES', true, true],
    ['CONFIGURATION_PROBLEM', true, false],
    ['RETRYABLE_CONFIGURATION_PROBLEM', true, true],
    ['PROBLEMATIC_WEBHOOK', true, false],
    ['UNHEARD_OF', false, true],
  ])('%s: of users %s, retryable %s', (name, ofUsers, retryable) => {
    expect(isUserError([code(name)])).toBe(ofUsers);
    expect(isRetryable([code(name)])).toBe(retryable);
  });

  test('of several, one that stops retries and one of users suffice', () => {
    const mixed = ['INFRA_RESOURCES_DEPLETED', 'INFRA_RATE_LIMITS_EXCEEDED'].map(code);
    expect(isRetryable(mixed)).toBe(false);
    expect(isUserError(mixed)).toBe(true);
    expect(isRetryable([])).toBe(true);
    expect(isUserError([])).toBe(false);
  });
});
