import { expect, test } from 'vitest';
import { isLoopback } from '../../../src/http/loopback.ts';

test.each(['localhost', 'LOCALHOST', '127.0.0.1', '127.9.9.9', '::1', '[::1]', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1'])(
  '%j is this machine',
  (host) => {
    expect(isLoopback(host)).toBe(true);
  },
);

test.each([
  ...['', '0.0.0.0', '::', '10.0.0.1', '127.0.0', '127.0.0.256', '127.999.1.1', '2130706433', '[127.0.0.1', '::2'],
  ...['localhost.evil.example.com', '127.0.0.1.evil.example.com', '::ffff:10.0.0.1'],
])('%j may be another machine', (host) => {
  expect(isLoopback(host)).toBe(false);
});
