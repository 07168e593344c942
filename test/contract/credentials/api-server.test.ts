import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectKube } from '../../../src/adapters/kubernetes/api/connect.ts';
import type { KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { agentRights } from '../../../src/compose/manifests/agent-roles.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { must } from '../../../src/model/values/result.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import { type OwnNamespaces, openOwnNamespaces } from '../../support/kubernetes/own-namespaces.ts';
import { LIMITED_USER } from '../../support/kubernetes/shared-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { kubernetesCredentialsContract, NAME, secretOf } from './kubernetes.ts';
import { credentials } from './suite.ts';

describe.skipIf(noProgram('kube-apiserver'))('on a real API server', () => {
  let home: OwnNamespaces;

  beforeAll(async () => {
    home = await openOwnNamespaces();
  });

  afterAll(() => home?.stop());

  kubernetesCredentialsContract('real API server', () => home.make());

  describe('with the rights of an agent', () => {
    const folder = mkdtempSync(join(tmpdir(), 'credentials-'));
    let agent: KubeClient;

    beforeAll(async () => {
      const deps = { clock: createSystemClock(), random: createSystemRandom(), log: createRecordingLog() };
      const kubeconfig = home.limited;
      agent = must(await connectKube(deps, { kubeconfig, userAgent: 'test' })).client;
    });

    afterAll(async () => {
      await agent?.close();
      rmSync(folder, { recursive: true });
    });

    /** The Role of the agent, and nothing else, for the user. */
    async function withRights(): Promise<string> {
      const { client, namespace } = await home.make();
      const base = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
      const subjects = [{ kind: 'User', name: LIMITED_USER, apiGroup: 'rbac.authorization.k8s.io' }];
      for (const manifest of agentRights({ namespace, writable: [] })) {
        if (manifest.kind !== 'Role' && manifest.kind !== 'RoleBinding') continue;
        const body: JsonObject = manifest.kind === 'Role' ? manifest : { ...manifest, subjects };
        const path = `${base}/${manifest.kind === 'Role' ? 'roles' : 'rolebindings'}`;
        const answer = await client.request({ method: 'POST', path, body });
        expect(answer).toMatchObject({ type: 'ok' });
      }
      return namespace;
    }

    test('the one Secret is made, read and replaced, and no other', async () => {
      const namespace = await withRights();
      const log = createRecordingLog();
      const store = secretOf({ client: agent, namespace }, join(folder, 'a'), log);
      expect(await store.load()).toBeUndefined();
      await store.save(credentials('a'));
      await store.save(credentials('b'));
      expect(await secretOf({ client: agent, namespace }, join(folder, 'b'), log).load()).toEqual(credentials('b'));
      expect(log.lines).toEqual([]);
      const secrets = `/api/v1/namespaces/${namespace}/secrets`;
      const other = (name: string): JsonObject => ({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace },
      });
      const type = 'application/apply-patch+yaml';
      const refusals = [
        { method: 'GET', path: secrets },
        { method: 'GET', path: `${secrets}/other` },
        { method: 'POST', path: secrets, body: other('other') },
        { method: 'POST', path: secrets, body: other(NAME) },
        {
          method: 'PATCH',
          path: `${secrets}/other`,
          query: { fieldManager: 'x' },
          contentType: type,
          body: other('other'),
        },
        { method: 'PUT', path: `${secrets}/other`, body: other('other') },
        { method: 'DELETE', path: `${secrets}/${NAME}` },
      ] as const;
      for (const request of refusals) expect(await agent.request(request)).toMatchObject({ status: 403 });
    });

    test('without the right they are on the disk, which is logged once; with it they move to the Secret', async () => {
      const { namespace } = await home.make();
      const log = createRecordingLog();
      const store = secretOf({ client: agent, namespace }, join(folder, 'c'), log);
      expect(await store.load()).toBeUndefined();
      await store.save(credentials('a'));
      await store.save(credentials('b'));
      expect(store.place).toContain(folder);
      expect(log.lines).toHaveLength(1);
      expect(JSON.stringify(log.lines)).toContain(`Secret/${namespace}/${NAME}`);
      expect(await secretOf({ client: agent, namespace }, join(folder, 'c')).load()).toEqual(credentials('b'));
    });
  });
});
