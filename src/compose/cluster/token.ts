import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { privateFile } from '../../adapters/tls/files.ts';
import { ensureRelaySecret, readRelaySecret } from '../../adapters/tls/relay-secret.ts';
import { enrolmentToken, readEnrolmentToken } from '../../relay/trust/enrolment-tokens.ts';
import { connectionToken, GENERATIONS_FILE, readTokenGenerations } from '../../relay/trust/tokens.ts';
import { trustFolder } from '../serve/relay.ts';

/** What a token is made of. At least one of `dataDir` and `relaySecretFile` is given. */
export interface TokenRequest {
  /** Who shows the token: the name of a cluster, or another subject; see `connectionToken`. */
  readonly subject: string;
  /** The server's data directory, which knows of renewals, and holds the relay secret unless `relaySecretFile` does. */
  readonly dataDir?: string | undefined;
  readonly relaySecretFile?: string | undefined;
  /** Of the token; absent: the one that the data directory has, else the first one. */
  readonly generation?: number | undefined;
  /** An enrolment token; absent: a connection token. */
  readonly enrolment?: EnrolmentRequest | undefined;
  readonly cwd: string;
}

/** What is asked of an enrolment token. */
export interface EnrolmentRequest {
  /** Seconds from now. */
  readonly validFor: number;
  readonly singleUse: boolean;
  /** A token that the agent has. It is printed again if it holds for at least half of `validFor` and is otherwise like a new one. */
  readonly present?: string | undefined;
}

/**
 * A valid token of a subject, derived from the relay secret without a running server. Makes the secret if the data
 * directory has none yet. Rejects if there is no such directory: no server would know a token from a mistyped path.
 */
export async function printedToken(request: TokenRequest): Promise<string> {
  const { dataDir, relaySecretFile, generation, cwd } = request;
  const given = relaySecretFile === undefined ? undefined : await readRelaySecret(resolve(cwd, relaySecretFile));
  if (given !== undefined && dataDir === undefined) return tokenOf(given, generation, request);
  const directory = resolve(cwd, dataDir ?? 'fleetrelay-data');
  const there = await stat(directory).catch(() => undefined);
  if (there?.isDirectory() !== true) {
    throw new Error(
      `there is no data directory ${directory}: name the one of the server, which makes it on first start`,
    );
  }
  const folder = trustFolder(directory);
  if (given === undefined) await refuseOtherSecret(folder);
  const known =
    generation ?? (await readTokenGenerations(privateFile(join(folder, GENERATIONS_FILE)))).get(request.subject);
  return tokenOf(given ?? (await ensureRelaySecret(folder)), known, request);
}

function tokenOf(secret: Uint8Array, generation = 0, { subject, enrolment }: TokenRequest): string {
  if (enrolment === undefined) return connectionToken(secret, subject, generation);
  const { validFor, singleUse, present = '' } = enrolment;
  const now = Math.floor(Date.now() / 1000);
  const found = readEnrolmentToken([secret], subject, present.trim());
  const isGood = found?.generation === generation && found.expiresAt >= now + validFor / 2;
  if (isGood && !singleUse && found.singleUseId === undefined) return present.trim();
  return enrolmentToken(secret, subject, {
    generation,
    expiresAt: now + validFor,
    ...(singleUse ? { singleUseId: randomBytes(16).toString('hex') } : {}),
  });
}

/** Rejects if a server has run here with a secret from elsewhere: it would refuse a token of a new secret. */
async function refuseOtherSecret(folder: string): Promise<void> {
  const isThere = async (name: string): Promise<boolean> =>
    (await stat(join(folder, name)).catch(() => undefined)) !== undefined;
  if ((await isThere('relay-secret')) || !(await isThere('ca.key'))) return;
  throw new Error(`${folder} has no relay secret: the server there was given one; name that with --relay-secret-file`);
}
