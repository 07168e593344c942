import type { Credentials } from '../../generated/relay-config.js';
import type { CredentialReferences, SecretReference, UsernameReference } from '../model/fleet/relay-config.ts';
import type { Refuse } from './problem.ts';

/** Returns where the secret of a part of the document is: in `NAMEEnv` or `NAMEFile`. The schema demands one of them. */
export function secretOf(part: object, name: string): SecretReference {
  const { [`${name}Env`]: env, [`${name}File`]: file = '' } = part as Readonly<Record<string, string | undefined>>;
  return env === undefined ? { type: 'file', path: file } : { type: 'env', name: env };
}

/** Returns where an optional user name or password is: in `NAME` as text, `NAMEEnv` or `NAMEFile`. Refuses more than one. */
function referenceOf(part: object, name: string, at: string, refuse: Refuse): UsernameReference | undefined {
  const fields = part as Readonly<Record<string, string | undefined>>;
  const given = [name, `${name}Env`, `${name}File`].filter((field) => fields[field] !== undefined);
  if (given.length > 1) refuse('WrongChoice', at, `at most one of ${given.join(', ')} may be given`);
  const text = fields[name];
  if (text !== undefined) return { type: 'text', text };
  return given.length === 0 ? undefined : secretOf(part, name);
}

/** Reads the login at a store: neither user name nor password, a password, or both. */
export function readLogin(part: object, at: string, refuse: Refuse) {
  const username = referenceOf(part, 'username', at, refuse);
  const password = referenceOf(part, 'password', at, refuse) as SecretReference | undefined;
  if (username !== undefined && password === undefined)
    refuse('MissingField', at, 'a user name needs a password: passwordEnv or passwordFile');
  return { ...(username && { username }), ...(password && { password }) };
}

/** Reads the credentials for a repository: a token, or a password with a user name. The schema demands one of the two. */
export function readCredentials(part: Credentials, at: string, refuse: Refuse): CredentialReferences {
  const username = referenceOf(part, 'username', at, refuse);
  const hasToken = (part.tokenEnv ?? part.tokenFile) !== undefined;
  if (!hasToken && username === undefined)
    refuse('MissingField', at, 'a password needs a user name: username, usernameEnv or usernameFile');
  const secret = hasToken ? { token: secretOf(part, 'token') } : { password: secretOf(part, 'password') };
  return { ...(username && { username }), ...secret };
}
