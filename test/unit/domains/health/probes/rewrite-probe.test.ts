import { describe, expect, it } from 'vitest';
import { rewriteProbe } from '../../../../../src/domains/health/probes/rewrite-probe.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { containersOf, options, podWith, rewritten } from './support.ts';

const PROXY = { type: 'proxy', port: 9000 } as const;

/** The handler of a rewritten probe, as text: the order of members and headers counts. */
function handler(probe: JsonObject, mode: Parameters<typeof rewriteProbe>[2] = PROXY, ports?: JsonObject[]): string {
  const result = rewriteProbe(probe, ports, mode);
  return result.type === 'rewritten' ? JSON.stringify(result.probe) : result.type;
}

const header = (name: string, value: string) => ({ name, value });

describe('a probe that passes the Application Probe Proxy', () => {
  it.each<[string, JsonObject, JsonObject]>([
    [
      'httpGet',
      { httpGet: { path: '/c1/health/liveness', port: 8080 } },
      { httpGet: { path: '/8080/c1/health/liveness', port: 9000 } },
    ],
    [
      'a path without a slash',
      { httpGet: { path: 'c1/hc', port: 8080 } },
      { httpGet: { path: '/8080/c1/hc', port: 9000 } },
    ],
    ['no path', { httpGet: { port: 8080 } }, { httpGet: { port: 9000, path: '/8080/' } }],
    ['an empty path', { httpGet: { path: '', port: 8080 } }, { httpGet: { path: '/8080/', port: 9000 } }],
    [
      'a query, and what else Kubernetes lets stand in a path',
      { httpGet: { path: '/a//b/../c%2F?x=1&y=/#z', port: 80 } },
      { httpGet: { path: '/80/a//b/../c%2F?x=1&y=/#z', port: 9000 } },
    ],
    [
      'headers in place, Host replaced in place, then scheme, then timeout',
      {
        timeoutSeconds: 15,
        httpGet: {
          scheme: 'HTTPS',
          path: '/c1/healthz',
          port: 8080,
          host: 'other',
          httpHeaders: [header('A', '1'), header('Host', 'example.com'), header('B', '2')],
        },
      },
      {
        timeoutSeconds: 15,
        httpGet: {
          path: '/8080/c1/healthz',
          port: 9000,
          httpHeaders: [
            header('A', '1'),
            header('X-Kuma-Probes-Host', 'example.com'),
            header('B', '2'),
            header('X-Kuma-Probes-Scheme', 'HTTPS'),
            header('X-Kuma-Probes-Timeout', '15'),
          ],
        },
      },
    ],
    [
      'Host in any case of letters; the first one, as for the kubelet',
      { httpGet: { path: '/', port: 80, httpHeaders: [header('hOSt', 'a'), header('Host', 'b')] } },
      { httpGet: { path: '/80/', port: 9000, httpHeaders: [header('X-Kuma-Probes-Host', 'a'), header('Host', 'b')] } },
    ],
    [
      'the scheme HTTP is no header, and no headers are no key',
      { httpGet: { path: '/', port: 80, scheme: 'HTTP', host: 'x', httpHeaders: [] } },
      { httpGet: { path: '/80/', port: 9000 } },
    ],
    [
      'a timeout of one second is no header',
      { httpGet: { path: '/', port: 80 }, timeoutSeconds: 1 },
      { httpGet: { path: '/80/', port: 9000 }, timeoutSeconds: 1 },
    ],
    [
      'tcpSocket with a timeout; other timing fields stay',
      { initialDelaySeconds: 3, tcpSocket: { port: 6379, host: 'x' }, timeoutSeconds: 10, periodSeconds: 5 },
      {
        initialDelaySeconds: 3,
        httpGet: { path: '/tcp/6379', port: 9000, httpHeaders: [header('X-Kuma-Probes-Timeout', '10')] },
        timeoutSeconds: 10,
        periodSeconds: 5,
      },
    ],
    ['tcpSocket', { tcpSocket: { port: 6379 } }, { httpGet: { path: '/tcp/6379', port: 9000 } }],
    [
      'grpc: timeout, then service',
      { timeoutSeconds: 10, grpc: { port: 6379, service: 'liveness' } },
      {
        timeoutSeconds: 10,
        httpGet: {
          path: '/grpc/6379',
          port: 9000,
          httpHeaders: [header('X-Kuma-Probes-Timeout', '10'), header('X-Kuma-Probes-GRPC-Service', 'liveness')],
        },
      },
    ],
    ['grpc without service', { grpc: { port: 1, service: '' } }, { httpGet: { path: '/grpc/1', port: 9000 } }],
    ['digits are a number', { httpGet: { path: '/x', port: '8080' } }, { httpGet: { path: '/8080/x', port: 9000 } }],
  ])('%s', (_, probe, expected) => {
    expect(handler(probe)).toBe(JSON.stringify(expected));
  });

  it.each<[string, JsonObject]>([
    ['exec', { exec: { command: ['true'] }, timeoutSeconds: 5 }],
    ['nothing', { periodSeconds: 1 }],
  ])('%s stays as it is', (_, probe) => {
    expect(handler(probe)).toBe('kept');
  });

  const ports = [
    { name: 'other', containerPort: 1 },
    { name: 'web', containerPort: 8080 },
    { name: 'web', containerPort: 8081 },
  ];

  it('a named port is the first of the container with that name', () => {
    expect(handler({ httpGet: { path: '/', port: 'web' } }, PROXY, ports)).toContain('"/8080/"');
    expect(handler({ tcpSocket: { port: 'web' } }, PROXY, ports)).toContain('"/tcp/8080"');
  });

  it.each([
    [{ httpGet: { port: 'wbe' } }, 'the container declares no port "wbe"; the probe stays as it is', 'httpGet'],
    [{ tcpSocket: { port: '' } }, 'the container declares no port ""; the probe stays as it is', 'tcpSocket'],
    [{ httpGet: { port: 0 } }, 'the probe has no port from 1 to 65535; it stays as it is', 'httpGet'],
    [{ httpGet: { port: '0' } }, 'the probe has no port from 1 to 65535; it stays as it is', 'httpGet'],
    [{ tcpSocket: { port: 65536 } }, 'the probe has no port from 1 to 65535; it stays as it is', 'tcpSocket'],
    [{ httpGet: { path: '/' } }, 'the probe has no port from 1 to 65535; it stays as it is', 'httpGet'],
    [{ grpc: { port: 'web' } }, 'the container declares no port "web"; the probe stays as it is', 'grpc'],
  ])('%j keeps the probe, with a warning', (probe, message, of) => {
    expect(rewriteProbe(probe as JsonObject, ports, PROXY)).toEqual({
      type: 'kept',
      warning: { message, path: [of, 'port'] },
    });
  });

  it.each([
    { httpGet: { port: 9000 } },
    { tcpSocket: { port: '9000' } },
    { grpc: { port: 9000 } },
    { httpGet: { port: 'reserved' } },
  ])('%j is refused: the port is reserved', (probe) => {
    const message =
      "cannot override Pod's probes. Port for probe cannot be set to 9000. It is reserved for the dataplane that will serve pods without mTLS.";
    expect(rewriteProbe(probe as JsonObject, [{ name: 'reserved', containerPort: 9000 }], PROXY)).toMatchObject({
      type: 'refused',
      problem: { message },
    });
  });
});

