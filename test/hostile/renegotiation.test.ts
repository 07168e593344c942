import { once } from 'node:events';
import { connect } from 'node:tls';
import { expect, test } from 'vitest';
import { CONNECTION_LIMITS, createConnections } from '../../src/adapters/grpc/connections.ts';
import { createTlsListener } from '../../src/adapters/grpc/tls-listener.ts';
import { createTestAuthority, DAY_MS } from '../support/test-authority.ts';

test('a connection of an agent cannot be given another certificate by renegotiation', async () => {
  const now = Date.now();
  const authority = await createTestAuthority(now - DAY_MS, now + DAY_MS);
  const { certificate, key } = await authority.serverPair(now - DAY_MS, now + DAY_MS);
  const material = { certificate: Buffer.from(certificate), key: Buffer.from(key) };
  const connections = createConnections(CONNECTION_LIMITS, () => undefined);
  // Nothing but the listener protects here: what serves HTTP/2 would refuse as well.
  const listener = createTlsListener(
    { host: '127.0.0.1', port: 0, material: { current: () => material }, connections },
    () => undefined,
  );
  const port = await listener.start();
  // TLS 1.3 has no renegotiation.
  const options = {
    host: '127.0.0.1',
    port,
    ca: authority.root,
    maxVersion: 'TLSv1.2',
    ALPNProtocols: ['h2'],
  } as const;
  const socket = connect(options);
  try {
    await once(socket, 'secureConnect');
    expect(socket.getProtocol()).toBe('TLSv1.2');
    const outcome = await new Promise<string>((resolve) => {
      socket.once('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)));
      socket.renegotiate({}, (error) => resolve(error === null ? 'renegotiated' : String(error)));
    });
    expect(outcome).toMatch(/NO_RENEGOTIATION/);
  } finally {
    socket.destroy();
    listener.close();
    connections.closeAll();
  }
});
