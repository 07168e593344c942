import { readFile } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { quote } from '../../model/ids.ts';
import type { CredentialReferences, SecretReference } from '../../model/relay-config.ts';
import { ok, problem, type Result } from '../../model/result.ts';

/** Environment variables by name; a variable may be unset. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A checked remote address. */
export interface Remote {
  /** The address for git and for people; it contains no credentials. */
  readonly url: string;
  /** For `GIT_ALLOW_PROTOCOL`: a redirect or an alternate cannot lead to another protocol. */
  readonly protocols: string;
  /** The traffic is encrypted, or does not leave this machine. */
  readonly secure: boolean;
  readonly local: boolean;
}

/** The header that authenticates, and every form of the secret, which no message may contain. */
export interface AuthorizationHeader {
  readonly header: string;
  readonly secrets: readonly string[];
}

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
const BRANCH = /^(?!-)(?!.*(\.\.|@\{|\/\/|\/\.|\.lock(\/|$)))[^\u0000-\u0020\u007f~^:?*[\\]+$/;
const MAX_SECRET_LENGTH = 64 * 1024;
/** A user name that the common hosts accept with any token. */
const TOKEN_USER = 'x-access-token';

/**
 * Checks a configured address: `https://`, `http://`, `file://` or a path. An address with credentials is refused, because
 * addresses are shown and logged; so is an address with a query or fragment, which no repository needs.
 */
export function parseRemote(text: string): Result<Remote> {
  if (text === '' || CONTROL_CHARACTER.test(text)) {
    return problem('the address of the repository is empty or holds a control character');
  }
  if (isAbsolute(text) || !SCHEME.test(text)) {
    return /^[^/]+:/.test(text)
      ? problem('ssh addresses (user@host:path) are not supported; use https://, http://, file:// or a path')
      : localRemote(resolve(text));
  }
  const url = URL.parse(text);
  // The text is not shown: an address that cannot be parsed may contain a password.
  if (url === null) return problem('the address of the repository is not a valid URL');
  if (url.username !== '' || url.password !== '') {
    return problem(
      `the address of the repository on ${quote(url.host)} holds credentials; take them out and configure them apart (from an environment variable or a file)`,
    );
  }
  if (url.protocol === 'file:') return localRemote(fileURLToPath(url));
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return problem(
      `addresses of kind ${quote(url.protocol)} are not supported; use https://, http://, file:// or a path`,
    );
  }
  if (url.search !== '' || url.hash !== '') {
    return problem(`the address of the repository on ${quote(url.host)} holds a "?" or "#"; take that part out`);
  }
  const isTls = url.protocol === 'https:';
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  return ok({ url: url.href, protocols: isTls ? 'https' : 'http:https', secure: isTls || isLoopback, local: false });
}

function localRemote(path: string): Result<Remote> {
  return ok({ url: path, protocols: 'file', secure: true, local: true });
}

/** Checks a branch name by git's rules, so that it is neither an option nor another part of a refspec. */
export function parseBranch(text: string): Result<string> {
  const isName = BRANCH.test(text) && !/^[/.]|[/.]$/.test(text) && text !== '@' && text.length <= 200;
  return isName ? ok(text) : problem(`${quote(text)} is not a branch name`);
}

/**
 * Reads the secret, and makes the header for an http(s) remote of it: a password of the user name, or a token, which may
 * have a user name. Called for each use, so that a secret can be replaced without a restart.
 */
export async function authorizationHeader(
  { username, password, token }: CredentialReferences,
  environment: Environment,
): Promise<Result<AuthorizationHeader>> {
  const reference = password ?? token;
  if (reference === undefined) return problem('neither a password nor a token is configured for this repository');
  const secret = await readSecret(reference, environment);
  if (!secret.ok) return secret;
  const named = await readUsername(username, environment);
  if (!named.ok) return named;
  if (named.value.includes(':')) return problem('a username must not hold a ":"');
  const basic = Buffer.from(`${named.value}:${secret.value}`, 'utf8').toString('base64');
  return ok({ header: `Authorization: Basic ${basic}`, secrets: [secret.value, basic] });
}

async function readUsername(
  reference: CredentialReferences['username'],
  environment: Environment,
): Promise<Result<string>> {
  if (reference === undefined) return ok(TOKEN_USER);
  return reference.type === 'text' ? ok(reference.text) : readSecret(reference, environment);
}

async function readSecret(reference: SecretReference, environment: Environment): Promise<Result<string>> {
  if (reference.type === 'env') {
    const value = environment[reference.name] ?? '';
    return value === ''
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
  if (value === '' || value.length > MAX_SECRET_LENGTH) {
    return problem(`${where} is empty or too large for a credential`);
  }
  // A line end would start another header.
  return CONTROL_CHARACTER.test(value) ? problem(`${where} holds a control character`) : ok(value);
}
