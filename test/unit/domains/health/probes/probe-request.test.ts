import { describe, expect, it } from 'vitest';
import { readProbeRequest } from '../../../../../src/domains/health/probes/probe-request.ts';

function read(target: string, headers: Readonly<Record<string, string>> = {}) {
  return readProbeRequest(target, (name) => headers[name]);
}

describe('a request to the probe proxy', () => {
  it.each([
    ['/8080/healthz', { type: 'http', port: 8080, path: '/healthz', scheme: 'HTTP' }],
    ['/8080', { type: 'http', port: 8080, path: '/', scheme: 'HTTP' }],
    ['/8080/', { type: 'http', port: 8080, path: '/', scheme: 'HTTP' }],
    ['/8080?x=1', { type: 'http', port: 8080, path: '/?x=1', scheme: 'HTTP' }],
    ['/8080//a/../b%2f?x=%20&y=?#', { type: 'http', port: 8080, path: '//a/../b%2f?x=%20&y=?#', scheme: 'HTTP' }],
    ['/0/x', { type: 'http', port: 0, path: '/x', scheme: 'HTTP' }],
    ['/08080/x', { type: 'http', port: 8080, path: '/x', scheme: 'HTTP' }],
    ['/tcp/6379', { type: 'tcp', port: 6379 }],
    ['/tcp/6379/more?x', { type: 'tcp', port: 6379 }],
    ['/grpc/9090', { type: 'grpc', port: 9090, service: '' }],
  ])('%s', (target, expected) => {
    expect(read(target).target).toEqual(expected);
  });

  it.each([
    ['/', 'http'],
    ['', 'http'],
    ['*', 'http'],
    ['/healthz', 'http'],
    ['/8080x', 'http'],
    ['/-1/', 'http'],
    ['//8080/', 'http'],
    ['/65536/', 'http'],
    ['/99999999999999999999/', 'http'],
    ['/%38080/', 'http'],
    ['http://127.0.0.1/8080/', 'http'],
    ['/tcp', 'http'],
    ['/tcp/', 'tcp'],
    ['/tcp/x', 'tcp'],
    ['/tcp/65536', 'tcp'],
    ['/grpc/', 'grpc'],
    ['/grpc/1x', 'grpc'],
  ])('%j has no valid port', (target, type) => {
    expect(read(target)).toMatchObject({ type, target: undefined });
  });

  it('names host, scheme and service in headers', () => {
    const host = { 'X-Kuma-Probes-Host': 'a.example' };
    expect(read('/1/', { ...host, 'X-Kuma-Probes-Scheme': 'HTTPS' }).target).toMatchObject({
      host: 'a.example',
      scheme: 'HTTPS',
    });
    expect(read('/1/', { 'X-Kuma-Probes-Host': '', 'X-Kuma-Probes-Scheme': 'https' }).target).toEqual({
      type: 'http',
      port: 1,
      path: '/',
      scheme: 'HTTP',
    });
    expect(read('/grpc/1', { 'X-Kuma-Probes-GRPC-Service': 'up' }).target).toMatchObject({ service: 'up' });
  });

  it.each([
    [undefined, 1],
    ['', 1],
    ['0', 1],
    ['-5', 1],
    ['1.5', 1],
    ['abc', 1],
    ['1', 1],
    ['+3', 3],
    ['15', 15],
    ['99999999999', 86_400],
  ])('a timeout of %j is %j seconds', (written, seconds) => {
    const headers = written === undefined ? {} : { 'X-Kuma-Probes-Timeout': written };
    expect(read('/1/', headers).timeoutSeconds).toBe(seconds);
  });
});
