import { isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isLoopback } from '../../http/loopback.ts';
import { isSshAddress, repositoryProblem } from '../../manifest/repository-address.ts';
import { quote } from '../../model/fleet/ids.ts';
import { ok, problem, type Result } from '../../model/values/result.ts';

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
  readonly ssh: boolean;
}

/** A password of the user name, or a token. */
export interface GitCredentials {
  readonly username?: string | undefined;
  readonly secret: string;
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
/** A user name that the common hosts accept with any token. */
const TOKEN_USER = 'x-access-token';

/**
 * Checks a configured address: `https://`, `http://`, `ssh://`, `user@host:path`, `file://` or a path. An address with credentials is refused, because
 * addresses are shown and logged; so is an address with a query or fragment, which no repository needs.
 */
export function parseRemote(text: string): Result<Remote> {
  if (text === '' || CONTROL_CHARACTER.test(text)) {
    return problem('the address of the repository is empty or holds a control character');
  }
  if (isSshAddress(text)) {
    const bad = repositoryProblem(text);
    return bad === undefined
      ? ok({ url: text, protocols: 'ssh', secure: true, local: false, ssh: true })
      : problem(bad);
  }
  if (isAbsolute(text) || !SCHEME.test(text)) return localRemote(resolve(text));
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
      `addresses of kind ${quote(url.protocol)} are not supported; use https://, http://, ssh://, user@host:path, file:// or a path`,
    );
  }
  if (url.search !== '' || url.hash !== '') {
    return problem(`the address of the repository on ${quote(url.host)} holds a "?" or "#"; take that part out`);
  }
  const isTls = url.protocol === 'https:';
  return ok({
    url: url.href,
    protocols: isTls ? 'https' : 'http:https',
    secure: isTls || isLoopback(url.hostname),
    local: false,
    ssh: false,
  });
}

function localRemote(path: string): Result<Remote> {
  return ok({ url: path, protocols: 'file', secure: true, local: true, ssh: false });
}

/** Checks a branch name by git's rules, so that it is neither an option nor another part of a refspec. */
export function parseBranch(text: string): Result<string> {
  const isName = BRANCH.test(text) && !/^[/.]|[/.]$/.test(text) && text !== '@' && text.length <= 200;
  return isName ? ok(text) : problem(`${quote(text)} is not a branch name`);
}

const COMMIT = /^[0-9a-f]{40}([0-9a-f]{24})?$/;

/**
 * Checks the name of a ref: a full one (`refs/...`), the name of a branch, or the id of a commit. Returns the full name or the id,
 * which is neither an option nor another part of a refspec.
 */
export function parseRef(text: string): Result<string> {
  const name = parseBranch(text);
  if (!name.ok) return problem(`${quote(text.slice(0, 200))} is neither the name of a ref nor the id of a commit`);
  return ok(COMMIT.test(text) || text.startsWith('refs/') ? text : `refs/heads/${text}`);
}

/** Makes the header for an http(s) remote. A problem if the credentials are no valid header. */
export function authorizationHeader({ username = TOKEN_USER, secret }: GitCredentials): Result<AuthorizationHeader> {
  if (username.includes(':')) return problem('a username must not hold a ":"');
  // A line end would start another header.
  if (CONTROL_CHARACTER.test(username + secret)) return problem('a credential holds a control character');
  const basic = Buffer.from(`${username}:${secret}`, 'utf8').toString('base64');
  return ok({ header: `Authorization: Basic ${basic}`, secrets: [secret, basic] });
}
