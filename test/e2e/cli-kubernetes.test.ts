import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseTarGzip } from 'nanotar';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Finding } from '../../src/compose/check/finding.ts';
import type { AdoptReport } from '../../src/compose/cluster/adopt.ts';
import type { RegisterReport } from '../../src/compose/cluster/register.ts';
import { PROGRAM, until } from '../support/fleet-processes.ts';
import { type KubernetesPool, openKubernetesPool } from '../support/kubernetes/clusters.ts';
import type { ControlPlane } from '../support/kubernetes/control-plane.ts';
import { type KubernetesFleet, startKubernetesFleet } from '../support/kubernetes/fleet.ts';
import { clusterYaml, configMapYaml } from '../support/manifests.ts';
import { noProgram } from '../support/programs.ts';
import { createTestAuthority, DAY_MS } from '../support/test-authority.ts';

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function run(...args: string[]): Promise<Run> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, ...args], { timeout: 120_000, maxBuffer: 1 << 26 }, (error, out, err) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, out, err });
    });
  });
}

const files = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'clusters/east/a.yaml': configMapYaml('a', 'one'),
  'clusters/east/b.yaml': configMapYaml('b', 'one'),
  'clusters/east/theirs.yaml': configMapYaml('theirs', 'ours'),
  'clusters/east/secret.yaml':
    'apiVersion: v1\nkind: Secret\nmetadata: {name: keys, namespace: web}\nstringData: {password: sesame-in-git}\n',
};

