import { expect, test } from 'vitest';
import { apiOfProcess, type ProcessParts } from '../../../src/compose/serve/process-api.ts';
import type { CertificateExpiry } from '../../../src/ports/certificate-authority.ts';
import { fakeApi } from '../../support/server-api.ts';
import { silentLog } from '../../support/silent-log.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

function apiWith(parts: Partial<ProcessParts>) {
  return apiOfProcess(fakeApi(), {
    metricsAddress: () => undefined,
    notReady: () => [],
    certificates: () => [],
    records: {
      generations: { current: () => 0, renew: async () => 1 },
      acceptances: { waiting: () => [], accept: async () => undefined },
      revoked: { revoke: async () => undefined },
    },
    clock: createVirtualClock(),
    log: silentLog,
    ...parts,
  });
}

test('status warns of certificates from 30 days before they end, and when they have ended', () => {
  const clock = createVirtualClock();
  const inDays = (days: number): number => clock.now() + days * DAY_MS;
  let expiries: CertificateExpiry[] = [{ what: 'server', expiresAt: inDays(30) }];
  const api = apiWith({ clock, certificates: () => expiries });
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

test('status has the address of health and metrics as soon as it is known, and why the server is not ready', () => {
  let address: string | undefined;
  let reasons: readonly string[] = ['source main has not been read yet'];
  const api = apiWith({ metricsAddress: () => address, notReady: () => reasons });
  expect(api.status()).toMatchObject({ notReady: reasons });
  expect(api.status()).not.toHaveProperty('metricsAddress');
  address = 'http://127.0.0.1:9983';
  reasons = [];
  expect(api.status()).toMatchObject({ metricsAddress: address });
  expect(api.status()).not.toHaveProperty('notReady');
});
