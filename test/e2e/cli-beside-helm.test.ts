import { execFile } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AGENT_RELEASES } from '../contract/deploy/releases.ts';
import { releaseArguments, runHelm } from '../contract/deploy/rendering.ts';
import { PROGRAM } from '../support/fleet-processes.ts';
import { type ControlPlane, startControlPlane } from '../support/kubernetes/control-plane.ts';
import { noProgram } from '../support/programs.ts';

describe.skipIf(noProgram('kube-apiserver', 'helm'))('the command line beside an agent that Helm has installed', () => {
  let plane: ControlPlane;

  beforeAll(async () => {
    plane = await startControlPlane();
    const values = { ...AGENT_RELEASES.least?.values, cluster: 'east', rbac: { namespaces: ['default'] } };
    const release = { name: 'fleetrelay-agent', namespace: 'fleetrelay', values };
    const env = { KUBECONFIG: plane.kubeconfig() };
    await runHelm(
      ['install', ...releaseArguments(plane.folder, 'fleetrelay-agent', release), '--create-namespace'],
      env,
    );
  });
  afterAll(() => plane.stop());

  const everything = async (): Promise<string> => {
    const kinds = 'deployments,serviceaccounts,configmaps,secrets,roles,clusterroles,networkpolicies';
    return plane.kubectl(['get', kinds, '-n', 'fleetrelay', '-o', 'name']);
  };

  test.each([
    [
      'register',
      ['--install', '--server', 'relay.example.com:9900', '--namespaces', 'web'],
      /helm upgrade fleetrelay-agent CHART/,
    ],
    ['deregister', ['--uninstall-agent'], /helm uninstall fleetrelay-agent --namespace fleetrelay/],
  ])('cluster %s leaves it to Helm, and touches nothing', async (command, more, wayOut) => {
    const before = await everything();
    const args = ['cluster', command, 'east', ...more, '--agent-kubeconfig', plane.kubeconfig()];
    const { code, err } = await run(args);
    expect([code, err]).toEqual([1, expect.stringMatching(wayOut)]);
    expect(await everything()).toBe(before);
  });
});

function run(args: readonly string[]): Promise<{ readonly code: unknown; readonly err: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, ...args], { timeout: 120_000 }, (error, _out, err) => {
      resolve({ code: error?.code ?? 0, err });
    });
  });
}
