import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compositionRoots } from '../../src/cli/roots.ts';
import type { Finding } from '../../src/compose/check/finding.ts';
import { type CliRun, runCli } from '../support/cli.ts';
import { type ApiRequests, createApiRequests } from '../support/kubernetes/api-request.ts';
import { type ControlPlane, startControlPlane } from '../support/kubernetes/control-plane.ts';
import { noProgram } from '../support/programs.ts';

const SERVER = 'management';

describe.skipIf(noProgram('kube-apiserver'))('where an installed agent may write', () => {
  let plane: ControlPlane;
  let api: ApiRequests;
  let folder: string;

  beforeAll(async () => {
    plane = await startControlPlane();
    api = createApiRequests(plane);
    folder = mkdtempSync(join(tmpdir(), 'fleetrelay-rights-'));
    await api.send('POST', '/api/v1/namespaces', { metadata: { name: SERVER } });
    const labels = { 'app.kubernetes.io/part-of': 'fleetrelay' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'server', image: 'a' }] } };
    await api.apply(`/apis/apps/v1/namespaces/${SERVER}/statefulsets/a-server`, {
      ...{ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'a-server', namespace: SERVER, labels } },
      spec: { serviceName: 'a', selector: { matchLabels: labels }, template },
    });
  });
  afterAll(async () => {
    api?.close();
    await plane?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const cli = (...args: string[]): Promise<CliRun> => runCli(args, { roots: compositionRoots, cwd: folder });
  const inCluster = (): readonly string[] => ['--agent-kubeconfig', plane.kubeconfig()];
  const register = async (...more: string[]): Promise<CliRun> =>
    cli('cluster', 'register', 'east', '--install', ...inCluster(), '--server', 'relay.example.com:9900', ...more);
  const installed = async (...more: string[]): Promise<string> => {
    const { code, out, err } = await register(...more);
    expect([code, err]).toEqual([0, expect.any(String)]);
    return out + err;
  };
  const check = async (): Promise<ReadonlyMap<string, Finding>> => {
    const kube = ['--kubeconfig', plane.kubeconfig(), '-n', 'fleetrelay'];
    const { out } = await cli('check', '--api', 'http://127.0.0.1:1', '-o', 'json', ...kube);
    const { findings } = JSON.parse(out) as { readonly findings: readonly Finding[] };
    return new Map(findings.map((finding) => [finding.reason, finding]));
  };
  const may = async (verb: string, resource: string, namespace: string, group = ''): Promise<boolean> => {
    const { body } = await api.send('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      spec: {
        user: 'system:serviceaccount:fleetrelay:fleetrelay-agent',
        resourceAttributes: { verb, resource, namespace, group },
      },
    });
    return body.status.allowed;
  };
  const ours = async (kinds: string): Promise<string> =>
    plane.kubectl(['get', kinds, '-A', '-o', 'name', '-l', 'app.kubernetes.io/part-of=fleetrelay']);
  const policy = async (): Promise<string> =>
    JSON.stringify(await plane.get('validatingadmissionpolicy', 'fleetrelay-agent'));

  it('everywhere: check warns of the server that is in the same cluster', async () => {
    await installed('--allow', 'all-namespaces', 'secrets');
    expect(await may('create', 'deployments', 'shop', 'apps')).toBe(true);
    expect(await may('get', 'secrets', 'shop')).toBe(true);
    expect(await policy()).toContain(`'kube-system', 'fleetrelay-server', '${SERVER}'`);
    const found = await check();
    expect(found.get('RightsComplete')?.what).toContain('in all Namespaces');
    expect(found.get('ServerExposed')).toMatchObject({
      severity: 'warning',
      where: `Namespace/${SERVER}`,
      what: expect.stringContaining('the policy keeps it out of this Namespace, not out of the Node'),
      fix: expect.stringContaining('--install --namespaces NS,...'),
    });
    await plane.kubectl(['delete', 'validatingadmissionpolicybinding', 'fleetrelay-agent']);
    expect((await check()).get('ServerExposed')?.what).toContain('could read the volume of the server');
  });

  it('in named Namespaces: they are made, and the rights of before are taken away', async () => {
    const said = await installed('--namespaces', 'web,shop', '--allow', 'secrets');
    expect(said).toContain('Namespace/web created');
    expect(said).toContain('the fleet takes it over');
    expect(said).toContain('ClusterRoleBinding.rbac.authorization.k8s.io/fleetrelay-agent-apply removed');
    for (const namespace of ['web', 'shop']) {
      expect(await may('create', 'deployments', namespace, 'apps')).toBe(true);
      expect(await may('get', 'secrets', namespace)).toBe(true);
    }
    for (const namespace of ['default', 'kube-system', SERVER, '']) {
      expect(await may('create', 'deployments', namespace, 'apps')).toBe(false);
      expect(await may('get', 'secrets', namespace)).toBe(false);
      expect(await may('list', 'configmaps', namespace)).toBe(false);
    }
    const found = await check();
    expect(found.get('RightsComplete')?.what).toMatch(/in (shop, web|web, shop)$/);
    expect(found.get('ServerApart')?.severity).toBe('ok');
    expect(found.get('ServerExposed')).toBeUndefined();
  });

  it('a second time nothing changes, and fewer Namespaces are fewer Roles', async () => {
    const again = await installed('--namespaces', 'shop', 'web', '--allow', 'secrets');
    expect(again).not.toMatch(/ (created|changed|removed)\n/);
    const dry = await installed('--namespaces', 'web', '--dry-run');
    expect(dry).toContain('Role.rbac.authorization.k8s.io/shop/fleetrelay-agent-apply removed (dry run)');
    expect(await may('create', 'deployments', 'shop', 'apps')).toBe(true);
    await installed('--namespaces', 'web');
    expect(await may('create', 'deployments', 'shop', 'apps')).toBe(false);
    expect(await may('get', 'secrets', 'web')).toBe(false);
    expect(await may('create', 'deployments', 'web', 'apps')).toBe(true);
  });

  it('a way into Pods of the server is a warning of its own', async () => {
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    const rules = [{ apiGroups: [''], resources: ['pods/exec'], verbs: ['create'] }];
    await api.send('POST', `${rbac}/namespaces/${SERVER}/roles`, { metadata: { name: 'debug' }, rules });
    const subjects = [{ kind: 'ServiceAccount', name: 'fleetrelay-agent', namespace: 'fleetrelay' }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'debug' };
    const binding = { metadata: { name: 'debug' }, roleRef, subjects };
    await api.send('POST', `${rbac}/namespaces/${SERVER}/rolebindings`, binding);
    expect((await check()).get('ServerExposed')?.what).toContain('may create pods/exec here');
    await api.send('DELETE', `${rbac}/namespaces/${SERVER}/rolebindings/debug`);
    expect((await check()).get('ServerApart')).toBeDefined();
  });

  it('no right to write anywhere is an error that says what to do', async () => {
    await plane.kubectl(['delete', 'rolebinding', '-n', 'web', 'fleetrelay-agent-apply']);
    expect((await check()).get('NothingWritable')).toMatchObject({
      severity: 'error',
      fix: expect.stringContaining('--namespaces NS,... (or --allow all-namespaces)'),
    });
    await installed('--namespaces', 'web');
  });

  it('the Namespace of a server is refused', async () => {
    const { code, err } = await register('--namespaces', `web,${SERVER}`);
    expect([code, err]).toEqual([1, expect.stringContaining('is a management server: leave it out of --namespaces')]);
  });

  it('an administrator has no policy, and gets it with fewer rights again', async () => {
    const said = await installed('--allow', 'all-namespaces', 'cluster-admin');
    expect(said).toContain('ValidatingAdmissionPolicy.admissionregistration.k8s.io/fleetrelay-agent removed');
    await installed('--namespaces', 'web');
    expect(await policy()).toContain('kube-system');
    expect(await may('create', 'pods', 'kube-system')).toBe(false);
  });

  it('the policy stays as long as another agent of the cluster uses it, and protects what it has protected', async () => {
    await api.send('POST', '/api/v1/namespaces', { metadata: { name: 'second' } });
    const account = '/api/v1/namespaces/second/serviceaccounts';
    await api.send('POST', account, { metadata: { name: 'fleetrelay-agent' } });
    await api.send('DELETE', `/apis/apps/v1/namespaces/${SERVER}/statefulsets/a-server`);
    const left = /ValidatingAdmissionPolicy\S*\/fleetrelay-agent left.*the agent in second uses it, too/;
    await installed('--namespaces', 'web');
    expect(await policy()).toContain(`'kube-system', 'fleetrelay-server', '${SERVER}'`);
    expect(await installed('--allow', 'all-namespaces', 'cluster-admin')).toMatch(left);
    const { code, out } = await cli('cluster', 'deregister', 'east', '--uninstall-agent', ...inCluster());
    expect([code, out]).toEqual([0, expect.stringMatching(left)]);
    expect(await policy()).toContain(`'${SERVER}'`);
    await api.send('DELETE', `${account}/fleetrelay-agent`);
    await installed('--namespaces', 'web');
    expect(await policy()).not.toContain(`'${SERVER}'`);
  });

  it('an uninstallation removes roles and policy wherever they are', async () => {
    const { code } = await cli('cluster', 'deregister', 'east', '--uninstall-agent', ...inCluster());
    expect(code).toBe(0);
    const kinds = 'clusterroles,clusterrolebindings,roles,rolebindings';
    expect(await ours(`${kinds},validatingadmissionpolicies,validatingadmissionpolicybindings`)).toBe('');
  });
});
