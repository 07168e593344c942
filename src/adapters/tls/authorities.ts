import { createPrivateKey, X509Certificate } from 'node:crypto';

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
/** Life of an authority, milliseconds. */
export const CA_MS = 365 * DAY_MS;
/** With less than this of its life left, an authority gets a successor, which is announced at once. */
const OVERLAP_MS = 90 * DAY_MS;
/** The successor signs after this part of the time that both are there: by then every agent has heard of it. */
const SIGNS_AFTER = 2 / 3;
/** Clocks of agents may be a little behind. */
export const BACKDATE_MS = HOUR_MS;

/** PEM texts of an authority. */
export interface AuthorityFiles {
  readonly ca: Uint8Array;
  readonly caKey: Uint8Array;
}

/** One authority whose certificates count. PEM texts. */
export interface Authority {
  readonly certificate: string;
  /** Absent: its certificates count, and it signs no more here. */
  readonly key?: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly expiresAt: number;
  readonly fingerprint: string;
}

/** All authorities whose certificates count, the oldest first. */
export type Authorities = readonly Authority[];

/** Puts certificates and keys (PEM, any number of each) together; whatever is neither is left out. */
export function readAuthorities(certificates: string, keys: string): Authorities {
  const all = pemBlocks(keys, 'PRIVATE KEY');
  return inOrder(
    pemBlocks(certificates, 'CERTIFICATE').map((certificate) => {
      const parsed = new X509Certificate(certificate);
      const key = all.find((candidate) => parsed.checkPrivateKey(createPrivateKey(candidate)));
      return {
        certificate,
        ...(key === undefined ? {} : { key }),
        since: parsed.validFromDate.getTime() + BACKDATE_MS,
        expiresAt: parsed.validToDate.getTime(),
        fingerprint: parsed.fingerprint256,
      };
    }),
  );
}

/** The authorities of both, each with its key if either knows it; those whose time is over at `now` are left out. */
export function joinAuthorities(one: Authorities, other: Authorities, now: number): Authorities {
  const joined = new Map<string, Authority>();
  for (const authority of [...one, ...other]) {
    const known = joined.get(authority.fingerprint);
    if (authority.expiresAt > now && known?.key === undefined) joined.set(authority.fingerprint, authority);
  }
  return inOrder([...joined.values()]);
}

/** Are these the same authorities, with the same keys? */
export function sameAuthorities(one: Authorities, other: Authorities): boolean {
  const text = (authorities: Authorities): string =>
    authorities.map(({ fingerprint, key }) => `${fingerprint} ${key !== undefined}`).join('\n');
  return text(one) === text(other);
}

/**
 * The authority that signs at `now`; undefined: there is none. Whoever knows the same authorities finds the same one. A
 * successor takes over when two thirds of the time are over that it shares with its predecessor.
 */
export function signingAuthority(authorities: Authorities, now: number): (Authority & AuthorityFiles) | undefined {
  const able = authorities.filter(({ key, expiresAt }) => key !== undefined && expiresAt > now);
  const chosen = able.reduce<Authority | undefined>((before, next) => {
    if (before === undefined) return next;
    const takesOver = next.since + SIGNS_AFTER * (before.expiresAt - next.since);
    return now >= takesOver ? next : before;
  }, undefined);
  if (chosen?.key === undefined) return undefined;
  return { ...chosen, ca: Buffer.from(chosen.certificate), caKey: Buffer.from(chosen.key) };
}

/** Is it time for a successor to all of these, at `now`? */
export function needsSuccessor(authorities: Authorities, now: number): boolean {
  return authorities.every(({ key, expiresAt }) => key === undefined || expiresAt - now < OVERLAP_MS);
}

/** The certificates of all (PEM). */
export function rootsText(authorities: Authorities): string {
  return authorities.map(({ certificate }) => certificate).join('');
}

/** The keys of all (PEM), as far as they are known. */
export function keysText(authorities: Authorities): string {
  return authorities.map(({ key = '' }) => key).join('');
}

/** The blocks of a PEM text with this label (the last words of it are enough), each ended by a line feed. */
export function pemBlocks(text: string, label: string): string[] {
  const pattern = new RegExp(`-----BEGIN ((?:[A-Z]+ )*${label})-----[\\s\\S]*?-----END \\1-----`, 'g');
  return [...text.matchAll(pattern)].map(([block]) => `${block}\n`);
}

/** By age, and what is equally old by its fingerprint: the same for everybody. */
function inOrder(authorities: readonly Authority[]): Authorities {
  return [...authorities].sort((a, b) => a.since - b.since || (a.fingerprint < b.fingerprint ? -1 : 1));
}
