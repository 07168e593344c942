import { readFile } from 'node:fs/promises';
import type { SecretReference, UsernameReference } from '../../model/relay-config.ts';
import { ok, problem, type Result } from '../../model/result.ts';

/**
 * How to authenticate to an http(s) remote. `token` is sent as the password of `username` (by default one that the
 * common hosts accept with any token), `bearer` as a bearer token. References are read at each use, so that what they
 * name can be replaced without a restart.
 */
export type GitCredentials =
  | { readonly type: 'basic'; readonly username: UsernameReference; readonly password: SecretReference }
  | { readonly type: 'token'; readonly token: SecretReference; readonly username?: UsernameReference }
  | { readonly type: 'bearer'; readonly token: SecretReference };

/** The header that authenticates, and every form of the secret, which must not be seen in any message. */
export interface AuthorizationHeader {
  readonly header: string;
  readonly secrets: readonly string[];
}

const MAX_SECRET_BYTES = 64 * 1024;

/** Reads the secret now and makes the header of it. */
export async function authorizationHeader(
  credentials: GitCredentials,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Result<AuthorizationHeader>> {
  const reference = credentials.type === 'basic' ? credentials.password : credentials.token;
  const secret = await readSecret(reference, environment);
  if (!secret.ok) return secret;
  if (credentials.type === 'bearer') {
    return ok({ header: `Authorization: Bearer ${secret.value}`, secrets: [secret.value] });
  }
  const named = await readUsername(credentials.username, environment);
  if (!named.ok) return named;
  const username = named.value;
  if (username.includes(':')) return problem('a username must not hold a ":"');
  const basic = Buffer.from(`${username}:${secret.value}`, 'utf8').toString('base64');
  return ok({ header: `Authorization: Basic ${basic}`, secrets: [secret.value, basic] });
}

async function readUsername(
  reference: UsernameReference | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Result<string>> {
  if (reference === undefined) return ok('x-access-token');
  return reference.type === 'text' ? ok(reference.text) : readSecret(reference, environment);
}

async function readSecret(
  reference: SecretReference,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Result<string>> {
  if (reference.type === 'env') {
    const value = environment[reference.name];
    return value === undefined || value === ''
      ? problem(`the environment variable ${reference.name} with the credential is not set`)
      : checkedSecret(value, `the environment variable ${reference.name}`);
  }
  try {
    // The line end that editors and `echo` add is no part of a secret.
    return checkedSecret((await readFile(reference.path, 'utf8')).replace(/\r?\n$/, ''), `the file ${reference.path}`);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return problem(`the file ${reference.path} with the credential cannot be read (${code})`);
  }
}

function checkedSecret(value: string, where: string): Result<string> {
  if (value === '' || value.length > MAX_SECRET_BYTES)
    return problem(`${where} is empty or too large for a credential`);
  // A line end would start another header.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
  return /[\u0000-\u001f\u007f]/.test(value) ? problem(`${where} holds a control character`) : ok(value);
}