describe.skipIf(noProgram('kube-apiserver'))('commands on a real API server', () => {
  let folder: string;
  let pool: KubernetesPool;
  let fleet: KubernetesFleet;
  let plane: ControlPlane;
  let kube: readonly string[];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'fleetrelay-cli-'));
    pool = openKubernetesPool();
    fleet = await startKubernetesFleet(pool, files);
    ({ plane } = await fleet.cluster('east'));
    kube = ['--kubeconfig', plane.kubeconfig(), '-n', 'fleetrelay'];
    const theirs = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'theirs', namespace: 'web' },
      data: { value: 'theirs' },
    };
    await plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(theirs) });
  });
  afterAll(async () => {
    await fleet.stop();
    await pool.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const check = async (...args: string[]): Promise<readonly Finding[]> => {
    const { out, err } = await run('check', '-o', 'json', '--api', fleet.server.http(), ...args);
    expect(err).toBe('');
    return (JSON.parse(out) as { readonly findings: readonly Finding[] }).findings;
  };
  const find = (findings: readonly Finding[], reason: string): Finding | undefined =>
    findings.find((finding) => finding.reason === reason);
  const kubectl = (...words: string[]): Promise<string> => plane.kubectl(words);
  const register = (...more: string[]): Promise<Run> =>
    run(
      ...['cluster', 'register', 'east', '--install', '--agent-kubeconfig', plane.kubeconfig()],
      ...['--server', fleet.server.relay(), '--data-dir', fleet.dataDir],
      // The rights of the agents of the pool.
      ...['--allow', 'all-namespaces', 'secrets', 'crds', ...more],
    );

  describe('adopt, before the first sync', () => {
    const adopt = async (...more: string[]): Promise<{ code: number; report: AdoptReport }> => {
      const { code, out } = await run('cluster', 'adopt', 'east', '--dry-run', '-o', 'json', ...kube, ...more);
      return { code, report: JSON.parse(out) as AdoptReport };
    };
    const verdicts = ({ objects }: AdoptReport): Record<string, string> =>
      Object.fromEntries(objects.map(({ object, verdict }) => [object, verdict]));

    it('says of each object what a first sync would do, by the server’s word', async () => {
      const { code, report } = await adopt('--api', fleet.server.http());
      expect(verdicts(report)).toEqual({
        'ConfigMap/web/a': 'create',
        'ConfigMap/web/b': 'create',
        'ConfigMap/web/theirs': 'refused',
        'Secret/web/keys': 'create',
      });
      expect(code).toBe(1);
      const theirs = report.objects.find(({ object }) => object === 'ConfigMap/web/theirs');
      expect(theirs?.owner).toContain('kubectl');
      expect(theirs?.changes).toContainEqual({ field: '.data.value', before: 'theirs', after: 'ours' });
      expect(theirs?.files).toEqual(['clusters/east/theirs.yaml']);
      expect(await kubectl('get', 'configmaps', '-n', 'web', '-o', 'name')).not.toContain('configmap/a');
    });

    it('says the same of a checkout, and teaches the annotation', async () => {
      const repo = join(folder, 'repo');
      const { promises } = await import('node:fs');
      for (const [path, text] of Object.entries(files)) {
        await promises.mkdir(join(repo, path, '..'), { recursive: true });
        await promises.writeFile(join(repo, path), text);
      }
      const { report } = await adopt('--checkout', repo, '--fleet', 'test');
      expect(verdicts(report)['ConfigMap/web/theirs']).toBe('refused');
      expect(JSON.stringify(report)).not.toContain('sesame-in-git');
      const adopted = configMapYaml('theirs', 'ours').replace(
        'metadata:',
        'metadata:\n  annotations: {fleetrelay.dev/adopt: "true"}',
      );
      const taught = await run(...['cluster', 'adopt', 'east', ...kube], '--checkout', repo, '--fleet', 'test');
      expect(taught.out).toContain('fleetrelay.dev/adopt: "true"\n  clusters/east/theirs.yaml: ConfigMap/web/theirs');
      await promises.writeFile(join(repo, 'clusters/east/theirs.yaml'), adopted);
      const after = await adopt('--checkout', repo, '--fleet', 'test');
      expect([after.code, verdicts(after.report)['ConfigMap/web/theirs']]).toEqual([0, 'adopt']);
    });
  });

  describe('check, before anything is installed', () => {
    it('names the cluster that has never connected, and what is missing in it', async () => {
      await kubectl('delete', 'configmap', '-n', 'fleetrelay', '--all');
      const findings = await check(...kube);
      expect(find(findings, 'NeverConnected')).toMatchObject({ severity: 'error', where: 'east' });
      expect(find(findings, 'AgentMissing')?.fix).toContain('fleetrelay cluster register');
      expect(find(findings, 'TokenMissing')?.fix).toContain('fleetrelay cluster token');
      expect(find(findings, 'NeverLed')?.severity).toBe('error');
      expect(find(findings, 'InventoryMissing')?.severity).toBe('warning');
      expect(find(findings, 'ServerReady')?.severity).toBe('ok');
      expect(find(findings, 'ApiServerReachable')?.what).toContain('v1.');
      expect(find(findings, 'CertificateValid')?.severity).toBe('ok');
    });

    it('names a namespace that is not there, and a kubeconfig that is none', async () => {
      const elsewhere = await check('--kubeconfig', plane.kubeconfig(), '-n', 'nowhere');
      expect(find(elsewhere, 'NamespaceMissing')?.where).toBe('Namespace/nowhere');
      const none = await check('--kubeconfig', join(folder, 'none'));
      expect(find(none, 'ApiServerUnusable')?.severity).toBe('error');
    });
  });

  describe('register --install', () => {
    it('changes nothing in a dry run, installs, and changes nothing the second time', async () => {
      const dry = await register('--dry-run', '--force', '--agent-namespace', 'agents');
      expect(dry.err + dry.out).toContain('Namespace/agents created (dry run)');
      expect(await kubectl('get', 'namespaces', '-o', 'name')).not.toContain('agents');
      const first = await register('-o', 'json', '--force');
      expect(first.err).toContain('Deployment.apps/fleetrelay/fleetrelay-agent');
      expect(first.code).toBe(0);
      expect(first.out + first.err).not.toContain('fre1_');
      const again = JSON.parse((await register('-o', 'json')).out) as { steps: { what: string; outcome: string }[] };
      expect(again.steps.filter(({ outcome }) => outcome !== 'unchanged')).toEqual([]);
      const secret = await plane.get<{ data: { token: string } }>(
        'secret',
        '-n',
        'fleetrelay',
        'fleetrelay-agent-token',
      );
      expect(Buffer.from(secret.data.token, 'base64').toString()).toMatch(/^fre1_0_\d+__[\w-]{43}$/);
    });

    it('is followed by a check that finds the pods missing, the rights complete and the server trusted', async () => {
      const findings = await check(...kube);
      expect(find(findings, 'AgentNotReady')?.what).toBe('0 of 2 replicas are ready');
      expect(find(findings, 'TokenThere')?.severity).toBe('ok');
      expect(find(findings, 'RightsComplete')?.severity).toBe('ok');
      expect(find(findings, 'RelayNotTrusted')).toBeUndefined();
    });

    it('prints manifests with a token only together with the secret it is made of', async () => {
      const server = ['--agent-manifests', '--server', 'relay.example.com:9900', '--namespaces', 'web'];
      const without = await run('cluster', 'register', 'east', ...server);
      expect(without.out).not.toContain('kind: Secret');
      expect(without.err).toContain('fleetrelay cluster token east');
      const withToken = await run('cluster', 'register', 'east', ...server, '--data-dir', fleet.dataDir);
      expect(withToken.out).toMatch(/fre1_0_\d+__[\w-]{43}/);
    });
  });

  describe('check finds each broken thing', () => {
    it('rights that were taken away', async () => {
      await kubectl('delete', 'clusterrolebinding', 'fleetrelay-agent-discovery');
      const found = find(await check(...kube), 'RightsMissing');
      expect(found?.what).toMatch(/may not .*list, watch pods/);
      await register();
      expect(find(await check(...kube), 'RightsComplete')?.severity).toBe('ok');
    });

    it('the stop button', async () => {
      await kubectl('annotate', 'namespace', 'fleetrelay', 'fleetrelay.dev/paused=true');
      expect(find(await check(...kube), 'ClusterPaused')?.fix).toContain('fleetrelay.dev/paused-');
      await kubectl('annotate', 'namespace', 'fleetrelay', 'fleetrelay.dev/paused-');
    });

    it('a wrong authority', async () => {
      const wrong = JSON.stringify({
        data: { 'ca.crt': readFileSync(join(plane.folder, 'certs/apiserver.crt'), 'utf8') },
      });
      await kubectl('patch', 'configmap', '-n', 'fleetrelay', 'fleetrelay-relay-ca', '--type=merge', '-p', wrong);
      expect(find(await check(...kube), 'RelayNotTrusted')?.fix).toContain('ca.crt');
      await register('--force');
      expect(find(await check(...kube), 'RelayNotTrusted')).toBeUndefined();
    });

    it('a webhook whose authority is missing or has expired, whose rights or configuration were taken away', async () => {
      const name = 'fleetrelay-agent';
      await register('--with-webhook', '--force');
      const bare = await check(...kube);
      expect(find(bare, 'WebhookNotTrusted')?.what).toContain('Pods that opted in are refused');
      expect(find(bare, 'RightsComplete')?.severity).toBe('ok');

      const trust = async (from: number, to: number): Promise<readonly Finding[]> => {
        const { root } = await createTestAuthority(from, to);
        const caBundle = Buffer.from(root).toString('base64');
        const patch = [0, 1].map((at) => ({
          op: 'add',
          path: `/webhooks/${at}/clientConfig/caBundle`,
          value: caBundle,
        }));
        await kubectl('patch', 'mutatingwebhookconfiguration', name, '--type=json', '-p', JSON.stringify(patch));
        const findings = await check(...kube);
        return findings.filter(({ where }) => where.startsWith('MutatingWebhookConfiguration.'));
      };
      const now = Date.now();
      const expired = await trust(now - 3 * DAY_MS, now - DAY_MS);
      expect(expired.map(({ reason }) => reason)).toEqual(['CertificateExpired', 'CertificateExpired']);
      const good = await trust(now - DAY_MS, now + 300 * DAY_MS);
      expect(good.map(({ severity }) => severity)).toEqual(['ok', 'ok']);
      await register('--with-webhook', '--force');
      expect(find(await check(...kube), 'WebhookNotTrusted'), 'an installation leaves the authority').toBeUndefined();

      await kubectl('delete', 'clusterrolebinding', 'fleetrelay-agent-webhook');
      expect(find(await check(...kube), 'RightsMissing')?.what).toMatch(/get, patch mutatingwebhookconfigurations/);
      await kubectl('delete', 'mutatingwebhookconfiguration', name);
      expect(find(await check(...kube), 'WebhookMissing')?.fix).toContain('--with-webhook');
      await register('--force');
      expect(find(await check(...kube), 'WebhookMissing')).toBeUndefined();
    });

    it('a webhook that an installation does not ask for any more is removed, and a dry run says so', async () => {
      await register('--with-webhook', '--force');
      const removed = async (...more: string[]): Promise<readonly string[]> => {
        const { steps } = JSON.parse((await register('--force', '-o', 'json', ...more)).out) as RegisterReport;
        return steps.flatMap(({ what, outcome }) => (outcome === 'removed' ? [what.replace(/\..*?\//, '/')] : []));
      };
      const objects = ['Service', 'NetworkPolicy'].map((kind) => `${kind}/fleetrelay/fleetrelay-agent-webhook`);
      const expected = ['MutatingWebhookConfiguration/fleetrelay-agent', ...objects];
      expect(await removed('--dry-run')).toEqual(expect.arrayContaining(expected));
      expect(await removed()).toEqual(expect.arrayContaining(expected));
      expect(await removed()).toEqual([]);
    });

    it('a deployment that was scaled down', async () => {
      await kubectl('scale', 'deployment', '-n', 'fleetrelay', 'fleetrelay-agent', '--replicas=0');
      expect(find(await check(...kube), 'AgentScaledDown')?.fix).toContain('kubectl -n fleetrelay scale');
      await register('--force');
    });

    it('a damaged inventory', async () => {
      const head = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'fleetrelay-inventory', namespace: 'fleetrelay' },
        data: { head: '{' },
      };
      await plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(head) });
      expect(find(await check(...kube), 'InventoryDamaged')?.severity).toBe('error');
      await kubectl('delete', 'configmap', '-n', 'fleetrelay', 'fleetrelay-inventory');
    });

    it('a file that cannot be read, here and at the server', async () => {
      const repo = join(folder, 'broken');
      const { promises } = await import('node:fs');
      await promises.mkdir(repo);
      writeFileSync(join(repo, 'bad.yaml'), 'kind: {\n');
      const findings = await check('--checkout', repo);
      expect(findings.find(({ area, severity }) => area === 'repository' && severity === 'error')?.where).toMatch(
        /^bad\.yaml:\d+/,
      );
      const commit = fleet.push({ 'clusters/east/bad.yaml': 'kind: {\n' });
      await until('the server has read it', async () => (await fleet.status()).sources[0]?.revision === commit);
      const atServer = await check();
      expect(find(atServer, 'SourcePartial')?.severity).toBe('warning');
      expect(atServer.some(({ where }) => where.startsWith('clusters/east/bad.yaml:'))).toBe(true);
      fleet.push({ 'clusters/east/bad.yaml': null });
    });

    it('a server that is away', async () => {
      const { code, out } = await run('check', '--api', 'http://127.0.0.1:1', ...kube);
      expect(out).toContain('[ServerUnreachable]');
      expect(out).toContain('kubernetes\n');
      expect(code).toBe(1);
    });
  });

  describe('with an agent at work', () => {
    beforeAll(async () => {
      await fleet.agent('east').start({ args: ['--leader-elect'] });
      await until('a and b are there', async () => (await fleet.live('east', 'ConfigMap/web/b')) !== undefined);
      await until(
        'the conflict is known',
        async () => (await fleet.output('east', 'ConfigMap/web/theirs'))?.state === 'conflict',
      );
    });

    it('check names the leader, the inventory and the conflict', async () => {
      const findings = await check(...kube);
      expect(find(findings, 'LeaderThere')?.severity).toBe('ok');
      expect(find(findings, 'InventoryReadable')?.what).toContain('objects of the fleet test');
      const conflict = findings.find(({ where }) => where === 'east ConfigMap/web/theirs');
      expect(conflict?.fix).toContain('fleetrelay cluster adopt east --dry-run');
    });

    it('adopt takes nothing from the agent that leads', async () => {
      const { out } = await run(
        'cluster',
        'adopt',
        'east',
        '--dry-run',
        '-o',
        'json',
        ...kube,
        '--api',
        fleet.server.http(),
      );
      const { objects } = JSON.parse(out) as AdoptReport;
      expect(objects.find(({ object }) => object === 'ConfigMap/web/a')?.verdict).toBe('unchanged');
      expect(objects.find(({ object }) => object === 'Secret/web/keys')?.verdict).toBe('hidden');
      fleet.push({ 'clusters/east/a.yaml': configMapYaml('a', 'two') });
      await until('a has changed', async () => (await fleet.live('east', 'ConfigMap/web/a'))?.includes('two'));
    });

    it('list shows it, with its agent', async () => {
      const { out } = await run('cluster', 'list', '--api', fleet.server.http());
      expect(out).toMatch(/CLUSTER +CONNECTED .* AGENT +KUBERNETES +LABELS +ID +MESSAGE/);
      expect(out).toMatch(/east +yes .* v1\.\d+\.\d+ /);
    });

    it('debug snapshot holds no secret of the cluster', async () => {
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'planted', namespace: 'fleetrelay', labels: { 'app.kubernetes.io/part-of': 'fleetrelay' } },
        spec: {
          automountServiceAccountToken: false,
          securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
          containers: [
            {
              name: 'planted',
              image: 'x',
              args: ['--api-token=sesame-in-args'],
              env: [{ name: 'DB_PASSWORD', value: 'sesame-in-env' }],
              securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
            },
          ],
        },
      };
      await plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(pod) });
      const file = join(folder, 'debug.tgz');
      const addresses = ['--api', fleet.server.http(), '--server-metrics', fleet.server.metrics()];
      const taken = await run('debug', 'snapshot', '--file', file, ...addresses, ...kube);
      expect([taken.code, taken.err]).toEqual([0, '']);
      const archive = await parseTarGzip(readFileSync(file));
      const all = archive.map(({ name, text }) => `${name}\n${text}`).join('\n');
      for (const secret of ['sesame', 'fre1_', 'token-admin']) expect(all).not.toContain(secret);
      for (const part of [
        'server/status.json',
        'server/metrics.txt',
        'kubernetes/inventory.json',
        'kubernetes/pods.json',
      ]) {
        expect(all).toContain(`fleetrelay-debug/${part}\n`);
      }
      expect(all).toContain('/ConfigMap/web/a');
      await kubectl('delete', 'pod', '-n', 'fleetrelay', 'planted', '--now');
    });
  });

  it('a cluster is registered and deregistered as a custom resource', async () => {
    const crd = fileURLToPath(new URL('../../deploy/crds/admin.gloo.solo.io_kubernetesclusters.yaml', import.meta.url));
    await kubectl('apply', '--server-side', '-f', crd);
    await kubectl('wait', '--for=condition=Established', 'crd', 'kubernetesclusters.admin.gloo.solo.io');
    const apply = (...more: string[]): Promise<Run> => run('cluster', 'register', 'west', '--apply', ...kube, ...more);
    await until('the kind is offered', async () => (await apply('--label', 'env=prod')).out.includes('created'));
    expect((await apply('--label', 'env=prod')).out).toContain('west unchanged');
    await kubectl('label', 'kubernetescluster', '-n', 'fleetrelay', 'west', 'env=dev', '--overwrite');
    const taken = await apply('--label', 'env=prod');
    expect([taken.code, taken.err]).toEqual([1, expect.stringContaining('--force takes the fields over')]);
    expect((await apply('--label', 'env=prod', '--force')).out).toContain('west changed');
    const gone = await run('cluster', 'deregister', 'west', '--delete', ...kube);
    expect([gone.code, gone.out]).toEqual([0, expect.stringContaining('west removed')]);
    const again = await run('cluster', 'deregister', 'west', '--delete', ...kube);
    expect([again.code, again.out]).toEqual([0, expect.stringContaining('west absent')]);
  });

  describe('deregister', () => {
    const deregister = (...more: string[]): Promise<Run> =>
      run('cluster', 'deregister', 'east', '--agent-kubeconfig', plane.kubeconfig(), ...more);

    it('removes nothing beside an agent at work', async () => {
      const { code, err } = await deregister('--remove-objects');
      expect([code, err]).toEqual([2, expect.stringContaining('--confirm east')]);
      const dry = await deregister('--remove-objects', '--dry-run');
      expect(dry.out).toContain('ConfigMap/web/a removed (dry run)');
      expect(await fleet.live('east', 'ConfigMap/web/a')).toContain('two');
    });

    it('refuses a cluster of another name', async () => {
      const other = await run(
        ...['cluster', 'deregister', 'west', '--uninstall-agent', '--agent-kubeconfig', plane.kubeconfig()],
      );
      expect([other.code, other.err]).toEqual([1, expect.stringContaining('belongs to east, not to west')]);
    });

    it('uninstalls the agent, its rights in other namespaces too, and leaves what the fleet has made', async () => {
      const roles = () =>
        kubectl('get', 'roles,rolebindings', '-A', '-l', 'app.kubernetes.io/part-of=fleetrelay', '-o', 'name');
      await register('--allow', 'care', 'tunnel', '--care-namespaces', 'web', '-o', 'json');
      expect(await roles()).toContain('fleetrelay-agent-care');
      const { code, out } = await deregister('--uninstall-agent');
      expect(code).toBe(0);
      expect(out).toMatch(/east still holds \d+ objects? of the fleet/);
      expect(await kubectl('get', 'deployments,secrets', '-n', 'fleetrelay', '-o', 'name')).toBe('');
      expect(await kubectl('get', 'clusterroles', '-o', 'name')).not.toContain('fleetrelay');
      expect(await roles()).toBe('');
      expect(await fleet.live('east', 'ConfigMap/web/a')).toContain('two');
    });

    it('removes what the fleet has made, with the server away, and nothing else', async () => {
      await fleet.agent('east').kill('SIGKILL');
      await fleet.server.kill('SIGKILL');
      const { code, out, err } = await deregister('--remove-objects', '--confirm', 'east');
      expect(out, err).toContain('ConfigMap/web/a removed');
      expect(code).toBe(0);
      for (const name of ['ConfigMap/web/a', 'ConfigMap/web/b', 'Secret/web/keys']) {
        expect(await fleet.live('east', name)).toBeUndefined();
      }
      expect(await fleet.live('east', 'ConfigMap/web/theirs')).toContain('theirs');
      const again = await deregister('--remove-objects', '--confirm', 'east');
      expect(again.out).toContain('nothing of the fleet is left in east');
    });
  });
});
