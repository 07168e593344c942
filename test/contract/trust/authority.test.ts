import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sealAnew, sealStore } from '../../../src/adapters/stores/sealed.ts';
import {
  AUTHORITY_KEY,
  type Authorities,
  createOwnAuthority,
  type OwnAuthority,
  rootsText,
  signingAuthority,
} from '../../../src/adapters/tls/own-authority.ts';
import { ensureSigned } from '../../../src/adapters/tls/server-certificate.ts';
import { sealing } from '../../support/sealing.ts';
import { createSharedMemory, type SharedMemory, type SharedMemoryStore } from '../../support/shared-memory-store.ts';
import { DAY_MS } from '../../support/test-authority.ts';

const NOW = Date.UTC(2026, 5, 1);
const SECRET = new Uint8Array(32).fill(1);
const NEXT_SECRET = new Uint8Array(32).fill(2);

let root: string;
let dir: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'relay-authority-'));
  dir = await mkdtemp(join(root, 'a-'));
});

afterEach(() => rm(root, { recursive: true }));

const names = (authorities: Authorities): string[] => authorities.map(({ fingerprint }) => fingerprint);
const signer = (authorities: Authorities, now: number): string | undefined =>
  signingAuthority(authorities, now)?.fingerprint;

/** What counts on this day after the start. */
async function onDay(own: OwnAuthority, day: number): Promise<Authorities> {
  const { authorities, problem } = await own.refresh(NOW + day * DAY_MS);
  expect(problem).toBeUndefined();
  return authorities;
}

describe('an own authority', () => {
  test('lives for a year, and gets a successor that is announced long before it signs', async () => {
    const own = createOwnAuthority(dir);
    const [first] = await onDay(own, 0);
    expect(first?.expiresAt).toBe(NOW + 365 * DAY_MS);
    expect(names(await onDay(own, 274))).toEqual([first?.fingerprint]);
    const both = await onDay(own, 276);
    expect(both).toHaveLength(2);
    const [, second] = both;
    // Ninety days are shared, and after sixty of them the second one signs: a month before the first one ends.
    expect(signer(both, NOW + 276 * DAY_MS)).toBe(first?.fingerprint);
    expect(signer(both, NOW + 335 * DAY_MS)).toBe(first?.fingerprint);
    expect(signer(both, NOW + 336 * DAY_MS)).toBe(second?.fingerprint);
    expect(names(await onDay(own, 364))).toEqual(names(both));
    expect(names(await onDay(own, 366))).toEqual([second?.fingerprint]);
  });

  test('is the same after a restart, at every point of its life', async () => {
    const own = createOwnAuthority(dir);
    for (const day of [0, 276, 340, 366]) {
      const before = await onDay(own, day);
      expect(await onDay(createOwnAuthority(dir), day)).toEqual(before);
      expect((await stat(join(dir, 'ca.key'))).mode & 0o777).toBe(0o600);
    }
  });

  test('signs the certificate of the server, which changes with it, and both roots are announced meanwhile', async () => {
    const own = createOwnAuthority(dir);
    const shown = async (day: number) => {
      const authorities = await onDay(own, day);
      const server = await ensureSigned(dir, authorities, [], NOW + day * DAY_MS);
      return {
        authorities,
        certificate: new X509Certificate(server.certificate),
        ca: Buffer.from(server.ca).toString(),
      };
    };
    const first = await shown(0);
    const announced = await shown(276);
    expect(announced.certificate.fingerprint256).toBe(first.certificate.fingerprint256);
    expect(announced.ca).toBe(rootsText(announced.authorities));
    expect(announced.ca.match(/BEGIN/g)).toHaveLength(2);
    expect(await readFile(join(dir, 'ca.crt'), 'utf8')).toBe(announced.ca);
    const changed = await shown(336);
    const [old, next] = changed.authorities.map(({ certificate }) => new X509Certificate(certificate));
    expect(changed.certificate.verify(next!.publicKey)).toBe(true);
    expect(changed.certificate.verify(old!.publicKey)).toBe(false);
    expect(changed.ca).toBe(announced.ca);
  });

  test('that slept through its end is made anew', async () => {
    const [first] = await onDay(createOwnAuthority(dir), 0);
    const [second, ...more] = await onDay(createOwnAuthority(dir), 500);
    expect(more).toEqual([]);
    expect(second?.fingerprint).not.toBe(first?.fingerprint);
  });

  test('with a late successor lets it sign after two thirds of the remaining time', async () => {
    await onDay(createOwnAuthority(dir), 0);
    const both = await onDay(createOwnAuthority(dir), 356);
    expect(signer(both, NOW + 361.9 * DAY_MS)).toBe(both[0]?.fingerprint);
    expect(signer(both, NOW + 362.1 * DAY_MS)).toBe(both[1]?.fingerprint);
  });

  test.each<[string, () => Promise<unknown>, RegExp]>([
    ['without a key', () => unlink(join(dir, 'ca.key')), /restore the key/],
    [
      'with the key of another',
      async () => {
        const other = await mkdtemp(join(root, 'b-'));
        await onDay(createOwnAuthority(other), 0);
        await writeFile(join(dir, 'ca.key'), await readFile(join(other, 'ca.key')));
      },
      /not the key of/,
    ],
    [
      'with a damaged key',
      () => writeFile(join(dir, 'ca.key'), '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n'),
      /cannot be read/,
    ],
    ['that is empty', () => writeFile(join(dir, 'ca.crt'), ''), /holds no certificate/],
    [
      'with a key alone that is none',
      async () => {
        await unlink(join(dir, 'ca.crt'));
        await writeFile(join(dir, 'ca.key'), 'nothing');
      },
      /holds no key/,
    ],
  ])('%s is never made anew over what is there', async (_what, spoil, message) => {
    await onDay(createOwnAuthority(dir), 0);
    await spoil();
    const before = await readFile(join(dir, 'ca.key')).catch(() => undefined);
    await expect(createOwnAuthority(dir).refresh(NOW)).rejects.toThrow(message);
    expect(await readFile(join(dir, 'ca.key')).catch(() => undefined)).toEqual(before);
  });
});

