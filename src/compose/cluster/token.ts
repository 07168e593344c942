import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { privateFile } from '../../adapters/tls/files.ts';
import { ensureRelaySecret, readRelaySecret } from '../../adapters/tls/relay-secret.ts';
import { clusterToken as deriveToken, GENERATIONS_FILE, readTokenGenerations } from '../../relay/trust/tokens.ts';
import type { ClusterTokenRequest } from '../options.ts';
import { trustFolder } from '../serve/relay.ts';

/**
 * The token of a cluster that counts, derived from the relay secret; works without a running server. Of a secret alone it
 * is the first one, unless its generation is said. The secret is made if the data
 * directory has none yet. Rejects if there is no such directory: a token from a mistyped path would be one that no server
 * knows.
 */
export async function clusterToken({
  cluster,
  dataDir,
  relaySecretFile,
  generation,
  cwd,
}: ClusterTokenRequest): Promise<string> {
  if (relaySecretFile !== undefined && dataDir === undefined) {
    return deriveToken(await readRelaySecret(resolve(cwd, relaySecretFile)), cluster, generation);
  }
  const directory = resolve(cwd, dataDir ?? 'fleetrelay-data');
  const there = await stat(directory).catch(() => undefined);
  if (there?.isDirectory() !== true) {
    throw new Error(
      `there is no data directory ${directory}: name the one of the server, which makes it on first start`,
    );
  }
  const folder = trustFolder(directory);
  if (relaySecretFile === undefined) await refuseOtherSecret(folder);
  const known = generation ?? (await readTokenGenerations(privateFile(join(folder, GENERATIONS_FILE)))).get(cluster);
  const secret =
    relaySecretFile === undefined
      ? await ensureRelaySecret(folder)
      : await readRelaySecret(resolve(cwd, relaySecretFile));
  return deriveToken(secret, cluster, known);
}

/** A server that has run here and left no secret has been given one: a token of a new one would be worth nothing. */
async function refuseOtherSecret(folder: string): Promise<void> {
  const isThere = async (name: string): Promise<boolean> =>
    (await stat(join(folder, name)).catch(() => undefined)) !== undefined;
  if ((await isThere('relay-secret')) || !(await isThere('ca.key'))) return;
  throw new Error(`${folder} has no relay secret: the server there was given one; name that with --relay-secret-file`);
}
