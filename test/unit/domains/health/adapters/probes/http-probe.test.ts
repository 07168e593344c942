import type { IncomingMessage, RequestListener } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  httpApplication,
  httpsApplication,
  type ProbedApplication,
  tcpApplication,
} from '../../../../../support/probed-applications.ts';
import { ask, startProxy } from './support.ts';

function started<App extends ProbedApplication>(app: App): App {
  onTestFinished(() => app.stop());
  return app;
}

/** An application that answers with the status in the query, and remembers its requests. */
async function recording(respond?: RequestListener) {
  const requests: IncomingMessage[] = [];
  const app = started(
    await httpApplication((request, response) => {
      requests.push(request);
      if (respond !== undefined) return respond(request, response);
      response.writeHead(Number(/status=(\d+)/.exec(request.url ?? '')?.[1] ?? 200));
      response.end('the answer of the application');
    }),
  );
  return { port: app.port, requests };
}

const HEALTHY = { status: 200, body: 'HEALTHY\n' };
const UNHEALTHY = { status: 503, body: 'UNHEALTHY\n' };
const UNKNOWN = { status: 503, body: 'UNKNOWN\n' };

describe('an HTTP probe', () => {
  it.each([
    [200, 200, 'HEALTHY'],
    [204, 200, 'HEALTHY'],
    [304, 200, 'HEALTHY'],
    [399, 200, 'HEALTHY'],
    [302, 200, 'HEALTHY'],
    [400, 400, 'UNHEALTHY'],
    [404, 404, 'UNHEALTHY'],
    [500, 500, 'UNHEALTHY'],
    [503, 503, 'UNHEALTHY'],
    [599, 599, 'UNHEALTHY'],
  ])('of an application that answers %i is answered %i %s', async (answered, status, word) => {
    const { port } = await recording();
    const proxy = await startProxy();
    expect(await proxy.probe(`/${port}/x?status=${answered}`)).toMatchObject({ status, body: `${word}\n` });
  });

  it('is answered with one word as text', async () => {
    const { port } = await recording();
    const { headers } = await (await startProxy()).probe(`/${port}/`);
    expect(headers.split('\r\n')).toEqual(
      expect.arrayContaining([
        'HTTP/1.1 200 OK',
        'Content-Type: text/plain; charset=utf-8',
        'X-Content-Type-Options: nosniff',
      ]),
    );
  });

  it.each(['/', '//a/../b%2f%2F/./c', "/!$&'()*+,;=:@-._~[]", '/x?a=%20&b=c?d#e', '/?'])(
    'asks for %s byte for byte',
    async (path) => {
      const { port, requests } = await recording();
      expect(await (await startProxy()).probe(`/${port}${path}`)).toMatchObject(HEALTHY);
      expect(requests.map(({ url }) => url)).toEqual([path]);
    },
  );

  it('asks for the root if the path is only a port', async () => {
    const { port, requests } = await recording();
    await (await startProxy()).probe(`/${port}?x`);
    expect(requests[0]?.url).toBe('/?x');
  });

  it('passes the headers of the probe on, with the Host that it names', async () => {
    const { port, requests } = await recording();
    const proxy = await startProxy();
    await proxy.probe(
      `/${port}/`,
      'x-kuma-probes-host: example.com:81',
      'X-Kuma-Probes-Anything: x',
      'User-Agent: kube-probe/1.36',
      'X-Two: a',
      'x-two: b',
      'Connection: keep-alive, X-Hop',
      'Accept: */*',
    );
    expect(requests[0]?.rawHeaders).toEqual([
      ...['Host', 'example.com:81', 'User-Agent', 'kube-probe/1.36', 'X-Two', 'a', 'x-two', 'b', 'Accept', '*/*'],
      ...['Connection', 'close'],
    ]);
  });

  it('names the application as Host, and a user agent, if the probe names none', async () => {
    const { port, requests } = await recording();
    await (await startProxy()).probe(`/${port}/`);
    expect(requests[0]?.rawHeaders).toEqual([
      ...['Host', `127.0.0.1:${port}`, 'User-Agent', 'kuma-probe/1.2.3', 'Connection', 'close'],
    ]);
  });

  it('is a GET request, whatever the method of the probe is', async () => {
    const { port, requests } = await recording();
    const proxy = await startProxy();
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      expect(await ask(proxy.port, [method, `/${port}/`], ['Content-Length: 3'])).toMatchObject(HEALTHY);
    }
    const head = await ask(proxy.port, ['HEAD', `/${port}/`]);
    expect(head).toMatchObject({ status: 200, body: '' });
    expect(requests.map(({ method }) => method)).toEqual(['GET', 'GET', 'GET', 'GET', 'GET']);
  });

  it.each(['/', '/healthz', '/65536/', '/8080x/', '/tcp', '//80/', 'http://127.0.0.1/80/'])(
    'for %s is unknown',
    async (path) => {
      const proxy = await startProxy();
      expect(await proxy.probe(path)).toMatchObject(UNKNOWN);
      expect(proxy.counts()).toEqual(['{type="http",outcome="unknown"} 1']);
    },
  );

  it('is unhealthy if no application listens', async () => {
    const app = await httpApplication(() => undefined);
    await app.stop();
    const proxy = await startProxy();
    expect(await proxy.probe(`/${app.port}/`)).toMatchObject(UNHEALTHY);
    expect(await proxy.probe('/0/')).toMatchObject(UNHEALTHY);
  });

  it('is unhealthy after its timeout, one second unless it says more', async () => {
    const { port } = await recording(() => undefined);
    expect(await (await startProxy()).probe(`/${port}/`, 'X-Kuma-Probes-Timeout: 0')).toMatchObject(UNHEALTHY);
  });

  it('waits for as long as it says', async () => {
    const { port } = await recording((_, response) => {
      setTimeout(() => response.end(), 1_200);
    });
    expect(await (await startProxy()).probe(`/${port}/`, 'X-Kuma-Probes-Timeout: 60')).toMatchObject(HEALTHY);
  });

  it.each([
    ['closes', ''],
    ['answers something else', 'SSH-2.0-x\r\n'],
    ['breaks off in the body', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx'],
    ['switches protocols', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'],
  ])('is unhealthy if the application %s', async (_, answer) => {
    const app = started(await tcpApplication((socket) => socket.end(answer)));
    expect(await (await startProxy()).probe(`/${app.port}/`)).toMatchObject(UNHEALTHY);
  });

  it.each([
    ['ends its lines as it likes', 'HTTP/1.1 200 OK\nX: y\n\nok'],
    ['is old', 'HTTP/1.0 200 OK\r\n\r\nok'],
    ['sends large headers', `HTTP/1.1 200 OK\r\nX: ${'y'.repeat(60_000)}\r\nConnection: close\r\n\r\n`],
  ])('is healthy if the application %s', async (_, answer) => {
    const app = started(await tcpApplication((socket) => socket.end(answer)));
    expect(await (await startProxy()).probe(`/${app.port}/`)).toMatchObject(HEALTHY);
  });

  it('reads the beginning of a body that never ends', async () => {
    const { port } = await recording((_, response) => {
      response.write('x'.repeat(10 * 1024));
    });
    expect(await (await startProxy()).probe(`/${port}/`, 'X-Kuma-Probes-Timeout: 60')).toMatchObject(HEALTHY);
  });
});

describe('a redirect', () => {
  /** Answers /N with a redirect to the result of `to`, and everything else with 418. */
  async function redirecting(to: (port: number, step: number) => string, status = 302) {
    const requests: IncomingMessage[] = [];
    const app = started(
      await httpApplication((request, response) => {
        requests.push(request);
        const step = /^\/(\d+)$/.exec(request.url ?? '')?.[1];
        if (step === undefined) response.writeHead(418).end();
        else response.writeHead(status, { Location: to(app.port, Number(step)) }).end();
      }),
    );
    return { port: app.port, requests };
  }

  it.each([301, 302, 303, 307, 308])('%i to the same host and port is followed', async (status) => {
    const { port, requests } = await redirecting(() => 'final?x', status);
    expect(await (await startProxy()).probe(`/${port}/0`, 'X-Kuma-Probes-Host: a.example', 'X-Mine: 1')).toMatchObject({
      status: 418,
    });
    expect(requests.map(({ url, headers }) => [url, headers.host, headers['x-mine']])).toEqual([
      ['/0', 'a.example', '1'],
      ['/final?x', 'a.example', '1'],
    ]);
  });

  it('that is absolute is followed with its own host', async () => {
    const { port, requests } = await redirecting((own) => `http://127.0.0.1:${own}/final`);
    expect(await (await startProxy()).probe(`/${port}/0`, 'X-Kuma-Probes-Host: a.example')).toMatchObject({
      status: 418,
    });
    expect(requests[1]?.headers.host).toBe(`127.0.0.1:${port}`);
  });

  it.each([
    ['another port', () => 'http://127.0.0.1:9/'],
    ['the port of the scheme', () => 'http://127.0.0.1/'],
    ['another host', (own: number) => `http://a.example:${own}/`],
    ['the Host that the probe names', (own: number) => `//b.example:${own}/`],
    ['another scheme elsewhere', () => 'ftp://a.example/'],
  ])('to %s is healthy and not followed', async (_, to) => {
    const { port, requests } = await redirecting(to);
    expect(await (await startProxy()).probe(`/${port}/0`, 'X-Kuma-Probes-Host: b.example')).toMatchObject(HEALTHY);
    expect(requests).toHaveLength(1);
  });

  it('is followed nine times, as by Go', async () => {
    const { port, requests } = await redirecting((_, step) => (step < 9 ? `/${step + 1}` : '/final'));
    const proxy = await startProxy();
    expect(await proxy.probe(`/${port}/1`)).toMatchObject({ status: 418 });
    expect(requests).toHaveLength(10);
    expect(await proxy.probe(`/${port}/0`)).toMatchObject(UNHEALTHY);
    expect(requests).toHaveLength(20);
  });

  it.each(['http://[', 'foo://127.0.0.1:PORT/'])('to %s is unhealthy', async (location) => {
    const { port } = await redirecting((own) => location.replace('PORT', String(own)));
    expect(await (await startProxy()).probe(`/${port}/0`)).toMatchObject(UNHEALTHY);
  });

  it('to HTTPS at the same port is followed by HTTPS', async () => {
    const app = started(
      await tcpApplication((socket) => {
        socket.once('data', (bytes) => {
          // The first byte of a TLS handshake.
          if (bytes[0] === 0x16) socket.destroy();
          else
            socket.end(`HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1:${app.port}/\r\nContent-Length: 0\r\n\r\n`);
        });
      }),
    );
    expect(await (await startProxy()).probe(`/${app.port}/`)).toMatchObject(UNHEALTHY);
  });
});

describe('an HTTPS probe', () => {
  const HTTPS = 'X-Kuma-Probes-Scheme: HTTPS';

  it('verifies no certificate, names no server and passes Host and path on', async () => {
    const asked: unknown[] = [];
    const app = started(
      await httpsApplication(({ url, headers, socket }, response) => {
        asked.push([url, headers.host, 'servername' in socket && socket.servername]);
        response.end();
      }),
    );
    const proxy = await startProxy();
    expect(
      await proxy.probe(`/${app.port}/healthz?scheme=https`, HTTPS, 'X-Kuma-Probes-Host: a.example'),
    ).toMatchObject(HEALTHY);
    expect(asked).toEqual([['/healthz?scheme=https', 'a.example', false]]);
    // A second one: the parts for TLS are shared.
    expect(await proxy.probe(`/${app.port}/`, HTTPS)).toMatchObject(HEALTHY);
  });

  it.each([
    ['HTTP', HTTPS, UNHEALTHY],
    ['HTTP', 'X-Kuma-Probes-Scheme: https', HEALTHY],
  ])('of an application that speaks %s, %s', async (_, scheme, expected) => {
    const { port } = await recording();
    expect(await (await startProxy()).probe(`/${port}/`, scheme)).toMatchObject(expected);
  });
});