describe('a Virtual Probe', () => {
  const VIRTUAL = { type: 'virtual', port: 9000 } as const;

  it('keeps headers, scheme and host', () => {
    const httpGet = { path: 'x?y=1', port: 80, host: 'h', scheme: 'HTTPS', httpHeaders: [header('Host', 'a')] };
    const result = rewriteProbe({ httpGet, timeoutSeconds: 3 }, undefined, VIRTUAL);
    expect(result).toEqual({
      type: 'rewritten',
      probe: { httpGet: { ...httpGet, path: '/80/x?y=1', port: 9000 }, timeoutSeconds: 3 },
      listed: { type: 'virtual', port: 80, path: '/x?y=1', host: 'a', timeoutSeconds: 3 },
      warning: {
        message: 'Virtual Probes are served by HTTP, and this one is sent by HTTPS: it will fail',
        path: ['httpGet', 'scheme'],
      },
    });
  });

  it.each([{ tcpSocket: { port: 1 } }, { grpc: { port: 1 } }, { tcpSocket: { port: 9000 } }])('%j is none', (probe) => {
    expect(handler(probe, VIRTUAL)).toBe('kept');
  });
});

describe('what else Kubernetes calls a handler', () => {
  it('lifecycle hooks stay as they are', () => {
    const lifecycle = {
      postStart: { httpGet: { path: '/up', port: 80 } },
      preStop: { httpGet: { path: '/x', port: 80 } },
    };
    const { pod } = rewritten(podWith({ lifecycle, livenessProbe: { tcpSocket: { port: 80 } } }), options());
    expect(containersOf(pod)[0]?.lifecycle).toEqual(lifecycle);
  });
});