describe('replicas with a shared store', () => {
  let memory: SharedMemory;
  let folders: number;

  beforeEach(() => {
    memory = createSharedMemory();
    folders = 0;
  });

  /** One replica, with a folder of its own. */
  async function replica(secrets: readonly Uint8Array[] = [SECRET], folder?: string) {
    folders += 1;
    const store: SharedMemoryStore = memory.open();
    const own = folder ?? (await mkdtemp(join(root, `r${folders}-`)));
    const sealed = sealStore(store, secrets, sealing);
    return { store, sealed, folder: own, own: createOwnAuthority(own, sealed) };
  }

  test('have one authority, also if they begin at the same moment', async () => {
    const replicas = await Promise.all([replica(), replica(), replica()]);
    const all = await Promise.all(replicas.map(({ own }) => onDay(own, 0)));
    expect(all[0]).toHaveLength(1);
    expect(all[1]).toEqual(all[0]);
    expect(all[2]).toEqual(all[0]);
  });

  test('have one successor, which any of them may make', async () => {
    const [one, two] = [await replica(), await replica()];
    await onDay(one.own, 0);
    await onDay(two.own, 0);
    const [first, second] = await Promise.all([onDay(one.own, 280), onDay(two.own, 280)]);
    expect(first).toHaveLength(2);
    expect(names(second)).toEqual(names(await onDay(one.own, 280)));
  });

  test('keep it in the store so that only the secret opens it', async () => {
    const { own, store } = await replica();
    const [authority] = await onDay(own, 0);
    const sealed = Buffer.from((await store.get(AUTHORITY_KEY))?.value ?? '').toString('latin1');
    expect(sealed.length).toBeGreaterThan(500);
    expect(sealed).not.toContain('PRIVATE KEY');
    expect(sealed).not.toContain('CERTIFICATE');
    expect(authority?.key).toContain('PRIVATE KEY');
  });

  test('with another secret make none of their own, and report the remedy', async () => {
    await onDay((await replica()).own, 0);
    await expect((await replica([NEXT_SECRET])).own.refresh(NOW)).rejects.toThrow(/give every replica the same one/);
    // Also with one of their own from before, which the others would not believe.
    await onDay(createOwnAuthority(dir), 0);
    const other = await replica([NEXT_SECRET], dir);
    await expect(other.own.refresh(NOW)).rejects.toThrow(/give every replica the same one/);
  });

  test('report a record that a stranger has changed, and do not replace it', async () => {
    const { own, store } = await replica();
    await onDay(own, 0);
    const value = Buffer.from((await store.get(AUTHORITY_KEY))?.value ?? '');
    value[100] = (value[100] ?? 0) ^ 1;
    await store.write([{ key: AUTHORITY_KEY, value }]);
    await expect((await replica()).own.refresh(NOW)).rejects.toThrow(/is damaged: restore the store/);
  });

  test('change to another secret without losing it', async () => {
    const before = await onDay((await replica([SECRET])).own, 0);
    expect(await onDay((await replica([SECRET, NEXT_SECRET])).own, 1)).toEqual(before);
    const rotated = await replica([NEXT_SECRET, SECRET]);
    expect(await onDay(rotated.own, 2)).toEqual(before);
    // As a server does when it starts with two secrets.
    await sealAnew(rotated.store, [NEXT_SECRET, SECRET]);
    expect(await onDay((await replica([NEXT_SECRET])).own, 3)).toEqual(before);
  });

  test('fill it in again when the store has lost it, also after they were all restarted', async () => {
    const one = await replica();
    const before = await onDay(one.own, 0);
    memory.lose();
    expect(await onDay(one.own, 1)).toEqual(before);
    expect(memory.keys()).toContain(AUTHORITY_KEY);
    memory.lose();
    const again = await replica([SECRET], one.folder);
    expect(await onDay(again.own, 2)).toEqual(before);
    expect(await onDay((await replica()).own, 2)).toEqual(before);
  });

  test('keep the authority that one of them had alone, when they get a store', async () => {
    const alone = await onDay(createOwnAuthority(dir), 0);
    const joined = await onDay((await replica()).own, 1);
    const all = await onDay((await replica([SECRET], dir)).own, 2);
    expect(names(all)).toEqual([...names(alone), ...names(joined)]);
  });

  test('use their known authorities without the store, make none, and report it', async () => {
    const one = await replica();
    const before = await onDay(one.own, 0);
    memory.down('the store is away');
    expect(await one.own.refresh(NOW + 280 * DAY_MS)).toEqual({
      authorities: before,
      problem: expect.stringContaining('the store is away'),
    });
    const again = createOwnAuthority(one.folder, one.sealed);
    expect((await again.refresh(NOW + DAY_MS)).authorities).toEqual(before);
    await expect((await replica()).own.refresh(NOW)).rejects.toThrow(/the store is away/);
    memory.up();
    expect(await onDay(one.own, 281)).toHaveLength(2);
  });
});
