import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { createGrpcServerTransport, type GrpcServerOptions } from '../../adapters/grpc/server.ts';
import { ensureRelaySecret, readRelaySecret } from '../../adapters/tls/relay-secret.ts';
import { ensureServerCertificate, readServerCertificate } from '../../adapters/tls/server-certificate.ts';
import type { RelayConfig } from '../../model/relay-config.ts';
import { createRelayServer, type ObservedRelayServer } from '../../relay/server.ts';
import type { ProcessDeps } from './sources.ts';

/** Where the secret and the certificates are kept, apart from the store: losing the store must not lose trust. */
export function trustFolder(dataDirectory: string): string {
  return join(dataDirectory, 'trust');
}

/** The relay's end of the server, with its secret and certificate read or made. */
export async function openRelay(
  config: RelayConfig,
  version: string,
  { clock, log }: ProcessDeps,
): Promise<{ readonly relay: ObservedRelayServer; readonly caFile: string | undefined }> {
  const { relay, dataDirectory } = config;
  const folder = trustFolder(dataDirectory);
  const secret =
    relay.secretFile === undefined ? await ensureRelaySecret(folder) : await readRelaySecret(relay.secretFile);
  const { security, caFile } = await relaySecurity(relay.tls, folder, clock.now());
  const transport = createGrpcServerTransport({ host: relay.listen.address, port: relay.listen.port, security });
  // The transport without TLS listens on loopback only.
  const options = { fleet: config.fleet, tokens: [secret], tokenOptional: relay.tls.mode === 'none', version };
  return { relay: createRelayServer({ transport, clock, log }, options), caFile };
}

async function relaySecurity(
  tls: RelayConfig['relay']['tls'],
  folder: string,
  now: number,
): Promise<{ readonly security: GrpcServerOptions['security']; readonly caFile: string | undefined }> {
  if (tls.mode === 'none') return { security: { type: 'insecure' }, caFile: undefined };
  if (tls.certificate.type === 'files') {
    const { certFile, keyFile, caFile } = tls.certificate;
    const { certificate, key } = await readServerCertificate({ certFile, keyFile, caFile }, now);
    return { security: { type: 'tls', certificate, key }, caFile };
  }
  const { names } = tls.certificate;
  const wanted = { names: names.filter((name) => isIP(name) === 0), ips: names.filter((name) => isIP(name) !== 0) };
  const { certificate, key } = await ensureServerCertificate(folder, wanted, now);
  return { security: { type: 'tls', certificate, key }, caFile: join(folder, 'ca.crt') };
}

/** The token of the HTTP API, read once at start. */
export async function readApiToken(path: string | undefined): Promise<string | undefined> {
  return path === undefined ? undefined : (await readFile(path, 'utf8')).trim();
}
