import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectKube } from '../../src/adapters/kubernetes/api/connect.ts';
import { openInventory } from '../../src/adapters/kubernetes/inventory/inventory.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import { compositionRoots } from '../../src/cli/roots.ts';
import type { Finding } from '../../src/compose/check/finding.ts';
import { parseFleetName } from '../../src/model/fleet/ids.ts';
import { snapshotDigest } from '../../src/model/text/digest.ts';
import { must } from '../../src/model/values/result.ts';
import { CA } from '../contract/deploy/releases.ts';
import { type Manifest, renderChart, renderOverlay } from '../contract/deploy/rendering.ts';
import { type CliRun, runCli } from '../support/cli.ts';
import { clusterResource } from '../support/fake-custom-resources.ts';
import { until } from '../support/fleet-processes.ts';
import { type ControlPlane, startControlPlane } from '../support/kubernetes/control-plane.ts';
import { noProgram } from '../support/programs.ts';
import { silentLog } from '../support/silent-log.ts';

const OVERLAY = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: fleetrelay
resources: [../../../../deploy/kustomize/agent]
components: [../../../../deploy/kustomize/components/agent-all-namespaces]
configMapGenerator:
  - name: fleetrelay-agent-settings
    behavior: merge
    literals: [cluster=east, 'server=127.0.0.1:1']
  - name: fleetrelay-relay-ca
    files: [ca.crt]
secretGenerator:
  - name: fleetrelay-agent-token
    files: [token]
