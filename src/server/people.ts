import { createHash, timingSafeEqual } from 'node:crypto';
import type { PeerCertificate } from 'node:tls';
import type { Role } from '../model/relay-config.ts';
import { ok, problem, type Result } from '../model/result.ts';

/** Somebody who shows a token. */
export interface Person {
  readonly name: string;
  readonly role: Role;
  readonly token: string;
}

/** Who asks. */
export interface Caller {
  readonly name: string;
  readonly role: Role;
  readonly proof: 'token' | 'certificate' | 'none';
}

/** Those who show a token. */
export interface People {
  readonly isEmpty: boolean;
  /** Whose token an `Authorization: Bearer TOKEN` holds; undefined: nobody's. Takes as long for any wrong one. */
  byAuthorization(authorization: string | undefined): Caller | undefined;
}

const ROLE_NAMES: Readonly<Record<string, Role>> = { 'fleetrelay:read': 'read', 'fleetrelay:operate': 'operate' };

/** A problem if a token is too weak, or two people have the same one. */
export function createPeople(people: readonly Person[]): Result<People> {
  const known = people.map(({ name, role, token }) => ({ caller: { name, role, proof: 'token' } as const, token }));
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
      // All are compared, so that the time does not tell who is near.
      const matching = digests.filter((person) => timingSafeEqual(person.digest, digest));
      return matching[0]?.caller;
    },
  });
}

/** Comparing digests hides the lengths of tokens as well. */
function digestOf(token: string): Buffer {
  return createHash('sha256').update(token, 'utf8').digest();
}

/** Whom a verified client certificate names: its CN, and its O the role. A problem says what it lacks. */
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
