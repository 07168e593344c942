import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ListedProbe } from '../../../../../../src/domains/health/probes/probe-list.ts';
import { httpApplication, type ProbedApplication } from '../../../../../support/probed-applications.ts';
import { ask, startProxy } from './support.ts';

function started<App extends ProbedApplication>(app: App): App {
  onTestFinished(() => app.stop());
  return app;
}

const HEALTHY = { status: 200, body: 'HEALTHY\n' };
const UNHEALTHY = { status: 503, body: 'UNHEALTHY\n' };
const UNKNOWN = { status: 503, body: 'UNKNOWN\n' };

/** An application that answers everything, with the hosts and paths that it was asked for. */
async function answering() {
  const asked: string[] = [];
  const app = started(
    await httpApplication((request, response) => {
      asked.push(`${request.headers.host}${request.url}`);
      response.end();
    }),
  );
  return { port: app.port, asked };
}

describe('with a list', () => {
  it('only its probes are passed on', async () => {
    const { port, asked } = await answering();
    const probes: readonly ListedProbe[] = [
      { type: 'http', port, path: '/ä b?x', scheme: 'HTTP', host: 'ü.example', timeoutSeconds: 5 },
      { type: 'tcp', port, timeoutSeconds: 5 },
    ];
    const proxy = await startProxy({ probes });
    const host = `X-Kuma-Probes-Host: ${Buffer.from('ü.example').toString('latin1')}`;
    expect(await proxy.probe(`/${port}/%C3%A4%20b?x`, host)).toMatchObject(HEALTHY);
    expect(await proxy.probe(`/tcp/${port}`)).toMatchObject(HEALTHY);
    const passed = asked.length;
    for (const [path, ...headers] of [
      [`/${port}/%C3%A4%20b?x`],
      [`/${port}/%C3%A4%20b?x`, 'X-Kuma-Probes-Host: other.example'],
      [`/${port}/%C3%A4%20b?x`, host, 'X-Kuma-Probes-Scheme: HTTPS'],
      [`/${port}/%C3%A4%20b`, host],
      [`/${port}/`, host],
      [`/grpc/${port}`],
      ['/22/'],
    ] as const) {
      expect(await proxy.probe(path, ...headers), path).toMatchObject(UNKNOWN);
    }
    expect(asked).toHaveLength(passed);
    expect(proxy.counts()).toEqual([
      '{type="http",outcome="healthy"} 1',
      '{type="http",outcome="unknown"} 6',
      '{type="tcp",outcome="healthy"} 1',
      '{type="grpc",outcome="unknown"} 1',
    ]);
  });

  it('a probe does not last longer than the list says', async () => {
    const app = started(await httpApplication(() => undefined));
    const listed = { type: 'http', port: app.port, path: '/', scheme: 'HTTP', timeoutSeconds: 1 } as const;
    const proxy = await startProxy({ probes: [listed] });
    expect(await proxy.probe(`/${app.port}/`, 'X-Kuma-Probes-Timeout: 86400')).toMatchObject(UNHEALTHY);
  });

  it('that is empty nothing is passed on', async () => {
    const { port } = await answering();
    expect(await (await startProxy({ probes: [] })).probe(`/${port}/`)).toMatchObject(UNKNOWN);
  });
});

describe('Virtual Probes', () => {
  it('are listed, byte for byte; everything else is not found', async () => {
    const { port, asked } = await answering();
    const probes: readonly ListedProbe[] = [
      { type: 'virtual', port, path: '/a?b', timeoutSeconds: 1 },
      { type: 'virtual', port, path: '/named', host: 'n.example', timeoutSeconds: 1 },
      { type: 'http', port, path: '/', scheme: 'HTTP', timeoutSeconds: 1 },
    ];
    const proxy = await startProxy({ probes, virtual: true });
    expect(await proxy.probe(`/${port}/a?b`)).toMatchObject(HEALTHY);
    // The kubelet sends the Host of the probe itself.
    expect(await proxy.probe(`/${port}/named`)).toMatchObject(HEALTHY);
    expect(asked).toEqual([`127.0.0.1:${port}/a?b`, 'n.example/named']);
    for (const path of ['/', '/ready', '/metrics', `/${port}/`, `/${port}/a`, `/${port}/a?b&`, `/tcp/${port}`]) {
      expect(await proxy.probe(path), path).toMatchObject({ status: 404, body: 'UNKNOWN\n' });
    }
    expect(asked).toHaveLength(2);
  });
});

