import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createGrpcClientTransport } from '../../../src/adapters/grpc/client.ts';
import { createGrpcServerTransport } from '../../../src/adapters/grpc/server.ts';
import { createCertificateRequests } from '../../../src/adapters/tls/certificate-requests.ts';
import type { ServerCertificate } from '../../../src/adapters/tls/server-certificate.ts';
import type { ClientConnection, DialCredentials, ServerTransport } from '../../../src/ports/transport.ts';
import { verifiesChain } from '../../../src/relay/trust/certificates.ts';
import { ensureServerCertificate } from '../../support/server-certificate.ts';
import { createTestAuthority, DAY_MS, type TestAuthority } from '../../support/test-authority.ts';

describe('the dialling end and certificates', () => {
  const now = Date.now();
  const requests = createCertificateRequests();
  const open: ClientConnection[] = [];
  let dir: string;
  let files: ServerCertificate;
  let clients: TestAuthority;
  let transport: ServerTransport;
  let address: string;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'client-certificates-'));
    files = await ensureServerCertificate(dir, { names: [], ips: [] }, now);
    clients = await createTestAuthority(now - DAY_MS, now + DAY_MS);
    const { certificate, key } = files;
    const material = { certificate, key, clientRoots: Buffer.from(clients.root) };
    const security = { type: 'tls', material: { current: () => material } } as const;
    transport = createGrpcServerTransport({ host: '127.0.0.1', port: 0, security });
    const { port } = await transport.start({
      stream: ({ certificate: shown, end }) =>
        end({ code: 'done', reason: 'Seen', message: Buffer.from(shown ?? []).toString('base64') }),
      register: async ({ certificate: shown }) => ({ response: shown ?? new Uint8Array() }),
    });
    address = `127.0.0.1:${port}`;
  });

  afterAll(async () => {
    for (const connection of open) connection.close();
    await transport.stop();
    await rm(dir, { recursive: true });
  });

  async function pairOf(authority: TestAuthority): Promise<NonNullable<DialCredentials['identity']>> {
    const { key, request } = await requests.create();
    const said = { names: ['east'], from: now - DAY_MS, to: now + DAY_MS };
    return { key, certificate: await authority.issue(request, said) };
  }

  function dial(credentials?: DialCredentials, ca: Uint8Array = files.ca): ClientConnection {
    const security = { type: 'tls', ca: () => ca } as const;
    const connection = createGrpcClientTransport({ server: address, security }).dial(credentials);
    open.push(connection);
    return connection;
  }

  test('the certificate is known at each stream and each registration; none is shown unless requested', async () => {
    const identity = await pairOf(clients);
    const der = Buffer.from(identity.certificate.replaceAll(/-----.*-----|\s/g, ''), 'base64');
    const connection = dial({ identity, roots: '' });
    expect(await connection.open('Pull', {}).ended).toMatchObject({ message: der.toString('base64') });
    expect(await connection.register(new Uint8Array(), {})).toEqual({ response: der });
    expect(await dial().open('Pull', {}).ended).toMatchObject({ reason: 'Seen', message: '' });
  });

  test('one of another authority is refused with its reason', async () => {
    const stranger = await createTestAuthority(now - DAY_MS, now + DAY_MS);
    const connection = dial({ identity: await pairOf(stranger), roots: '' });
    const refused = { code: 'unauthenticated', reason: 'CertificateUnknown' };
    expect(await connection.open('Pull', {}).ended).toMatchObject(refused);
    expect(await connection.register(new Uint8Array(), {})).toMatchObject({ refused });
  });

  test('a key that does not fit is reported at the dial, without the key', async () => {
    const { certificate } = await pairOf(clients);
    const { key } = await pairOf(clients);
    expect(() => dial({ identity: { key, certificate }, roots: '' })).toThrow(/key/i);
    expect(() => dial({ identity: { key, certificate }, roots: '' })).not.toThrow(/BEGIN/);
  });

  test('the server is believed by the roots that were given and by those that are known besides', async () => {
    const roots = Buffer.from(files.ca).toString('utf8');
    const other = Buffer.from(clients.root);
    const reason = async (connection: ClientConnection) => (await connection.open('Pull', {}).ended).reason;
    expect(await reason(dial(undefined, other))).toBe('ServerCertificate');
    expect(await reason(dial({ roots }, other))).toBe('Seen');
    expect(await reason(dial({ roots: clients.root }))).toBe('Seen');
  });

  test('the verified chain of the server is available', async () => {
    const roots = Buffer.from(files.ca).toString('utf8');
    const connection = dial();
    expect(connection.serverChain()).toEqual([]);
    await connection.open('Pull', {}).ended;
    expect(verifiesChain(connection.serverChain(), roots, now)).toBe(true);
    expect(verifiesChain(connection.serverChain(), clients.root, now)).toBe(false);
    const deceived = dial(undefined, Buffer.from(clients.root));
    await deceived.open('Pull', {}).ended;
    expect(deceived.serverChain()).toEqual([]);
  });

  test('a server from before there were certificates offers none', async () => {
    const old = new Server();
    const port = await new Promise<number>((resolve, reject) =>
      old.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      ),
    );
    const security = { type: 'insecure' } as const;
    const connection = createGrpcClientTransport({ server: `127.0.0.1:${port}`, security }).dial();
    expect(await connection.register(new Uint8Array(), {})).toMatchObject({ refused: { reason: 'NotOffered' } });
    connection.close();
    old.forceShutdown();
  });
});
