import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { createGrpcServerTransport } from '../../adapters/grpc/server.ts';
import { sealStore } from '../../adapters/stores/sealed.ts';
import { createAuthorityRecord } from '../../adapters/tls/authority-record.ts';
import { privateFile } from '../../adapters/tls/files.ts';
import { ensureRelaySecret, readRelaySecret, relaySecretIn } from '../../adapters/tls/relay-secret.ts';
import { openRelayTrust } from '../../adapters/tls/relay-trust.ts';
import type { TrustedClients, TrustOptions } from '../../adapters/tls/trusted-certificates.ts';
import { errorText } from '../../model/messages.ts';
import {
  CLIENT_CERTIFICATE_SECONDS,
  type ClientCertificates,
  type RelayConfig,
  type RelayTls,
  type SecretReference,
} from '../../model/relay-config.ts';
import { unreachable } from '../../model/result.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import { createRelayServer, type ObservedRelayServer } from '../../relay/server.ts';
import type { RelayServerOptions } from '../../relay/server-state.ts';
import { GENERATIONS_FILE, openTokenGenerations, type TokenGenerations } from '../../relay/trust/tokens.ts';
import { keepFleetMark } from '../../runtime/stored/fleet-mark.ts';
import type { ProcessDeps } from './sources.ts';

/** Shorter shared tokens, in characters, are warned of. */
const SHORT_TOKEN = 16;

type TlsOfRelay = Exclude<RelayTls, { readonly mode: 'insecure' }>;

/** Where the secret and the certificates are kept, apart from the store: losing the store must not lose trust. */
export function trustFolder(dataDirectory: string): string {
  return join(dataDirectory, 'trust');
}

/** The relay's end of the server. */
export interface OpenedRelay {
  readonly relay: ObservedRelayServer;
  /** Where the certificates are that agents are to trust; undefined: there is no TLS. */
  readonly caFile: string | undefined;
  /** What a shared store is sealed with: any of them opens, the first seals. Empty: nothing is sealed. */
  readonly storeSecrets: readonly Uint8Array[];
  readonly generations: TokenGenerations;
  /** Stops looking after the certificates. */
  close(): Promise<void>;
}

/**
 * The relay's end of the server, with its secrets and certificates read or made. Replicas share what they make through the
 * store.
 */
export async function openRelay(
  config: RelayConfig,
  version: string,
  { clock, log, env }: ProcessDeps,
  store: SnapshotStore,
): Promise<OpenedRelay> {
  const { relay, dataDirectory } = config;
  const folder = trustFolder(dataDirectory);
  const unmark = store.shared ? await keepFleetMark({ store, log }, config.fleet) : () => undefined;
  const tokens = await relaySecrets(relay.secrets, folder, env);
  const sharedToken = relay.sharedToken === undefined ? undefined : await readSharedToken(relay.sharedToken, env);
  if (sharedToken !== undefined && sharedToken.length < SHORT_TOKEN) {
    log.warn('relay: the shared token is short enough to be guessed', { characters: sharedToken.length });
  }
  const { address: host, port } = relay.listen;
  const options: RelayServerOptions = {
    fleet: config.fleet,
    tokens,
    mode: relay.tls.mode,
    version,
    ...(sharedToken === undefined ? {} : { sharedToken }),
  };
  const generations = await openTokenGenerations({
    ...{ file: privateFile(join(folder, GENERATIONS_FILE)), clock, log },
    ...(store.shared ? { store: relay.tls.mode === 'insecure' ? store : sealStore(store, tokens) } : {}),
  });
  if (relay.tls.mode === 'insecure') {
    const security = { type: 'insecure', anywhere: relay.tls.confirmed } as const;
    const transport = createGrpcServerTransport({ host, port, security });
    return {
      relay: createRelayServer({ transport, clock, log, generations }, options),
      generations,
      caFile: undefined,
      // Servers without TLS need not have the same secret.
      storeSecrets: [],
      close: async () => {
        unmark();
        await generations.stop();
      },
    };
  }
  const record = store.shared ? createAuthorityRecord(store, tokens) : undefined;
  const trustOptions = { folder, server: serverOf(relay.tls), clients: clientsOf(relay) };
  const { material, stop, ...trust } = await openRelayTrust(
    { clock, log, ...(record === undefined ? {} : { record }) },
    trustOptions,
  );
  const transport = createGrpcServerTransport({ host, port, security: { type: 'tls', material } });
  return {
    relay: createRelayServer({ transport, clock, log, generations, ...trust }, options),
    generations,
    caFile: relay.tls.certificate.type === 'files' ? relay.tls.certificate.caFile : join(folder, 'ca.crt'),
    storeSecrets: store.shared ? tokens : [],
    close: async () => {
      unmark();
      await generations.stop();
      stop();
    },
  };
}

async function relaySecrets(
  references: readonly SecretReference[],
  folder: string,
  env: ProcessDeps['env'],
): Promise<readonly Uint8Array[]> {
  if (references.length === 0) return [await ensureRelaySecret(folder)];
  return Promise.all(
    references.map((reference) =>
      reference.type === 'env' ? relaySecretIn(env, reference.name) : readRelaySecret(reference.path),
    ),
  );
}

async function readSharedToken(reference: SecretReference, env: ProcessDeps['env']): Promise<string> {
  const where = reference.type === 'env' ? `the environment variable ${reference.name}` : reference.path;
  const text =
    reference.type === 'env'
      ? env[reference.name]
      : await readFile(reference.path, 'utf8').catch((cause: unknown) => {
          throw new Error(`the shared token cannot be read: ${errorText(cause)}`, { cause });
        });
  const token = text?.trim() ?? '';
  if (token === '') throw new Error(`${where} holds no shared token: it is empty or missing`);
  return token;
}

function serverOf({ certificate }: TlsOfRelay): TrustOptions['server'] {
  if (certificate.type === 'files') return certificate;
  const { names } = certificate;
  const wanted = { names: names.filter((name) => isIP(name) === 0), ips: names.filter((name) => isIP(name) !== 0) };
  return { type: 'generated', wanted };
}

/** With tokens alone certificates are made only for those who have no token of their own: the shared one opens nothing. */
function clientsOf({ tls, sharedToken }: RelayConfig['relay']): TrustedClients {
  switch (tls.mode) {
    case 'mtls':
      return tls.clients.type === 'given' ? tls.clients : issued(tls.clients);
    case 'tls':
      return sharedToken === undefined ? { type: 'none' } : issued({ lifetimeSeconds: CLIENT_CERTIFICATE_SECONDS });
    case 'insecure':
      return { type: 'none' };
    default:
      return unreachable(tls);
  }
}

function issued({
  signing,
  lifetimeSeconds,
}: Pick<Extract<ClientCertificates, { type: 'issued' }>, 'signing' | 'lifetimeSeconds'>): TrustedClients {
  return { type: 'issued', lifetimeMs: lifetimeSeconds * 1000, ...(signing === undefined ? {} : { signing }) };
}
