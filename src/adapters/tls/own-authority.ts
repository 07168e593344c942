import { createPrivateKey, X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { errorText } from '../../model/text/messages.ts';
import { given } from '../../model/values/given.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import { OtherSecretError } from '../stores/sealed.ts';
import { createPrivate, readIfThere, writePrivate } from './files.ts';
import type { AuthorityFiles } from './x509.ts';

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
/** Life of an authority in milliseconds. */
const CA_MS = 365 * DAY_MS;
/** An authority with less of its life left gets a successor, which is announced at once. */
const OVERLAP_MS = 90 * DAY_MS;
/** The successor signs after this part of the common time: by then every agent knows its certificate. */
const SIGNS_AFTER = 2 / 3;
/** Certificates are dated back by this time, because clocks of agents may be slow. */
export const BACKDATE_MS = HOUR_MS;
/** Where replicas share their authorities in the store. */
export const AUTHORITY_KEY = 'trust/ca';
/** Attempts to write the shared record before giving up. */
const MOST_CONFLICTS = 20;

/** An authority whose certificates are accepted. PEM texts. */
interface Authority {
  readonly certificate: string;
  /** Absent: this server does not sign with it any more. */
  readonly key?: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly expiresAt: number;
  readonly fingerprint: string;
}

/** All authorities whose certificates are accepted, the oldest first. */
export type Authorities = readonly Authority[];

/**
 * The authority that signs at `now`; undefined: there is none. Replicas that know the same authorities choose the same one.
 * A successor signs after two thirds of the time that it shares with its predecessor.
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

/** The certificates of all authorities (PEM). */
export function rootsText(authorities: Authorities): string {
  return authorities.map(({ certificate }) => certificate).join('');
}

function keysText(authorities: Authorities): string {
  return authorities.map(({ key = '' }) => key).join('');
}

/** The blocks of a PEM text with this label, or with a label that ends in it; each block ends with a line feed. */
export function pemBlocks(text: string, label: string): string[] {
  const pattern = new RegExp(`-----BEGIN ((?:[A-Z]+ )*${label})-----[\\s\\S]*?-----END \\1-----`, 'g');
  return [...text.matchAll(pattern)].map(([block]) => `${block}\n`);
}

/** Pairs the certificates of a PEM text with the keys of another one. Other blocks are ignored. */
export function parseAuthorities(certificates: string, keys: string): Authorities {
  const all = pemBlocks(keys, 'PRIVATE KEY');
  return sorted(
    pemBlocks(certificates, 'CERTIFICATE').map((certificate) => {
      const parsed = new X509Certificate(certificate);
      const key = all.find((candidate) => parsed.checkPrivateKey(createPrivateKey(candidate)));
      return {
        certificate,
        ...given({ key }),
        since: parsed.validFromDate.getTime() + BACKDATE_MS,
        expiresAt: parsed.validToDate.getTime(),
        fingerprint: parsed.fingerprint256,
      };
    }),
  );
}

/** The authorities of both that have not expired at `now`, each with its key if one of them has it. */
function joined(one: Authorities, other: Authorities, now: number): Authorities {
  const all = new Map<string, Authority>();
  for (const authority of [...one, ...other]) {
    const known = all.get(authority.fingerprint);
    if (authority.expiresAt > now && known?.key === undefined) all.set(authority.fingerprint, authority);
  }
  return sorted([...all.values()]);
}

/** By age and then by fingerprint: the same order at every replica. */
function sorted(authorities: readonly Authority[]): Authorities {
  return [...authorities].sort((a, b) => a.since - b.since || (a.fingerprint < b.fingerprint ? -1 : 1));
}

function isSame(one: Authorities, other: Authorities): boolean {
  const text = (authorities: Authorities): string =>
    authorities.map(({ fingerprint, key }) => `${fingerprint} ${key !== undefined}`).join('\n');
  return text(one) === text(other);
}

/** The authorities that a server has made: in a folder (`ca.crt`, `ca.key`), and in the store that replicas share. */
export type OwnAuthority = ReturnType<typeof createOwnAuthority>;

/** `store`: sealed, shared with other replicas; absent: there are none. */
export function createOwnAuthority(dir: string, store?: SnapshotStore) {
  let known: Authorities | undefined;
  return {
    /**
     * Returns the accepted authorities at `now` (milliseconds since 1970), joined with the authorities of other replicas. Makes a
     * successor when one is due, and writes to the folder and the store what they lack. Rejects with a text for people without
     * authorities, for unusable files, or for a record that this server cannot open. `problem`: the store failed, and the
     * known authorities are used. One call at a time.
     */
    async refresh(now: number): Promise<{ readonly authorities: Authorities; readonly problem?: string }> {
      known ??= (await readFolder(dir, now)) ?? (store === undefined ? await begin(dir, now) : []);
      const before = joined(known, [], now);
      try {
        const next = store === undefined ? await withSuccessor(before, now) : await shared(store, before, now);
        if (!isSame(known, next)) write(dir, next);
        known = next;
        return { authorities: known };
      } catch (error) {
        if (store === undefined || before.length === 0 || error instanceof OtherSecretError) throw error;
        return { authorities: before, problem: errorText(error) };
      }
    },
  };
}

async function withSuccessor(current: Authorities, now: number): Promise<Authorities> {
  const isDue = current.every(({ key, expiresAt }) => key === undefined || expiresAt - now < OVERLAP_MS);
  return isDue ? joined(current, await make(now), now) : current;
}

/** Joins the known authorities with those in the store. The first replica that writes a successor has made it. */
async function shared(store: SnapshotStore, known: Authorities, now: number): Promise<Authorities> {
  for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts += 1) {
    const record = await store.get(AUTHORITY_KEY);
    const stored = record === undefined ? [] : parseRecord(record.value);
    const next = await withSuccessor(joined(known, stored, now), now);
    if (record !== undefined && isSame(next, stored)) return next;
    const value = Buffer.from(rootsText(next) + keysText(next));
    const written = await store.write([{ key: AUTHORITY_KEY, value, ifVersion: record?.version ?? null }]);
    if (written === 'written') return next;
  }
  throw new Error('the replicas do not agree on a certificate authority: their record changes all the time');
}

