import { describe, expect, it, onTestFinished } from 'vitest';
import {
  grpcApplication,
  type HealthCheck,
  httpApplication,
  type ProbedApplication,
  tcpApplication,
} from '../../../../../support/probed-applications.ts';
import { startProxy } from './support.ts';

function started<App extends ProbedApplication>(app: App): App {
  onTestFinished(() => app.stop());
  return app;
}

const HEALTHY = { status: 200, body: 'HEALTHY\n' };
const UNHEALTHY = { status: 503, body: 'UNHEALTHY\n' };
const UNKNOWN = { status: 503, body: 'UNKNOWN\n' };
const SERVING = 1;
const NOT_FOUND = 5;
const UNIMPLEMENTED = 12;

async function closedPort(): Promise<number> {
  const app = await tcpApplication(() => undefined);
  await app.stop();
  return app.port;
}

describe('a TCP probe', () => {
  it('is healthy if a connection can be opened, and closes it without a reset', async () => {
    const ended = Promise.withResolvers<string>();
    const app = started(
      await tcpApplication((socket) => {
        socket.on('error', (error) => ended.resolve(String(error)));
        socket.on('end', () => ended.resolve('end'));
        socket.resume();
      }),
    );
    const proxy = await startProxy();
    expect(await proxy.probe(`/tcp/${app.port}`)).toMatchObject(HEALTHY);
    expect(await ended.promise).toBe('end');
    expect(proxy.counts()).toEqual(['{type="tcp",outcome="healthy"} 1']);
  });

  it.each([
    ['no application listens', async () => `/tcp/${await closedPort()}`, UNHEALTHY],
    ['the port is 0', async () => '/tcp/0', UNHEALTHY],
    ['there is no port', async () => '/tcp/', UNKNOWN],
    ['the port is too large', async () => '/tcp/65536', UNKNOWN],
  ])('if %s', async (_, path, expected) => {
    expect(await (await startProxy()).probe(await path())).toMatchObject(expected);
  });
});

describe('a gRPC probe', () => {
  async function health(answers: Readonly<Record<string, number | { readonly code: number }>>) {
    const asked: HealthCheck[] = [];
    const app = started(
      await grpcApplication((check) => {
        asked.push(check);
        return answers[check.service];
      }),
    );
    return { port: app.port, asked };
  }

  const service = (name: string): string => `X-Kuma-Probes-GRPC-Service: ${name}`;

  it('asks the standard service by the name in the probe', async () => {
    const { port, asked } = await health({ '': SERVING, 'live-ä': SERVING });
    const proxy = await startProxy();
    expect(await proxy.probe(`/grpc/${port}`)).toMatchObject(HEALTHY);
    const inBytes = Buffer.from('live-ä').toString('latin1');
    expect(await proxy.probe(`/grpc/${port}`, service(inBytes), 'X-Kuma-Probes-Timeout: 7')).toMatchObject(HEALTHY);
    expect(asked.map((check) => [check.service, check.metadata.get('user-agent')[0]])).toEqual([
      ['', 'kube-probe/1.2.3'],
      ['live-ä', 'kube-probe/1.2.3'],
    ]);
    expect(proxy.counts()).toEqual(['{type="grpc",outcome="healthy"} 2']);
  });

  it.each([
    ['says UNKNOWN', 0],
    ['says NOT_SERVING', 2],
    ['says SERVICE_UNKNOWN', 3],
    ['knows no such service', { code: NOT_FOUND }],
    ['does not implement it', { code: UNIMPLEMENTED }],
  ])('is unhealthy if the application %s', async (_, answer) => {
    const { port } = await health({ x: answer });
    expect(await (await startProxy()).probe(`/grpc/${port}`, service('x'))).toMatchObject(UNHEALTHY);
  });

  it('is unhealthy after its timeout', async () => {
    const { port } = await health({});
    expect(await (await startProxy()).probe(`/grpc/${port}`)).toMatchObject(UNHEALTHY);
  });

  it('is unhealthy if no application listens, or one of another protocol', async () => {
    const http = started(await httpApplication((_request, response) => response.end()));
    const silent = started(await tcpApplication((socket) => socket.end()));
    const proxy = await startProxy();
    expect(await proxy.probe(`/grpc/${await closedPort()}`)).toMatchObject(UNHEALTHY);
    expect(await proxy.probe(`/grpc/${http.port}`)).toMatchObject(UNHEALTHY);
    expect(await proxy.probe(`/grpc/${silent.port}`)).toMatchObject(UNHEALTHY);
    expect(await proxy.probe('/grpc/x')).toMatchObject(UNKNOWN);
  });
});

describe('addresses', () => {
  it('IPv6 works for all kinds of probes', async () => {
    const hosts: (string | undefined)[] = [];
    const http = started(
      await httpApplication((request, response) => {
        hosts.push(request.headers.host);
        if (request.url === '/') response.writeHead(302, { Location: `http://[::1]:${http.port}/on` });
        response.end();
      }, '::1'),
    );
    const grpc = started(await grpcApplication(() => SERVING, '::1'));
    const proxy = await startProxy({ address: '::1' });
    expect(await proxy.probe(`/${http.port}/`)).toMatchObject(HEALTHY);
    expect(hosts).toEqual([`[::1]:${http.port}`, `[::1]:${http.port}`]);
    expect(await proxy.probe(`/tcp/${http.port}`)).toMatchObject(HEALTHY);
    expect(await proxy.probe(`/grpc/${grpc.port}`)).toMatchObject(HEALTHY);
  });

  it('connections come from the source address', async () => {
    const sources: (string | undefined)[] = [];
    const http = started(
      await httpApplication((request, response) => {
        sources.push(request.socket.remoteAddress);
        response.end();
      }),
    );
    const tcp = started(
      await tcpApplication((socket) => {
        sources.push(socket.remoteAddress);
        socket.end();
      }),
    );
    const grpc = started(await grpcApplication(() => SERVING));
    const proxy = await startProxy({ sourceAddress: '127.0.0.6' });
    for (const path of [`/${http.port}/`, `/tcp/${tcp.port}`, `/grpc/${grpc.port}`, `/grpc/${tcp.port}`]) {
      await proxy.probe(path);
    }
    expect(sources).toEqual(['127.0.0.6', '127.0.0.6', '127.0.0.6']);
  });
});