describe('the process', () => {
  it('says that it is ready, and that it is terminating while it still answers probes', async () => {
    let isTerminating = false;
    const { port } = await answering();
    const proxy = await startProxy({
      isTerminating: () => isTerminating,
      probes: [{ type: 'tcp', port, timeoutSeconds: 1 }],
    });
    expect(await proxy.probe('/ready')).toMatchObject({ status: 200, body: 'READY\n' });
    isTerminating = true;
    expect(await proxy.probe('/ready?x')).toMatchObject({ status: 503, body: 'TERMINATING\n' });
    expect(await proxy.probe(`/tcp/${port}`)).toMatchObject(HEALTHY);
  });

  it('shows its metric', async () => {
    const { port } = await answering();
    const proxy = await startProxy();
    await proxy.probe(`/${port}/`);
    await proxy.probe('/tcp/0');
    const { headers, body } = await proxy.probe('/metrics');
    expect(headers).toContain('Content-Type: text/plain; version=0.0.4; charset=utf-8');
    expect(headers).toContain('Connection: close');
    expect(body).toContain('# TYPE fleetrelay_probe_requests_total counter\n');
    expect(body).toContain('fleetrelay_probe_requests_total{type="http",outcome="healthy"} 1\n');
    expect(body).toContain('fleetrelay_probe_requests_total{type="tcp",outcome="unhealthy"} 1\n');
    expect(body).toContain('fleetrelay_probe_requests_total{type="grpc",outcome="unknown"} 0\n');
  });
});

describe('at most 64 probes of one port run at a time', () => {
  it('one more is unhealthy at once, of other ports none', async () => {
    const open: ServerResponse[] = [];
    const all = Promise.withResolvers<void>();
    const slow = started(
      await httpApplication((_request, response) => {
        open.push(response);
        if (open.length === 64) all.resolve();
      }),
    );
    const { port } = await answering();
    const proxy = await startProxy();
    const path = `/${slow.port}/`;
    const running = Array.from({ length: 64 }, () => proxy.probe(path, 'X-Kuma-Probes-Timeout: 600'));
    await all.promise;
    expect(await proxy.probe(path, 'X-Kuma-Probes-Timeout: 600')).toMatchObject(UNHEALTHY);
    expect(await proxy.probe(`/tcp/${slow.port}`)).toMatchObject(UNHEALTHY);
    expect(await proxy.probe(`/${port}/`)).toMatchObject(HEALTHY);
    for (const response of open) response.end();
    expect(new Set((await Promise.all(running)).map(({ status }) => status))).toEqual(new Set([200]));
    // All places are free again.
    expect(await proxy.probe(`/tcp/${slow.port}`)).toMatchObject(HEALTHY);
  });

  it('a probe whose client has gone frees its place', async () => {
    const asked = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    const slow = started(
      await httpApplication((request) => {
        request.socket.once('close', () => gone.resolve());
        asked.resolve();
      }),
    );
    const proxy = await startProxy();
    const client = connect(proxy.port, '127.0.0.1');
    client.write(`GET /${slow.port}/ HTTP/1.1\r\nHost: x\r\nX-Kuma-Probes-Timeout: 600\r\n\r\n`);
    await asked.promise;
    client.destroy();
    await gone.promise;
  });
});

describe('a client', () => {
  it.each(['', 'GET /ready HTTP/1.1\r\nHost: x\r\n', 'GET /ready HTTP/1.1\r\nX-'])(
    'that sends %j and no more is cut off, and others are answered meanwhile',
    async (beginning) => {
      const proxy = await startProxy();
      const slow = connect(proxy.port, '127.0.0.1');
      await once(slow, 'connect');
      slow.write(beginning);
      expect(await proxy.probe('/ready')).toMatchObject({ status: 200 });
      expect(await text(slow)).not.toContain('READY');
    },
  );

  it('that sends too large a header is refused', async () => {
    const proxy = await startProxy();
    expect(await ask(proxy.port, ['GET', '/ready'], [`X: ${'y'.repeat(70_000)}`])).toMatchObject({ status: 431 });
    expect(await ask(proxy.port, ['GET', '/ready'], [`X: ${'y'.repeat(30_000)}`])).toMatchObject({ status: 200 });
  });

  it('that announces a body and sends none is answered', async () => {
    const proxy = await startProxy();
    expect(await ask(proxy.port, ['POST', '/ready'], ['Content-Length: 1000000'])).toMatchObject({ status: 200 });
    expect(await ask(proxy.port, ['POST', '/ready'], ['Expect: 100-continue', 'Content-Length: 5'])).toMatchObject({
      status: 100,
    });
  });
});
