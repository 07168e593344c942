import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RedisAccess } from '../../src/adapters/stores/redis/options.ts';
import { createAuthority, issueClientCertificate, issueServerCertificate } from '../../src/adapters/tls/x509.ts';

/** Certificates for a redis-server that asks its clients for one. */
export interface RedisTls {
  readonly settings: Readonly<Record<string, string>>;
  readonly client: Required<NonNullable<RedisAccess['tls']>>;
  remove(): void;
}

/** `name`: what stands in the server's certificate; addresses do not. */
export async function createRedisTls(name: string): Promise<RedisTls> {
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-redis-tls-'));
  const now = Date.now();
  const validity = { validFrom: now - 3_600_000, validUntil: now + 86_400_000 };
  const authority = await createAuthority(validity);
  const server = await issueServerCertificate(authority, { names: [name], ips: [], ...validity });
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const order = {
    commonName: 'store',
    publicKey: publicKey.export({ format: 'der', type: 'spki' }),
    dnsName: 'store',
    uri: 'spiffe://test/store',
    validFrom: now - 60_000,
  };
  const client = await issueClientCertificate(authority, order, now + 3_600_000);
  const write = (file: string, bytes: Uint8Array): string => {
    const path = join(folder, file);
    writeFileSync(path, bytes, { mode: 0o600 });
    return path;
  };
  return {
    settings: {
      'tls-ca-cert-file': write('ca.crt', authority.ca),
      'tls-cert-file': write('tls.crt', server.certificate),
      'tls-key-file': write('tls.key', server.key),
      'tls-auth-clients': 'yes',
      'tls-replication': 'yes',
    },
    client: {
      ca: Buffer.from(authority.ca).toString(),
      cert: Buffer.from(client.certificate).toString(),
      key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
      serverName: name,
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
