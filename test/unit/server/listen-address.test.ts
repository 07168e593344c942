import { describe, expect, test } from 'vitest';
import { apiHost, displayAddress, parseHttpAddress, parseListenAddress } from '../../../src/server/listen-address.ts';

describe('a listen address', () => {
  test.each([
    ['127.0.0.1:9980', '127.0.0.1', 9980],
    ['[::1]:9980', '::1', 9980],
    [':9900', '0.0.0.0', 9900],
    ['9900', '127.0.0.1', 9900],
    ['fleet.example.com:0', 'fleet.example.com', 0],
  ])('%s', (text, host, port) => {
    expect(parseListenAddress(text)).toEqual({ ok: true, value: { host, port } });
  });

  test.each(['', 'host', '::1:9980', '127.0.0.1:99999', '[nonsense]:1', 'a:b', 'http://x:1'])('not %s', (text) => {
    expect(parseListenAddress(text).ok).toBe(false);
  });

  test('is shown as a URL writes it', () => {
    expect(displayAddress({ host: '::1', port: 1 })).toBe('[::1]:1');
    expect(displayAddress({ host: 'a', port: 1 })).toBe('a:1');
  });

  test('of the API may be a Unix socket', () => {
    expect(parseHttpAddress('unix:run/api.sock')).toEqual({ ok: true, value: { socket: 'run/api.sock' } });
    expect(parseHttpAddress('9980')).toEqual({ ok: true, value: { host: '127.0.0.1', port: 9980 } });
    for (const text of ['unix:', 'unix:a\nb', '/run/api.sock']) expect(parseHttpAddress(text).ok).toBe(false);
    expect(displayAddress({ socket: '/run/api.sock' })).toBe('unix:/run/api.sock');
    expect(['unix:/run/api.sock', 'https://[::1]:9980', 'http://b'].map(apiHost)).toEqual(['127.0.0.1', '::1', 'b']);
  });
});
