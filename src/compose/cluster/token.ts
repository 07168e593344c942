import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ensureRelaySecret, readRelaySecret } from '../../adapters/tls/relay-secret.ts';
import { clusterToken as deriveToken } from '../../relay/trust/token.ts';
import type { ClusterTokenRequest } from '../options.ts';
import { trustFolder } from '../serve/relay.ts';

/**
 * The token of a cluster, derived from the relay secret; works without a running server. The secret is made if the data
 * directory has none yet. Rejects if there is no such directory: a token from a mistyped path would be one that no server
 * knows.
 */
export async function clusterToken({ cluster, dataDir, relaySecretFile, cwd }: ClusterTokenRequest): Promise<string> {
  if (relaySecretFile !== undefined) {
    return deriveToken(await readRelaySecret(resolve(cwd, relaySecretFile)), cluster);
  }
  const directory = resolve(cwd, dataDir ?? 'fleetrelay-data');
  const there = await stat(directory).catch(() => undefined);
  if (there?.isDirectory() !== true) {
    throw new Error(
      `there is no data directory ${directory}: name the one of the server, which makes it on first start`,
    );
  }
  return deriveToken(await ensureRelaySecret(trustFolder(directory)), cluster);
}
