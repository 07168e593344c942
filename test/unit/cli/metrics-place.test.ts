import { expect, test } from 'vitest';
import { placeOfMetrics } from '../../../src/cli/commands/debug.ts';

const LOCAL = 'http://127.0.0.1:9980';

test.each([
  ['another port', 'http://127.0.0.1:9983', LOCAL, 'http://127.0.0.1:9983'],
  ['all addresses, asked on this machine', 'http://0.0.0.0:9983', LOCAL, 'http://127.0.0.1:9983'],
  ['all addresses, asked from elsewhere', 'http://0.0.0.0:9983', 'https://a.example:9980', 'http://a.example:9983'],
  ['all addresses by IPv6', 'http://[::]:9983', 'http://[::1]:9980', 'http://[::1]:9983'],
  ['an address of its own', 'http://10.0.0.1:9983', 'https://a.example/relay/', 'http://10.0.0.1:9983'],
  ['a server that does not say', undefined, LOCAL, 'http://127.0.0.1:9981'],
])('health and metrics are asked where the server has them: %s', (_case, bound, api, url) => {
  expect(placeOfMetrics(bound, api)).toEqual({ url });
});

test('the loopback of another machine is not looked for on this one', () => {
  const place = placeOfMetrics('http://127.0.0.1:9981', 'https://a.example:9980');
  expect(place).toEqual({ outOfReach: expect.stringContaining('--server-metrics') });
});
