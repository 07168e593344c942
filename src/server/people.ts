import { createHash, timingSafeEqual } from 'node:crypto';
import type { PeerCertificate } from 'node:tls';
import type { Role } from '../model/fleet/relay-config.ts';
import { ok, problem, type Result } from '../model/values/result.ts';

/** A person who shows a token. */
export interface Person {
  readonly name: string;
  readonly role: Role;
  readonly token: string;
}

/** The caller of a request. */
export interface Caller {
  readonly name: string;
  readonly role: Role;
  /** `local`: it can read the server's own token or open its Unix socket, and has stated the name. */
  readonly proof: 'token' | 'certificate' | 'local';
}

/** All callers who show a token. */
export interface People {
  readonly isEmpty: boolean;
  /** Finds the person by `Authorization: Bearer TOKEN`; undefined: there is none. Takes the same time for every wrong token. */
  byAuthorization(authorization: string | undefined): Caller | undefined;
}

const ROLE_NAMES: Readonly<Record<string, Role>> = { 'fleetrelay:read': 'read', 'fleetrelay:operate': 'operate' };

/** The caller who can read the server's own files, before it states its name. */
export const LOCAL_CALLER: Caller = { name: 'a local caller', role: 'operate', proof: 'local' };

/**
 * Returns a problem if a token is too weak, or if two people have the same token.
 *
 * @param localToken of {@link LOCAL_CALLER}; undefined: there is none
 */
export function createPeople(people: readonly Person[], localToken?: string): Result<People> {
  const known: { readonly caller: Caller; readonly token: string }[] = people.map(({ name, role, token }) => ({
    caller: { name, role, proof: 'token' },
    token,
  }));
  if (localToken !== undefined) known.push({ caller: LOCAL_CALLER, token: localToken });
  for (const [index, { caller, token }] of known.entries()) {
    if (!/^[!-~]{16,}$/.test(token)) {
      return problem(`the API token of ${caller.name} must be at least 16 printable characters without spaces`);
    }
    const same = known.slice(0, index).find((other) => other.token === token);
    if (same !== undefined) return problem(`${same.caller.name} and ${caller.name} have the same API token`);
  }
  const digests = known.map(({ caller, token }) => ({ caller, digest: digestOf(token) }));
  return ok({
    isEmpty: known.length === 0,
    byAuthorization: (authorization) => {
      const given = /^Bearer +([!-~]+) *$/i.exec(authorization ?? '')?.[1];
      if (given === undefined) return undefined;
      const digest = digestOf(given);
      // All are compared, so that the time does not depend on which one matches.
      const matching = digests.filter((person) => timingSafeEqual(person.digest, digest));
      return matching[0]?.caller;
    },
  });
}

/** Digests are compared, because they also hide the lengths of the tokens. */
function digestOf(token: string): Buffer {
  return createHash('sha256').update(token, 'utf8').digest();
}

/** Returns the caller of a verified client certificate: CN is the name, O the role. A problem names what is missing. */
export function callerOfCertificate({ subject }: Pick<PeerCertificate, 'subject'>): Result<Caller> {
  const name = single(subject?.CN);
  if (name === undefined || name === '' || name.length > 100 || /\p{C}/u.test(name)) {
    return problem('the client certificate has no usable common name (CN), which is the name of a person');
  }
  const roles = new Set(listOf(subject?.O).flatMap((organization) => ROLE_NAMES[organization] ?? []));
  const role = roles.has('operate') ? 'operate' : roles.has('read') ? 'read' : undefined;
  return role === undefined
    ? problem('the client certificate has no role: its organization (O) must be fleetrelay:read or fleetrelay:operate')
    : ok({ name, role, proof: 'certificate' });
}

function listOf(value: string | readonly string[] | undefined): readonly string[] {
  return value === undefined ? [] : typeof value === 'string' ? [value] : value;
}

function single(value: string | readonly string[] | undefined): string | undefined {
  const all = listOf(value);
  return all.length === 1 ? all[0] : undefined;
}
