import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createPrivate, ensurePrivateFolder, readIfThere } from './files.ts';

const FILE = 'relay-secret';
const BYTES = 32;
/** Remedies for a malformed secret: of a secret that the server made, and of a given one. */
const OWN = 'restore it, or remove it to make a new one, which makes every cluster token invalid';
const GIVEN = 'openssl rand -hex 32 prints a new one, which makes the tokens of any other invalid';

/**
 * The secret from which all cluster tokens are derived: 32 random bytes in `DIR/relay-secret` (hex), made on first use. A
 * file that cannot be read is an error and is never replaced, because another secret makes every token invalid.
 */
export async function ensureRelaySecret(dir: string): Promise<Uint8Array> {
  const path = join(dir, FILE);
  const there = await readIfThere(path);
  if (there !== undefined) return parse(path, there, OWN);
  await ensurePrivateFolder(dir);
  const secret = randomBytes(BYTES);
  if (createPrivate(path, Buffer.from(`${secret.toString('hex')}\n`))) return secret;
  // Another process was first.
  return parse(path, (await readIfThere(path)) ?? Buffer.alloc(0), OWN);
}

/** Reads a given secret (hex). Rejects with a text for people if it is missing or malformed. */
export async function readRelaySecret(path: string): Promise<Uint8Array> {
  const there = await readIfThere(path);
  if (there === undefined) throw new Error(`the relay secret ${path} is missing`);
  return parse(path, there, GIVEN);
}

/** Reads a secret from the environment (hex). Throws with a text for people if it is missing or malformed. */
export function relaySecretIn(env: Readonly<Record<string, string | undefined>>, name: string): Uint8Array {
  const text = env[name];
  if (text === undefined || text === '')
    throw new Error(`the environment variable ${name} with the relay secret is not set`);
  return parse(`the environment variable ${name}`, Buffer.from(text), GIVEN);
}

function parse(path: string, bytes: Uint8Array, remedy: string): Uint8Array {
  const text = Buffer.from(bytes).toString('utf8').trim();
  if (!/^(?:[0-9a-f]{2}){32,}$/.test(text)) {
    throw new Error(`${path} does not hold a relay secret (at least 64 lower-case hex digits); ${remedy}`);
  }
  return Buffer.from(text, 'hex');
}
