import { expect, test } from 'vitest';
import { withEndingCertificates } from '../../../src/compose/serve/ending-certificates.ts';
import type { CertificateExpiry } from '../../../src/ports/certificate-authority.ts';
import { fakeApi } from '../../support/server-api.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

test('status tells of certificates from 30 days before they end, and when they have ended', () => {
  const clock = createVirtualClock();
  const inDays = (days: number): number => clock.now() + days * DAY_MS;
  let expiries: CertificateExpiry[] = [{ what: 'server', expiresAt: inDays(30) }];
  const api = withEndingCertificates(fakeApi(), clock, () => expiries);
  expect(api.status()).not.toHaveProperty('endingCertificates');
  expiries = [
    { what: 'server', expiresAt: inDays(29) },
    { what: 'root', expiresAt: inDays(200) },
    { what: 'clientRoot', expiresAt: inDays(-1) },
  ];
  const { endingCertificates } = api.status();
  expect(endingCertificates?.map(({ what, over, expiresAt }) => [what, over, expiresAt])).toEqual([
    ['server', false, new Date(inDays(29)).toISOString()],
    ['clientRoot', true, new Date(inDays(-1)).toISOString()],
  ]);
  expect(endingCertificates?.[1]?.message).toMatch(/^the authority of agents' certificates ended at /);
});
