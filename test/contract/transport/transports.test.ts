import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createGrpcClientTransport } from '../../../src/adapters/grpc/client.ts';
import { createGrpcServerTransport } from '../../../src/adapters/grpc/server.ts';
import { createCertificateRequests } from '../../../src/adapters/tls/certificate-requests.ts';
import type { ServerCertificate } from '../../../src/adapters/tls/server-certificate.ts';
import type { Identity } from '../../support/enrolled.ts';
import { deaf } from '../../support/relay-deaf.ts';
import { createMemoryNetwork } from '../../support/relay-transport.ts';
import { ensureServerCertificate } from '../../support/server-certificate.ts';
import { createTestAuthority, DAY_MS } from '../../support/test-authority.ts';
import { describeTransport } from './suite.ts';

let dir: string;
let files: ServerCertificate;
let callers: { readonly roots: Uint8Array; readonly east: Identity };

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'relay-transport-'));
  files = await ensureServerCertificate(dir, { names: [], ips: [] }, Date.now());
  const times = { from: Date.now() - DAY_MS, to: Date.now() + DAY_MS };
  const authority = await createTestAuthority(times.from, times.to);
  const { key, request } = await createCertificateRequests().create();
  const certificate = await authority.issue(request, { names: ['east'], ...times });
  callers = { roots: Buffer.from(authority.root), east: { key, certificate } };
});

afterAll(() => rm(dir, { recursive: true }));

describeTransport('in memory (of the tests)', () => {
  const network = createMemoryNetwork();
  return Promise.resolve({ server: network.server, identity: callers.east, client: () => network.client });
});

describeTransport('gRPC with TLS', () => {
  const { certificate, key, ca } = files;
  const server = createGrpcServerTransport({
    host: '127.0.0.1',
    port: 0,
    security: { type: 'tls', material: { current: () => ({ certificate, key }) } },
  });
  const security = { type: 'tls', ca: () => ca } as const;
  return Promise.resolve({
    server,
    client: ({ port }) => createGrpcClientTransport({ server: `localhost:${port}`, security }),
  });
});

describeTransport('gRPC with TLS and client certificates', () => {
  const { certificate, key, ca } = files;
  const material = { current: () => ({ certificate, key, clientRoots: callers.roots }) };
  const server = createGrpcServerTransport({ host: '127.0.0.1', port: 0, security: { type: 'tls', material } });
  const security = { type: 'tls', ca: () => ca } as const;
  return Promise.resolve({
    server,
    identity: callers.east,
    client: ({ port }) => createGrpcClientTransport({ server: `localhost:${port}`, security }),
  });
});

describeTransport('gRPC without TLS', () => {
  const security = { type: 'insecure' } as const;
  const server = createGrpcServerTransport({ host: '127.0.0.1', port: 0, security });
  return Promise.resolve({
    server,
    client: ({ port }) => createGrpcClientTransport({ server: `127.0.0.1:${port}`, security }),
  });
});

describe('transport: gRPC alone', () => {
  const insecure = { type: 'insecure' } as const;

  test('without TLS nothing leaves the machine', () => {
    expect(() => createGrpcServerTransport({ host: '0.0.0.0', port: 0, security: insecure })).toThrow(
      /loopback.*--insecure-listen-anywhere/,
    );
    expect(() => createGrpcClientTransport({ server: 'relay.example:9900', security: insecure })).toThrow(/loopback/);
  });

  test('without TLS other machines may connect only if that is confirmed', async () => {
    const security = { ...insecure, anywhere: true } as const;
    const transport = createGrpcServerTransport({ host: '0.0.0.0', port: 0, security });
    expect(await transport.start(deaf)).toMatchObject({ host: '0.0.0.0' });
    await transport.stop();
  });

  test('one end with TLS and the other without: the reason names the remedy', async () => {
    const material = { current: () => ({ certificate: files.certificate, key: files.key }) };
    const ends = [
      [insecure, { type: 'tls', ca: () => files.ca }, /no TLS is spoken there.*--insecure/],
      [{ type: 'tls', material }, insecure, /takes no connection without TLS.*leave out --insecure/],
    ] as const;
    for (const [listening, dialling, advice] of ends) {
      const transport = createGrpcServerTransport({ host: '127.0.0.1', port: 0, security: listening });
      const { port } = await transport.start(deaf);
      const server = `127.0.0.1:${port}`;
      const connection = createGrpcClientTransport({ server, security: dialling }).dial();
      const wrong = { code: 'lost', reason: 'Unreachable', message: expect.stringMatching(advice) };
      expect(await connection.open('Pull', {}).ended).toEqual(wrong);
      expect(await connection.register(Uint8Array.of(1), {})).toEqual({ refused: wrong });
      connection.close();
      await transport.stop();
    }
  });

  test.each(['relay', 'relay:', ':9900', 'http://relay:9900', 'relay:99000', 'a b:1'])('%j is no address', (server) => {
    const security = { type: 'tls', ca: () => files.ca } as const;
    expect(() => createGrpcClientTransport({ server, security })).toThrow(/host:port/);
  });

  test('a port that is taken is an error of the start', async () => {
    const first = createGrpcServerTransport({ host: '127.0.0.1', port: 0, security: insecure });
    const { port } = await first.start(deaf);
    const second = createGrpcServerTransport({ host: '127.0.0.1', port, security: insecure });
    await expect(second.start(deaf)).rejects.toThrow(/EADDRINUSE/);
    await Promise.all([first.stop(), second.stop()]);
  });

  test('a certificate without the dialled name is not believed, unless that name is expected', async () => {
    const { certificate, key, ca } = files;
    const transport = createGrpcServerTransport({
      host: '127.0.0.2',
      port: 0,
      security: { type: 'tls', material: { current: () => ({ certificate, key }) } },
    });
    const { port } = await transport.start({
      stream: (stream) => stream.end({ code: 'done', reason: 'Hello', message: '' }),
      register: async () => ({ refused: { code: 'refused', reason: 'NotOffered', message: '' } }),
    });
    const dialled = async (serverName?: string): Promise<string> => {
      const security = { type: 'tls', ca: () => ca, ...(serverName === undefined ? {} : { serverName }) } as const;
      const connection = createGrpcClientTransport({ server: `127.0.0.2:${port}`, security }).dial();
      const { reason } = await connection.open('Pull', {}).ended;
      connection.close();
      return reason;
    };
    expect(await dialled()).toBe('ServerCertificate');
    expect(await dialled('elsewhere')).toBe('ServerCertificate');
    expect(await dialled('localhost')).toBe('Hello');
    await transport.stop();
  });
});
