import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { StreamMetadata } from '../../ports/transport.ts';

/** Tells the kind of token, so that later kinds can be told from it: one that was never renewed, and one that was. */
const FIRST_PREFIX = 'frt1_';
const RENEWED_PREFIX = 'frt2_';
/** What a renewed token says of its generation. */
const RENEWED = /^frt2_([1-9]\d{0,14})_/;
/** Shorter secrets can be guessed. */
const MIN_SECRET_BYTES = 32;

/**
 * The token of a cluster: derived from the relay secret, so that nothing secret is stored per cluster, and a token says
 * nothing about another. `generation`: see `../../ports/token-generations.ts`. Throws if the secret is shorter than 32 bytes.
 */
export function clusterToken(secret: Uint8Array, cluster: string, generation = 0): string {
  if (secret.length < MIN_SECRET_BYTES) throw new Error(`a relay secret needs at least ${MIN_SECRET_BYTES} bytes`);
  const derive = (text: string): string => createHmac('sha256', secret).update(text).digest('base64url');
  if (generation === 0) return `${FIRST_PREFIX}${derive(`token\u0000${cluster}`)}`;
  return `${RENEWED_PREFIX}${generation}_${derive(`token\u0000${cluster}\u0000${generation}`)}`;
}

/**
 * The generation of a token of this cluster, under any of the secrets; undefined: it is none. Takes the same time whichever
 * it is not: every secret is tried, and digests of equal length are compared in constant time. The generation is the
 * caller's own word, which the token proves or does not.
 */
export function tokenGeneration(secrets: readonly Uint8Array[], cluster: string, token: string): number | undefined {
  const generation = Number(RENEWED.exec(token)?.[1] ?? 0);
  let right = false;
  for (const secret of secrets) {
    const expected = hashed(secret, clusterToken(secret, cluster, generation));
    right = timingSafeEqual(expected, hashed(secret, token)) || right;
  }
  return right ? generation : undefined;
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
