import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { StreamMetadata } from '../../ports/transport.ts';

/** Tells the kind of token, so that later kinds can be told from it. */
const PREFIX = 'frt1_';
/** Shorter secrets can be guessed. */
const MIN_SECRET_BYTES = 32;

/**
 * The token of a cluster: derived from the relay secret, so that nothing per cluster is stored, and a token says nothing
 * about another. Throws if the secret is shorter than 32 bytes.
 */
export function clusterToken(secret: Uint8Array, cluster: string): string {
  if (secret.length < MIN_SECRET_BYTES) throw new Error(`a relay secret needs at least ${MIN_SECRET_BYTES} bytes`);
  return `${PREFIX}${createHmac('sha256', secret).update(`token\u0000${cluster}`).digest('base64url')}`;
}

/**
 * Is this the token of this cluster, under any of the secrets? Takes the same time whichever it is not: every secret
 * is tried, and digests of equal length are compared in constant time.
 */
export function checkToken(secrets: readonly Uint8Array[], cluster: string, token: string): boolean {
  let right = false;
  for (const secret of secrets) {
    const expected = hashed(secret, clusterToken(secret, cluster));
    right = timingSafeEqual(expected, hashed(secret, token)) || right;
  }
  return right;
}

/** Is this the token that all clusters share? In constant time, whatever their lengths. */
export function isSharedToken(shared: string, token: string): boolean {
  const key = randomBytes(MIN_SECRET_BYTES);
  return timingSafeEqual(hashed(key, shared), hashed(key, token));
}

/** The token in a call's metadata; undefined: none is there. */
export function bearerToken({ authorization }: StreamMetadata): string | undefined {
  if (authorization === undefined) return undefined;
  return /^Bearer ([\x21-\x7e]{1,512})$/.exec(authorization)?.[1] ?? '';
}

function hashed(secret: Uint8Array, text: string): Buffer {
  return createHmac('sha256', secret).update(text).digest();
}