/** A sealed store reads a damaged record as empty. It is never replaced: agents trust the authorities in it. */
function parseRecord(value: Uint8Array): Authorities {
  const text = Buffer.from(value).toString('utf8');
  if (text !== '') return parseAuthorities(text, text);
  throw new OtherSecretError(
    `the certificate authority in the store (${AUTHORITY_KEY}) is damaged: restore the store, or delete the record, and agents must be given the new certificate authority`,
  );
}

async function make(now: number, key?: string): Promise<Authorities> {
  const { createAuthority } = await import('./x509.ts');
  const validity = { validFrom: now - BACKDATE_MS, validUntil: now + CA_MS };
  const { ca, caKey } = await createAuthority(validity, key === undefined ? undefined : Buffer.from(key));
  return parseAuthorities(Buffer.from(ca).toString('utf8'), Buffer.from(caKey).toString('utf8'));
}

/** The authorities in a folder; undefined: there are none. */
async function readFolder(dir: string, now: number): Promise<Authorities | undefined> {
  const paths = { roots: join(dir, 'ca.crt'), keys: join(dir, 'ca.key') };
  const [roots, keys] = await Promise.all([readIfThere(paths.roots), readIfThere(paths.keys)]);
  if (roots === undefined) return undefined;
  let found: Authorities;
  try {
    found = parseAuthorities(roots.toString('utf8'), keys?.toString('utf8') ?? '');
  } catch (cause) {
    throw new Error(`${paths.roots} or ${paths.keys} cannot be read as certificates and keys in PEM form`, { cause });
  }
  if (found.length === 0) throw new Error(`${paths.roots} holds no certificate in PEM form`);
  if (keys === undefined) {
    throw new Error(`${paths.roots} is there without ${paths.keys}: restore the key, or give certificates of your own`);
  }
  if (found.every(({ key }) => key === undefined)) throw new Error(`${paths.keys} is not the key of ${paths.roots}`);
  const [only, ...more] = found;
  if (only !== undefined && more.length === 0 && only.since - 2 * HOUR_MS > now) {
    throw new Error(`${paths.roots} is not valid before ${new Date(only.since).toISOString()}: set the clock right`);
  }
  return joined(found, [], now);
}

/** Makes the first files of a folder. If two processes do so at once, the files of the first one are used. */
async function begin(dir: string, now: number): Promise<Authorities> {
  for (;;) {
    // A key without a certificate remains after a crash, or another process is about to write it: this key is used.
    const keys = await readIfThere(join(dir, 'ca.key'));
    const [left] = pemBlocks(keys?.toString('utf8') ?? '', 'PRIVATE KEY');
    if (keys !== undefined && left === undefined) throw new Error(`${join(dir, 'ca.key')} holds no key in PEM form`);
    const made = await make(now, left);
    if (left !== undefined || createPrivate(join(dir, 'ca.key'), Buffer.from(keysText(made)))) {
      if (createPrivate(join(dir, 'ca.crt'), Buffer.from(rootsText(made)))) return made;
    }
    const found = await readFolder(dir, now);
    if (found !== undefined) return found;
  }
}

/** Writes the keys first: a certificate without its key would be useless. */
function write(dir: string, authorities: Authorities): void {
  writePrivate(join(dir, 'ca.key'), Buffer.from(keysText(authorities)));
  writePrivate(join(dir, 'ca.crt'), Buffer.from(rootsText(authorities)));
}
