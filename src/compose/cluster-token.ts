import { resolve } from 'node:path';
import { ensureRelaySecret, readRelaySecret } from '../adapters/tls/relay-secret.ts';
import { clusterToken as deriveToken } from '../relay/trust/token.ts';
import type { ClusterTokenRequest } from './options.ts';
import { trustFolder } from './serve-relay.ts';

/** The token of a cluster, derived from the relay secret; works without a running server. The secret is made if the data directory has none yet. */
export async function clusterToken({ cluster, dataDir, relaySecretFile, cwd }: ClusterTokenRequest): Promise<string> {
  const secret =
    relaySecretFile === undefined
      ? await ensureRelaySecret(trustFolder(resolve(cwd, dataDir ?? 'fleetrelay-data')))
      : await readRelaySecret(resolve(cwd, relaySecretFile));
  return deriveToken(secret, cluster);
}
