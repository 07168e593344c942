import { isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { quote } from '../../model/ids.ts';
import { ok, problem, type Result } from '../../model/result.ts';

/** A checked remote address. */
export interface Remote {
  /** What git is given, and what people are shown: it holds no credentials. */
  readonly url: string;
  /** For `GIT_ALLOW_PROTOCOL`: a redirect or an alternate cannot lead to another one. */
  readonly protocols: string;
  /** What travels to it cannot be read on the way. */
  readonly secure: boolean;
  readonly local: boolean;
}

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/**
 * Checks a configured address: `https://`, `http://`, `file://` or a path. Credentials in it are refused, because an
 * address is shown and logged; so is a query or fragment, which no repository needs.
 */
export function parseRemote(text: string): Result<Remote> {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
  if (text === '' || /[\u0000-\u001f\u007f]/.test(text)) {
    return problem('the address of the repository is empty or holds a control character');
  }
  if (isAbsolute(text) || !SCHEME.test(text)) return parsePath(text);
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    // The text is not shown: what cannot be parsed may hold a password.
    return problem('the address of the repository is not a valid URL');
  }
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
  const secure = url.protocol === 'https:';
  const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  return ok({ url: url.href, protocols: secure ? 'https' : 'http:https', secure: secure || loopback, local: false });
}

function parsePath(text: string): Result<Remote> {
  if (/^[^/]+:/.test(text)) {
    return problem('ssh addresses (user@host:path) are not supported; use https://, http://, file:// or a path');
  }
  return localRemote(resolve(text));
}

function localRemote(path: string): Result<Remote> {
  return ok({ url: path, protocols: 'file', secure: true, local: true });
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
const BRANCH = /^(?!-)(?!.*(\.\.|@\{|\/\/|\/\.|\.lock(\/|$)))[^\u0000-\u0020\u007f~^:?*[\\]+$/;

/** Checks a branch name as git does, so that it can be nothing else on a command line or in a refspec. */
export function parseBranch(text: string): Result<string> {
  const good =
    BRANCH.test(text) && !text.startsWith('/') && !text.startsWith('.') && !/[/.]$/.test(text) && text !== '@';
  return good && text.length <= 200 ? ok(text) : problem(`${quote(text)} is not a branch name`);
}
