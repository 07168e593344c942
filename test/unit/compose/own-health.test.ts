import { expect, test } from 'vitest';
import { withOwnHealth } from '../../../src/compose/serve/own-health.ts';
import { fakeApi } from '../../support/server-api.ts';

test('status says where health and metrics are as soon as they are, and why the server is not ready', () => {
  let address: string | undefined;
  let reasons: readonly string[] = ['source main has not been read yet'];
  const api = withOwnHealth(fakeApi(), { address: () => address, notReady: () => reasons });
  expect(api.status()).toMatchObject({ notReady: reasons });
  expect(api.status()).not.toHaveProperty('metricsAddress');
  address = 'http://127.0.0.1:9983';
  reasons = [];
  expect(api.status()).toMatchObject({ metricsAddress: address });
  expect(api.status()).not.toHaveProperty('notReady');
});
