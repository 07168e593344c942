import type { Credentials } from '../../generated/relay-config.js';
import type { FieldPath } from '../model/field-path.ts';
import type { CredentialReferences, SecretReference } from '../model/relay-config.ts';
import { type FieldProblem, fieldError } from './problem.ts';

/** Where a secret is found: in the environment or in a file, not both; undefined if neither is said. */
export function readSecret(
  name: string,
  env: string | undefined,
  file: string | undefined,
  at: FieldPath,
  problems: FieldProblem[],
): SecretReference | undefined {
  if (env !== undefined && file !== undefined) {
    problems.push(fieldError('WrongChoice', at, `at most one of ${name}Env, ${name}File may be given`));
  }
  if (env !== undefined) return { type: 'env', name: env };
  return file === undefined ? undefined : { type: 'file', path: file };
}

/** As {@link readSecret}, of something that is there for its secret alone; undefined if `given` is. */
export function readNeededSecret(
  name: string,
  given: readonly [env: string | undefined, file: string | undefined] | undefined,
  at: FieldPath,
  problems: FieldProblem[],
): SecretReference | undefined {
  if (given === undefined) return undefined;
  const secret = readSecret(name, ...given, at, problems);
  if (secret === undefined) {
    problems.push(fieldError('MissingField', at, `one of ${name}Env, ${name}File is needed`));
  }
  return secret;
}

/** Reads credentials and checks that the parts fit together; undefined if none are given. */
export function readCredentials(
  credentials: Credentials | undefined,
  at: FieldPath,
  problems: FieldProblem[],
): CredentialReferences | undefined {
  if (credentials === undefined) return undefined;
  const username = readSecret('username', credentials.usernameEnv, credentials.usernameFile, at, problems);
  const password = readSecret('password', credentials.passwordEnv, credentials.passwordFile, at, problems);
  const token = readSecret('token', credentials.tokenEnv, credentials.tokenFile, at, problems);
  if (token !== undefined && password !== undefined) {
    problems.push(fieldError('WrongChoice', at, 'at most one of a token and a password may be given'));
  }
  if (password !== undefined && username === undefined) {
    problems.push(fieldError('MissingField', at, 'a password needs a user name: usernameEnv or usernameFile'));
  }
  if (password === undefined && token === undefined) {
    problems.push(fieldError('MissingField', at, 'a password or a token is missing'));
  }
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(token === undefined ? {} : { token }),
  };
}
