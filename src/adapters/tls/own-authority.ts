import { join } from 'node:path';
import { errorText } from '../../model/messages.ts';
import {
  type Authorities,
  joinAuthorities,
  keysText,
  needsSuccessor,
  pemBlocks,
  readAuthorities,
  rootsText,
  sameAuthorities,
} from './authorities.ts';
import { type AuthorityRecord, OtherSecretError } from './authority-record.ts';
import { createPrivate, readIfThere, writePrivate } from './files.ts';

/** The authorities that a server has made itself: in a folder (`ca.crt`, `ca.key`), and in the store if that is shared. */
export interface OwnAuthority {
  /**
   * What counts at `now` (milliseconds since 1970): joined with what the other replicas know, with a successor when it is
   * time, and written wherever something of it is missing. Rejects with a text for people if there is none, or if files
   * cannot be used, or the store by the first call; later and with files, `trouble` says what is wrong with the store.
   * One call at a time.
   */
  refresh(now: number): Promise<{ readonly authorities: Authorities; readonly trouble?: string }>;
}

/** Tries before it is given up that two replicas ever agree. */
const MOST_CONFLICTS = 20;

/** Without `record` the folder is all there is. */
export function createOwnAuthority(dir: string, record?: AuthorityRecord): OwnAuthority {
  let known: Authorities | undefined;
  return {
    async refresh(now) {
      known ??= (await readFolder(dir, now)) ?? (record === undefined ? await begin(dir, now) : []);
      const before = joinAuthorities(known, [], now);
      try {
        const next = record === undefined ? await renewed(known, now) : await shared(record, known, now);
        if (!sameAuthorities(known, next)) await write(dir, next);
        known = next;
        return { authorities: known };
      } catch (error) {
        if (record === undefined || before.length === 0 || error instanceof OtherSecretError) throw error;
        return { authorities: before, trouble: errorText(error) };
      }
    },
  };
}

async function renewed(known: Authorities, now: number): Promise<Authorities> {
  const current = joinAuthorities(known, [], now);
  return needsSuccessor(current, now) ? joinAuthorities(current, await make(now), now) : current;
}

/** Agrees with the other replicas. What anybody knows counts; whoever is first with a new one has made it. */
async function shared(record: AuthorityRecord, known: Authorities, now: number): Promise<Authorities> {
  for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts += 1) {
    const there = await record.read();
    const next = await renewed(joinAuthorities(known, there.authorities, now), now);
    if (there.version !== null && there.newest && sameAuthorities(next, there.authorities)) return next;
    if ((await record.write(next, there)) === 'written') return next;
  }
  throw new Error('the replicas do not agree on a certificate authority: their record changes all the time');
}

async function make(now: number, key?: string): Promise<Authorities> {
  const { createAuthority } = await import('./authority.ts');
  const made = await createAuthority(now, key === undefined ? undefined : Buffer.from(key));
  return readAuthorities(Buffer.from(made.ca).toString('utf8'), Buffer.from(made.caKey).toString('utf8'));
}

/** Undefined: there is none in it. */
async function readFolder(dir: string, now: number): Promise<Authorities | undefined> {
  const paths = { roots: join(dir, 'ca.crt'), keys: join(dir, 'ca.key') };
  const [roots, keys] = await Promise.all([readIfThere(paths.roots), readIfThere(paths.keys)]);
  if (roots === undefined) return undefined;
  const there = read(paths, roots.toString('utf8'), keys?.toString('utf8') ?? '');
  if (there.length === 0) throw new Error(`${paths.roots} holds no certificate in PEM form`);
  if (keys === undefined) {
    throw new Error(`${paths.roots} is there without ${paths.keys}: restore the key, or give certificates of your own`);
  }
  if (there.every(({ key }) => key === undefined)) throw new Error(`${paths.keys} is not the key of ${paths.roots}`);
  const early = there.find(({ since }) => since - 2 * 60 * 60 * 1000 > now);
  if (early !== undefined && there.length === 1) {
    throw new Error(`${paths.roots} is not valid before ${new Date(early.since).toISOString()}: set the clock right`);
  }
  return joinAuthorities(there, [], now);
}

function read(paths: { readonly roots: string; readonly keys: string }, roots: string, keys: string): Authorities {
  try {
    return readAuthorities(roots, keys);
  } catch (error) {
    throw new Error(`${paths.roots} or ${paths.keys} cannot be read as certificates and keys in PEM form`, {
      cause: error,
    });
  }
}

/** The first files of a folder; of two processes that begin in it, the first one's count. */
async function begin(dir: string, now: number): Promise<Authorities> {
  for (;;) {
    // A key without its certificate is what a crash leaves behind, or another process that is at it: it is gone on with.
    const keys = await readIfThere(join(dir, 'ca.key'));
    const [left] = pemBlocks(keys?.toString('utf8') ?? '', 'PRIVATE KEY');
    if (keys !== undefined && left === undefined) throw new Error(`${join(dir, 'ca.key')} holds no key in PEM form`);
    const made = await make(now, left);
    if (left !== undefined || (await createPrivate(join(dir, 'ca.key'), Buffer.from(keysText(made))))) {
      if (await createPrivate(join(dir, 'ca.crt'), Buffer.from(rootsText(made)))) return made;
    }
    const there = await readFolder(dir, now);
    if (there !== undefined) return there;
  }
}

/** The keys first: a certificate without its key would be of no use. */
async function write(dir: string, authorities: Authorities): Promise<void> {
  await writePrivate(join(dir, 'ca.key'), Buffer.from(keysText(authorities)));
  await writePrivate(join(dir, 'ca.crt'), Buffer.from(rootsText(authorities)));
}
