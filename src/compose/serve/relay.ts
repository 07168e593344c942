import { join } from 'node:path';
import type { GrpcServerOptions } from '../../adapters/grpc/listener.ts';
import { createGrpcServerTransport } from '../../adapters/grpc/server.ts';
import { sealStore } from '../../adapters/stores/sealed.ts';
import { ensureRelaySecret, readRelaySecret, relaySecretIn } from '../../adapters/tls/relay-secret.ts';
import { openRelayTrust } from '../../adapters/tls/relay-trust.ts';
import { openTagSecret } from '../../adapters/tls/tag-secret.ts';
import {
  CLIENT_CERTIFICATE_SECONDS,
  type ClientCertificates,
  type RelayConfig,
  type RelayTls,
  type SecretReference,
} from '../../model/fleet/relay-config.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import { DEFAULT_LIMITS, type RelayLimits } from '../../relay/limits.ts';
import { createRelayServer, type ObservedRelayServer } from '../../relay/server.ts';
import type { RelayServerOptions } from '../../relay/server-state.ts';
import { createStepTags } from '../../relay/trust/step-tags.ts';
import { keepFleetMark } from '../../runtime/stored/fleet-mark.ts';
import { type ProcessDeps, readSecret } from './sources.ts';
import { openTrustRecords, type TrustRecords } from './trust-records.ts';

/** The log has a warning if the shared token has fewer characters. */
const SHORT_TOKEN = 16;

/** Folder of the relay secret and the certificates. It is not a part of the store, which may be lost. */
export function trustFolder(dataDirectory: string): string {
  return join(dataDirectory, 'trust');
}

/** The relay's end of the server. */
export interface OpenedRelay {
  readonly relay: ObservedRelayServer;
  /** File of the CA certificate that agents must trust; undefined: there is no TLS. */
  readonly caFile: string | undefined;
  /** Secrets of a sealed store: each opens it, the first seals it. Empty: the store is not sealed. */
  readonly storeSecrets: readonly Uint8Array[];
  /** What people have decided of tokens and certificates. */
  readonly records: TrustRecords;
  /** Of the listener for agents; listeners of domains have the same. */
  readonly security: GrpcServerOptions['security'];
  /** The relay secrets. */
  readonly tokens: readonly Uint8Array[];
  /** Stops renewing certificates and following token generations. */
  close(): Promise<void>;
}

/** Opens the relay's end of the server: reads or makes its secrets and certificates, which replicas share in the store. */
export async function openRelay(
  { relay, dataDirectory, fleet, limits }: RelayConfig,
  version: string,
  { clock, log, env }: ProcessDeps,
  store: SnapshotStore,
): Promise<OpenedRelay> {
  const { tls } = relay;
  const folder = trustFolder(dataDirectory);
  // After a failure the parts that were started are closed.
  await using parts = new AsyncDisposableStack();
  if (store.shared) parts.defer(await keepFleetMark({ store, log }, fleet));
  const tokens = await relaySecrets(relay.secrets, folder, env);
  const sharedToken = relay.sharedToken && (await readSecret(relay.sharedToken, env, 'shared token')).trim();
  if (sharedToken !== undefined && sharedToken.length < SHORT_TOKEN) {
    log.warn('relay: the shared token is short enough to be guessed', { characters: sharedToken.length });
  }
  const isSealed = store.shared && tls.mode !== 'insecure';
  const deps = {
    clock,
    log,
    ...(store.shared && { store: isSealed ? sealStore(store, tokens, { clock, log }) : store }),
  };
  const records = await openTrustRecords(folder, deps);
  parts.defer(records.stop);
  const clients = clientsOf(relay);
  const secure = tls.mode === 'insecure' ? undefined : await openTrust(tls);
  if (secure !== undefined) parts.defer(secure.stop);
  const security = secure
    ? ({ type: 'tls', material: secure.material } as const)
    : ({ type: 'insecure', anywhere: tls.mode === 'insecure' && tls.confirmed } as const);
  const tagSecret =
    tls.mode === 'insecure' && relay.secrets.length === 0 ? await openTagSecret({ store, log }) : undefined;
  if (tagSecret !== undefined) parts.defer(tagSecret.stop);
  const tags = createStepTags(tagSecret === undefined ? tokens : [tagSecret.secret]);
  const transport = createGrpcServerTransport({ host: relay.listen.address, port: relay.listen.port, security });
  const options: RelayServerOptions = {
    fleet,
    tokens,
    mode: tls.mode,
    version,
    ...(sharedToken && { sharedToken }),
    limits: {
      quotas: limits.cluster,
      transferBytes: Math.max(DEFAULT_LIMITS.transferBytes, 2 * limits.cluster.bytes),
      ...registrationLimits(clients),
    },
  };
  const started = parts.move();
  return {
    relay: createRelayServer({ transport, clock, log, tags, ...records.parts, ...secure?.trust }, options),
    records: records.parts,
    security,
    tokens,
    caFile: secure?.caFile,
    // Servers without TLS may have different secrets.
    storeSecrets: isSealed ? tokens : [],
    close: () => started.disposeAsync(),
  };

  async function openTrust({ certificate }: TlsOfRelay) {
    const options = { folder, server: certificate, clients };
    const { material, stop, ...trust } = await openRelayTrust(deps, options);
    return {
      material,
      stop,
      trust,
      caFile: certificate.type === 'files' ? certificate.caFile : join(folder, 'ca.crt'),
    };
  }
}

type TlsOfRelay = Exclude<RelayTls, { readonly mode: 'insecure' }>;

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

/** A cluster that renews certificates of a short life may register as often as that takes. */
function registrationLimits(clients: ClientCertificates | undefined): Partial<RelayLimits> {
  if (clients?.type !== 'issued') return {};
  const { burst, perSecond } = DEFAULT_LIMITS.registrationsPerCluster;
  return { registrationsPerCluster: { burst, perSecond: Math.max(perSecond, 3 / clients.lifetimeSeconds) } };
}

/** In the mode `tls`, certificates are issued only for the shared token, which cannot open a stream. */
function clientsOf({ tls, sharedToken }: RelayConfig['relay']): ClientCertificates | undefined {
  if (tls.mode === 'mtls') return tls.clients;
  if (tls.mode === 'insecure' || sharedToken === undefined) return undefined;
  return { type: 'issued', lifetimeSeconds: CLIENT_CERTIFICATE_SECONDS };
}