`;

const CHART = {
  name: 'other',
  namespace: 'agents',
  values: {
    cluster: 'east',
    rbac: { namespaces: ['default'] },
    relay: { serverAddress: '127.0.0.1:1', token: 'frt1_x', rootCA: CA },
  },
};

describe.skipIf(noProgram('kube-apiserver'))('commands and an agent that something else installed', () => {
  let plane: ControlPlane;
  let folder: string;

  beforeAll(async () => {
    plane = await startControlPlane();
    folder = mkdtempSync(join(tmpdir(), 'fleetrelay-installs-'));
    await apply(await renderOverlay({ 'kustomization.yaml': OVERLAY, 'ca.crt': CA, token: 'frt1_x' }));
  });
  afterAll(async () => {
    await plane?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const apply = (items: readonly unknown[]): Promise<string> =>
    plane.kubectl(['apply', '--server-side', '-f', '-'], {
      input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    });
  const cli = (...args: string[]): Promise<CliRun> => runCli(args, { roots: compositionRoots, cwd: folder });
  const check = async (namespace: string): Promise<ReadonlyMap<string, Finding>> => {
    const { out } = await cli(
      ...['check', '--api', 'http://127.0.0.1:1', '-o', 'json'],
      ...['--kubeconfig', plane.kubeconfig(), '-n', namespace],
    );
    const { findings } = JSON.parse(out) as { readonly findings: readonly Finding[] };
    return new Map(findings.map((finding) => [finding.reason, finding]));
  };
  const deregister = (...more: string[]): Promise<CliRun> => cli('cluster', 'deregister', 'east', ...more);
  const management = (namespace: string) => ['--kubeconfig', plane.kubeconfig(), '-n', namespace];
  const installClusters = async (namespace: string): Promise<void> => {
    const crd = ['-f', 'deploy/crds/admin.gloo.solo.io_kubernetesclusters.yaml'];
    await plane.kubectl(['apply', '--server-side', ...crd]);
    await plane.kubectl(['wait', '--for=condition=Established', ...crd]);
    await apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }]);
    const east = { ...clusterResource('east', {}), metadata: { name: 'east', namespace } };
    await until('the kind is offered', async () =>
      apply([east]).then(
        () => true,
        () => false,
      ),
    );
  };
  const inCluster = (): readonly string[] => ['--agent-kubeconfig', plane.kubeconfig()];

  it('check finds what kustomize has named', async () => {
    const found = await check('fleetrelay');
    expect(found.get('RelayUnreachableFromHere')?.where).toBe('127.0.0.1:1');
    expect(found.get('TokenThere')?.where).toMatch(/fleetrelay-agent-token-\w+$/);
    expect(found.get('AuthorityUnreadable')?.where).toMatch(/fleetrelay-relay-ca-\w+$/);
    expect(found.get('RightsComplete')).toBeDefined();
  });

  it.skipIf(noProgram('helm'))('check finds what Helm has named', async () => {
    await apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'agents' } }]);
    await apply((await renderChart('fleetrelay-agent', CHART)) as readonly Manifest[]);
    const found = await check('agents');
    expect(found.get('AgentNotReady')?.where).toBe('Deployment.apps/agents/other-fleetrelay-agent');
    expect(found.get('RelayUnreachableFromHere')?.where).toBe('127.0.0.1:1');
    expect(found.get('TokenThere')).toBeDefined();
    expect(found.get('RightsComplete')).toBeDefined();
  });

  it.skipIf(noProgram('helm'))('an agent under the names of a release is left to Helm, and said to be', async () => {
    const { code, err } = await deregister('--uninstall-agent', '--agent-namespace', 'agents', ...inCluster());
    expect([code, err]).toEqual([1, expect.stringContaining('helm uninstall other')]);
  });

  it('neither registering nor deregistering touches the agent of another cluster', async () => {
    const before = await plane.get('deployments,configmaps', '-n', 'fleetrelay');
    const server = ['--server', 'relay.example.com:9900', '--namespaces', 'web'];
    for (const more of [[], ['--force'], ['--dry-run']]) {
      const { code, err } = await cli('cluster', 'register', 'west', '--install', ...inCluster(), ...server, ...more);
      expect([code, err]).toEqual([1, expect.stringContaining('is the agent of east')]);
    }
    const { code, err } = await cli('cluster', 'deregister', 'west', '--uninstall-agent', ...inCluster());
    expect([code, err]).toEqual([1, expect.stringContaining('belongs to east, not to west')]);
    expect(await plane.get('deployments,configmaps', '-n', 'fleetrelay')).toEqual(before);
  });

  it('a dry run of deregistering changes nothing', async () => {
    const everything = () => plane.get('deployments,configmaps,secrets,networkpolicies', '-n', 'fleetrelay');
    const before = await everything();
    const agent = await cli('cluster', 'deregister', 'east', '--uninstall-agent', '--dry-run', ...inCluster());
    expect([agent.code, agent.out]).toEqual([0, expect.stringContaining('fleetrelay-agent removed (dry run)')]);
    expect(await everything()).toEqual(before);
    await installClusters('fleet');
    const declared = await deregister('--delete', '--dry-run', ...management('fleet'));
    expect([declared.code, declared.out]).toEqual([0, expect.stringContaining('east removed (dry run)')]);
    expect(await plane.kubectl(['get', 'kubernetesclusters', '-n', 'fleet', '-o', 'name'])).toContain('/east');
  });

  it('a cluster that is declared in another namespace is not said to be absent', async () => {
    const elsewhere = await deregister('--delete', ...management('default'));
    expect([elsewhere.code, elsewhere.err]).toEqual([1, expect.stringContaining('-n fleet')]);
    expect((await deregister('--delete', ...management('fleet'))).out).toContain('east removed');
    expect((await deregister('--delete', ...management('default'))).out).toContain('east absent');
  });

  it('objects are not removed where nothing says which cluster this is', async () => {
    await plane.kubectl(['delete', 'deployment', '-n', 'fleetrelay', 'fleetrelay-agent']);
    await saveInventory(plane);
    const { code, err } = await cli(
      ...['cluster', 'deregister', 'west', '--remove-objects', '--confirm', 'west', ...inCluster()],
    );
    expect([code, err]).toEqual([1, expect.stringContaining('no settings that name its cluster')]);
  });
});

async function saveInventory(plane: ControlPlane): Promise<void> {
  const deps = { clock: createSystemClock(), random: createSystemRandom(), log: silentLog };
  const { client } = must(await connectKube(deps, { kubeconfig: plane.kubeconfig(), userAgent: 'test' }));
  const state = {
    position: { epoch: 1, sequence: 1 },
    digest: snapshotDigest([]),
    revisions: [],
    fleet: must(parseFleetName('test')),
  };
  const inventory = openInventory({ ...deps, client }, { namespace: 'fleetrelay' });
  await inventory.fence();
  await inventory.load();
  await inventory.save({ state, put: [], drop: [] });
  await client.close();
}
