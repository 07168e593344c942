import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createDiskCredentials } from '../../../src/adapters/disk/credentials.ts';
import type { KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { createKubernetesCredentials } from '../../../src/adapters/kubernetes/credentials.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import type { CredentialStore } from '../../../src/ports/credentials.ts';
import type { Log } from '../../../src/ports/log.ts';
import { createFaultyClient, type Fault } from '../../support/kubernetes/faulty-client.ts';
import { silentLog } from '../../support/silent-log.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { credentials, credentialsContract } from './suite.ts';

export interface Home {
  readonly client: KubeClient;
  readonly namespace: string;
}

export const NAME = 'fleetrelay-agent-credentials';
/** A clock whose sleep advances it at once: no test waits. */
const virtual = createVirtualClock();
const clock = { ...virtual, sleep: virtual.advance };

/** The Secret as a process sees it, with a disk of its own to fall back to. */
export function secretOf({ client, namespace }: Home, folder: string, log: Log = silentLog): CredentialStore {
  const fallback = createDiskCredentials({ log }, { folder });
  const deps = { client, clock, random: { next: () => 0.5, id: () => 'x' }, log };
  return createKubernetesCredentials(deps, { namespace, name: NAME, fallback });
}

/** What credentials in a Secret must do, on whatever API server. `make` gives a namespace without one. */
export function kubernetesCredentialsContract(name: string, make: () => Promise<Home>): void {
  const root = mkdtempSync(join(tmpdir(), 'credentials-'));
  let folders = 0;
  const folder = (): string => {
    folders += 1;
    return join(root, String(folders));
  };
  afterAll(() => rmSync(root, { recursive: true }));

  credentialsContract(
    name,
    async () => {
      const home = await make();
      return () => secretOf(home, folder());
    },
    { shared: true },
  );

  describe(`${name}: credentials in a Secret`, () => {
    const path = (namespace: string): string => `/api/v1/namespaces/${namespace}/secrets/${NAME}`;
    const read = async ({ client, namespace }: Home): Promise<JsonObject> => {
      const answer = await client.request({ method: 'GET', path: path(namespace) });
      if (answer.type !== 'ok') throw new Error(JSON.stringify(answer));
      return answer.body;
    };

    test('it has the standard type of a TLS Secret, and the data of another manager stays', async () => {
      const home = await make();
      const store = secretOf(home, folder());
      await store.load();
      await store.save(credentials('a'));
      const secret = await read(home);
      expect(secret).toMatchObject({
        type: 'kubernetes.io/tls',
        metadata: { labels: { 'app.kubernetes.io/part-of': 'fleetrelay' } },
        data: { 'tls.crt': Buffer.from(credentials('a').certificate).toString('base64') },
      });
      const data = { ...(secret.data as JsonObject), note: Buffer.from('mine').toString('base64') };
      await home.client.request({ method: 'PUT', path: path(home.namespace), body: { ...secret, data } });
      expect(await store.load()).toEqual(credentials('a'));
      await store.save(credentials('b'));
      expect(await read(home)).toMatchObject({ data: { note: 'bWluZQ==' } });
      expect(await secretOf(home, folder()).load()).toEqual(credentials('b'));
    });

    test('damaged data counts as none and is replaced; a Secret of that name that another manager made is adopted', async () => {
      const home = await make();
      const metadata = { name: NAME, namespace: home.namespace };
      const data = { 'tls.crt': 'AAAA', 'tls.key': 'AAAA' };
      const body = { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata, data };
      await home.client.request({ method: 'POST', path: path(home.namespace).replace(`/${NAME}`, ''), body });
      const store = secretOf(home, folder());
      expect(await store.load()).toBeUndefined();
      await store.save(credentials('a'));
      expect(await secretOf(home, folder()).load()).toEqual(credentials('a'));
    });

    test.each(['lost', 'dropped', 'crash', 'crashAfter'] satisfies Fault[])(
      'whichever request is %s: the earlier credentials work or the new ones, never half of them',
      async (fault) => {
        for (let failing = 0; failing < 4; failing += 1) {
          for (const before of [undefined, 'a']) {
            const home = await make();
            if (before !== undefined) await secretOf(home, folder()).save(credentials(before));
            const faulty = createFaultyClient(home.client);
            faulty.fail((_request, number) => (number === failing ? fault : 'none'));
            const store = secretOf({ ...home, client: faulty }, folder());
            const saved = await store
              .load()
              .then(() => store.save(credentials('b')))
              .then(
                () => true,
                () => false,
              );
            const now = await secretOf(home, folder()).load();
            const either = [before === undefined ? undefined : credentials(before), credentials('b')];
            expect(saved ? [credentials('b')] : either).toContainEqual(now);
            if (fault === 'lost' || fault === 'dropped') expect(saved).toBe(true);
          }
        }
      },
    );

    test('a namespace that is not there is named', async () => {
      const home = await make();
      const store = secretOf({ ...home, namespace: 'nowhere' }, folder());
      expect(await store.load()).toBeUndefined();
      await expect(store.save(credentials('a'))).rejects.toThrow(/nowhere/);
    });
  });
}
