import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { agentKubeconfig } from '../../scripts/local/agent-kubeconfig.ts';
import { type Fleet, startFleet, until } from '../support/fleet-processes.ts';
import { contentsOf } from '../support/folder-contents.ts';
import { AGENT_NAMESPACE, type KubernetesTestCluster, openKubernetesPool } from '../support/kubernetes/clusters.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../support/manifests.ts';
import { noProgram } from '../support/programs.ts';

const files = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
  'apps/a.yaml': configMapYaml('a', 'one'),
};
const SECRETS = `/api/v1/namespaces/${AGENT_NAMESPACE}/secrets`;
const SECRET = `${SECRETS}/fleetrelay-agent-credentials`;
const ROLE = `/apis/rbac.authorization.k8s.io/v1/namespaces/${AGENT_NAMESPACE}/roles/fleetrelay-agent-own`;

describe.skipIf(noProgram('kube-apiserver'))('the certificate of an agent in a cluster', () => {
  const pool = openKubernetesPool();
  let fleet: Fleet;

  afterEach(async () => fleet?.stop());
  afterAll(() => pool.stop());

  const east = () => fleet.agent('east');
  const cluster = async () => (await fleet.cluster('east')) as KubernetesTestCluster;
  const enrolments = (): number =>
    fleet.server.logs.filter((line) => line.message === 'relay: a client certificate was issued').length;

  async function start(): Promise<void> {
    fleet = await startFleet(files, { clusters: pool });
    const { api } = await cluster();
    await api.send('DELETE', SECRET);
    // Agents of tests may apply Secrets; these here have the rights of every agent, and no more.
    await api.send('DELETE', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/fleetrelay-agent-secrets');
  }

  async function secret(): Promise<Readonly<Record<string, string>>> {
    const { status, body } = await (await cluster()).api.send('GET', SECRET);
    if (status !== 200) throw new Error(`${status}`);
    return Object.fromEntries(
      Object.entries<string>(body.data).map(([name, value]) => [name, Buffer.from(value, 'base64').toString('utf8')]),
    );
  }

  function inSync(text: string): Promise<true> {
    return until(`the cluster holds ${text}`, async () => {
      const found = await fleet.live('east', 'ConfigMap/web/a');
      return found?.includes(text) === true || undefined;
    });
  }

  /** As an installation configures the agent, with no further right; on an unused disk. */
  async function asInstalled(disk: string, token?: string): Promise<{ readonly args: readonly string[] }> {
    const config = await agentKubeconfig((await cluster()).plane, AGENT_NAMESPACE, []);
    const path = join(fleet.sandbox.path, `${disk}.token`);
    if (token !== undefined) writeFileSync(path, token);
    const shown = token === undefined ? [] : ['--token-file', path];
    return { args: ['--kubeconfig', config, '--data-dir', join(fleet.sandbox.path, disk), ...shown] };
  }

  test('is in one Secret: another replica goes on with it, and enrols again when it is gone', async () => {
    await start();
    await east().start(await asInstalled('one'));
    await inSync('one');
    const first = await secret();
    expect(new X509Certificate(first['tls.crt'] ?? '').checkHost('east')).toBe('east');
    expect(first['ca.crt']).toContain('BEGIN CERTIFICATE');
    expect(enrolments()).toBe(1);
    await east().kill('SIGKILL');
    await east().start(await asInstalled('two', 'frt1_wrong'));
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') });
    await inSync('two');
    expect(enrolments()).toBe(1);
    await east().kill('SIGKILL');
    await (await cluster()).api.send('DELETE', SECRET);
    await east().start(await asInstalled('three'));
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'three') });
    await inSync('three');
    expect(enrolments()).toBe(2);
    expect((await secret())['tls.key']).not.toBe(first['tls.key']);
  });

  test('is never among what the cluster says to the server', async () => {
    await start();
    await east().start(await asInstalled('one'));
    await inSync('one');
    const { 'tls.key': key = '' } = await secret();
    const line = key.split('\n')[1] ?? '';
    expect(line.length).toBeGreaterThan(40);
    expect(contentsOf(fleet.dataDir)).not.toContain(line);
    expect(JSON.stringify([fleet.server.logs, east().logs])).not.toContain(line);
  });

  test('stays on the disk where the right to the Secret is missing, and that is logged', async () => {
    await start();
    const options = await asInstalled('one');
    const { api } = await cluster();
    const { body: role } = await api.send('GET', ROLE);
    const rules = role.rules.filter(
      (rule: { readonly resources: readonly string[] }) => rule.resources[0] !== 'secrets',
    );
    await api.send('PUT', ROLE, { ...role, rules });
    try {
      await east().start(options);
      await inSync('one');
      await until('the missing right is logged', () =>
        east().logs.find(({ place }) => String(place).startsWith('Secret/')),
      );
      expect((await api.send('GET', SECRET)).status).toBe(404);
      await east().kill('SIGKILL');
      await east().start({ args: [...options.args, '--token-file', '/nowhere'] });
      fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') });
      await inSync('two');
      expect(enrolments()).toBe(1);
    } finally {
      const { body: now } = await api.send('GET', ROLE);
      await api.send('PUT', ROLE, { ...now, rules: role.rules });
    }
  });
});
