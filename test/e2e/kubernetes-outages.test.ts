import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { looksOf } from '../support/fleet-looks.ts';
import { until } from '../support/fleet-processes.ts';
import {
  AGENT_NAMESPACE,
  type KubernetesTestCluster,
  kubernetesClusters,
  openKubernetesPool,
} from '../support/kubernetes/clusters.ts';
import { type KubernetesFleet, startKubernetesFleet } from '../support/kubernetes/fleet.ts';
import { isLong } from '../support/long.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../support/manifests.ts';
import { noProgram } from '../support/programs.ts';

const OUTAGE_MS = isLong ? 30_000 : 8_000;
const STORMS = isLong ? 5 : 1;
const KILLS = isLong ? 6 : 2;
const LONG_MS = 90_000;

const files = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
  'fleet/policy.yaml': `apiVersion: fleetrelay.dev/v1alpha1
kind: FleetPolicy
metadata: {name: fleet}
spec: {guards: {maxRemovalsPerCluster: 1000, maxRemovalsPerFleet: 1000, percentFromOwned: 1000}}
`,
  'apps/a.yaml': configMapYaml('a', 'one'),
  'apps/b.yaml': configMapYaml('b', 'one'),
};

describe.skipIf(noProgram('kube-apiserver'))('what an agent on Kubernetes survives', () => {
  const pool = openKubernetesPool();
  let fleet: KubernetesFleet;
  const { holds, lacks, summary, entered, connected, logged } = looksOf(() => fleet, LONG_MS);
  afterEach(async () => fleet?.stop());
  afterAll(() => pool.stop());

  const start = async (): Promise<KubernetesTestCluster> => {
    fleet = await startKubernetesFleet(pool, files);
    await fleet.agent('east').start();
    await summary(/^applied by 1 of 1 clusters$/);
    return fleet.cluster('east');
  };
  const passes = (millis: number): Promise<boolean> => {
    const end = performance.now() + millis;
    return until(`${millis} ms have passed`, () => performance.now() > end, 4 * millis);
  };

  it(`an API server that stops answering for ${OUTAGE_MS / 1_000} s, and one that is gone so long: told, and caught up with`, async () => {
    const { plane, edit } = await start();
    const { cannotLook } = kubernetesClusters.capabilities;
    for (const [text, stop, resume, said] of [
      ['two', () => plane.signalApiServer('SIGSTOP'), () => plane.signalApiServer('SIGCONT'), undefined],
      ['three', () => plane.killApiServer(), () => plane.startApiServer(), cannotLook],
    ] as const) {
      await stop();
      await entered(fleet.push({ 'apps/a.yaml': configMapYaml('a', text) }));
      await passes(OUTAGE_MS);
      expect((await fleet.status()).summary).not.toMatch(/^applied by 1 of 1/);
      if (said !== undefined) {
        await until('east is not called in sync', async () => {
          const [east] = (await fleet.status()).clusters;
          return east?.inSync === false && said.test(east.message);
        });
      }
      await resume();
      await holds('east', 'ConfigMap/web/a', `value: ${text}`);
      await summary(/^applied by 1 of 1 clusters$/);
      await edit('ConfigMap/web/b', 'one', 'edited');
      await holds('east', 'ConfigMap/web/b', 'value: one');
    }
  });

  it('a history that is compacted while no watch is open, again and again: the agent finds the missed changes', async () => {
    const { plane, edit, remove } = await start();
    const names = Array.from({ length: STORMS }, (_, storm) => `storm-${storm}`);
    fleet.push(Object.fromEntries(names.map((name) => [`apps/${name}.yaml`, configMapYaml(name, 'one')])));
    for (const name of names) await holds('east', `ConfigMap/web/${name}`, 'one');
    for (const name of names) {
      fleet.agent('east').signal('SIGSTOP');
      await edit(`ConfigMap/web/${name}`, 'one', 'edited');
      await remove('ConfigMap/web/b');
      await plane.compact();
      await plane.killApiServer();
      await plane.startApiServer();
      fleet.agent('east').signal('SIGCONT');
      await holds('east', `ConfigMap/web/${name}`, 'value: one');
      await holds('east', 'ConfigMap/web/b', 'value: one');
    }
    fleet.push({ 'apps/b.yaml': null });
    await lacks('east', 'ConfigMap/web/b');
  });

  it('a cluster that is rebuilt under its old name is refused until a person replaces the cluster', async () => {
    await start();
    await fleet.agent('east').kill('SIGKILL');
    await fleet.agent('east-rebuilt').start({ token: 'east', cluster: 'east' });
    await logged('east-rebuilt', /ClusterIdBound/);
    expect(await fleet.live('east-rebuilt', 'ConfigMap/web/a')).toBeUndefined();
    expect(await fleet.live('east', 'ConfigMap/web/a')).toContain('one');
    await fleet.cli('cluster', 'replace', 'east');
    await holds('east-rebuilt', 'ConfigMap/web/a', 'one');
    await summary(/^applied by 1 of 1 clusters$/);
    expect(await fleet.live('east', 'ConfigMap/web/a')).toContain('one');
  });

  it('a cluster that is restored from a backup: its objects have new UIDs, and are ours as before', async () => {
    const cluster = await start();
    await fleet.agent('east').kill('SIGTERM');
    rmSync(join(fleet.sandbox.path, 'clusters', 'east', 'agent'), { recursive: true, force: true });
    await restore(cluster, 'web');
    await restore(cluster, AGENT_NAMESPACE);
    await fleet.agent('east').start();
    await summary(/^applied by 1 of 1 clusters$/);
    await cluster.edit('ConfigMap/web/a', 'one', 'edited');
    await holds('east', 'ConfigMap/web/a', 'value: one');
    fleet.push({ 'apps/b.yaml': null });
    await lacks('east', 'ConfigMap/web/b');
    await summary(/^applied by 1 of 1 clusters$/);
  });

  it('an agent that is killed at any moment leaves nothing that it does not know of', async () => {
    const cluster = await start();
    const names: string[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      const more = Array.from({ length: 20 }, (_, index) => `many-${kill}-${index}`);
      names.push(...more);
      fleet.push(Object.fromEntries(more.map((name) => [`apps/${name}.yaml`, configMapYaml(name, 'one')])));
      // Somewhere between the first and the last of them, each time somewhere else.
      const index = 3 * kill;
      await holds('east', `ConfigMap/web/many-${kill}-${index}`, 'one');
      await fleet.agent('east').kill('SIGKILL');
      await fleet.agent('east').start();
    }
    await summary(/^applied by 1 of 1 clusters$/);
    for (const name of names) expect(await fleet.live('east', `ConfigMap/web/${name}`)).toContain('one');
    await fleet.agent('east').kill('SIGKILL');
    fleet.push(Object.fromEntries(names.map((name) => [`apps/${name}.yaml`, null])));
    await fleet.agent('east').start();
    await connected('east');
    await until('all of them are gone', async () => (await ourConfigMaps(cluster)).length === 2, LONG_MS);
  });
});

/** Deletes and creates again each ConfigMap of a namespace, as tools for backups do. */
async function restore({ api }: KubernetesTestCluster, namespace: string): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const { items } = (await api.send('GET', path)).body as { items: { metadata: Record<string, unknown> }[] };
  await api.send('DELETE', path);
  for (const { metadata, ...rest } of items) {
    const { uid: _, resourceVersion: __, creationTimestamp: ___, managedFields: ____, ...kept } = metadata;
    const { status } = await api.send('POST', path, { apiVersion: 'v1', kind: 'ConfigMap', ...rest, metadata: kept });
    if (status !== 201) throw new Error(`a ConfigMap could not be restored (${status})`);
  }
}

async function ourConfigMaps({ api }: KubernetesTestCluster): Promise<readonly unknown[]> {
  const { body } = await api.send('GET', '/api/v1/namespaces/web/configmaps?labelSelector=fleetrelay.dev/fleet');
  return (body as { items: unknown[] }).items;
}
