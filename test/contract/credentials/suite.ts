import { describe, expect, test } from 'vitest';
import type { AgentCredentials, CredentialStore } from '../../../src/ports/credentials.ts';

/** Makes processes that share one place where nothing is yet. */
export type CredentialHome = () => Promise<() => CredentialStore>;

/** A set that can be told from others by its name. Stores look at nothing but the frames of the texts. */
export function credentials(name: string): AgentCredentials {
  const body = Buffer.from(name.repeat(200)).toString('base64');
  const pem = (type: string): string => `-----BEGIN ${type}-----\n${body}\n-----END ${type}-----\n`;
  return {
    key: pem('PRIVATE KEY'),
    certificate: pem('CERTIFICATE'),
    roots: pem('CERTIFICATE').repeat(3),
    requestedKey: '',
  };
}

/** What every place of credentials must do. `shared`: several processes may use it at once. */
export function credentialsContract(
  name: string,
  make: CredentialHome,
  { shared }: { readonly shared: boolean },
): void {
  describe(`${name}: contract of credentials`, () => {
    test('where nothing was saved there is nothing', async () => {
      const open = await make();
      expect(await open().load()).toBeUndefined();
    });

    test('saved credentials are there for the next process, and are replaced completely', async () => {
      const open = await make();
      const first = open();
      await first.load();
      await first.save(credentials('a'));
      expect(await first.load()).toEqual(credentials('a'));
      expect(await open().load()).toEqual(credentials('a'));
      await first.save({ ...credentials('b'), roots: '' });
      await first.save(credentials('c'));
      expect(await open().load()).toEqual(credentials('c'));
    });

    test('what is there can be replaced by a process that found it', async () => {
      const open = await make();
      await open().save(credentials('a'));
      const next = open();
      await next.load();
      await next.save(credentials('b'));
      expect(await open().load()).toEqual(credentials('b'));
    });

    test('there may be roots and no pair, and a requested key beside them or alone', async () => {
      const open = await make();
      const roots = { key: '', certificate: '', roots: credentials('a').roots, requestedKey: '' };
      for (const parts of [roots, { ...roots, requestedKey: credentials('b').key }]) {
        const store = open();
        await store.load();
        await store.save(parts);
        expect(await open().load()).toEqual(parts);
      }
      const store = open();
      await store.load();
      const key = { ...roots, roots: '', requestedKey: credentials('b').key };
      await store.save(key);
      expect(await open().load()).toEqual(key);
    });

    test.skipIf(!shared)('who did not see what another has saved saves nothing, and then finds it', async () => {
      const open = await make();
      const [a, b] = [open(), open()];
      await Promise.all([a.load(), b.load()]);
      await a.save(credentials('a'));
      await expect(b.save(credentials('b'))).rejects.toThrow(/another process/);
      expect(await open().load()).toEqual(credentials('a'));
      expect(await b.load()).toEqual(credentials('a'));
      await b.save(credentials('b'));
      await expect(a.save(credentials('c'))).rejects.toThrow(/another process/);
      expect(await a.load()).toEqual(credentials('b'));
    });

    test.skipIf(!shared)('of many first ones at once exactly one is there', async () => {
      const open = await make();
      const names = ['a', 'b', 'c', 'd', 'e', 'f'];
      const stores = names.map(() => open());
      await Promise.all(stores.map((store) => store.load()));
      const saved = await Promise.allSettled(names.map((each, index) => stores[index]?.save(credentials(each))));
      const winners = names.filter((_, index) => saved[index]?.status === 'fulfilled');
      expect(winners).toHaveLength(1);
      expect(await open().load()).toEqual(credentials(winners[0] ?? ''));
    });
  });
}
