import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Finding } from '../../src/compose/check/finding.ts';
import { type Fleet, startFleet, until } from '../support/fleet-processes.ts';
import { clusterYaml } from '../support/manifests.ts';

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet({ 'fleet/east.yaml': clusterYaml('east') });
});
afterAll(() => fleet.stop());

/** What `check` says of a cluster; it fails if that is an error. */
async function checked(cluster: string): Promise<readonly Finding[]> {
  const output = await fleet.cli('check', '-o', 'json').catch((error: { readonly stdout: string }) => error.stdout);
  const { findings } = JSON.parse(output) as { readonly findings: readonly Finding[] };
  return findings.filter(({ where }) => where === cluster);
}

const metrics = async (): Promise<string> => (await fetch(`${fleet.server.metrics()}/metrics`)).text();

function connectedOf(cluster: string): string {
  const file = fleet.statusFile(`clusters/${cluster}.yaml`) as
    | { readonly status?: { readonly conditions?: readonly Readonly<Record<string, string>>[] } }
    | undefined;
  return file?.status?.conditions?.find(({ type }) => type === 'Connected')?.message ?? '';
}

test('a wrong token is in check, in the status and in a metric; the right one ends it', async () => {
  const wrong = fleet.agent('wrong');
  await wrong.start({ cluster: 'east', token: 'west' });
  const finding = await until('check says so', async () =>
    (await checked('east')).find(({ reason }) => reason === 'AgentRefused'),
  );
  expect(finding).toMatchObject({ severity: 'error', fix: expect.stringContaining('fleetrelay cluster token east') });
  expect(finding.what).toMatch(/^refused at \d{4}-\S+Z from 127\.0\.0\.1: WrongToken: /);
  await until('the status says so', () => connectedOf('east').includes('from 127.0.0.1: WrongToken: '));
  expect(await metrics()).toMatch(
    /fleetrelay_agent_refusal_timestamp_seconds\{cluster="east",reason="WrongToken",address="127.0.0.1"\} \d{10}/,
  );
  await wrong.kill('SIGTERM');
  await fleet.agent('east').start();
  await until('it is connected', async () => (await checked('east')).every(({ reason }) => reason === 'ClusterInSync'));
  await until('the status says so', () => !connectedOf('east').includes('refused'));
  expect(await metrics()).not.toContain('fleetrelay_agent_refusal_timestamp_seconds{cluster="east"');
});

test('a second agent of a cluster with another id is told of beside the connected one', async () => {
  const other = fleet.agent('other');
  await other.start({ cluster: 'east', token: 'east' });
  const finding = await until('check says so', async () =>
    (await checked('east')).find(({ reason }) => reason === 'CallerRefused'),
  );
  expect(finding).toMatchObject({ severity: 'warning', fix: 'fleetrelay cluster replace east' });
  expect(finding.what).toContain('ClusterIdBound: the name east belongs to cluster id');
  await other.kill('SIGTERM');
});

test('an agent whose name no source declares is listed by that name', async () => {
  const stray = fleet.agent('stray');
  await stray.start({ cluster: 'esat', token: 'esat' });
  const finding = await until('check says so', async () =>
    (await checked('esat')).find(({ reason }) => reason === 'UndeclaredAgent'),
  );
  expect(finding.what).toContain('UnknownCluster: no KubernetesCluster esat is declared');
  expect(await metrics()).toMatch(/fleetrelay_agent_refusals_total\{cluster="esat",reason="UnknownCluster"\} [1-9]/);
  await stray.kill('SIGTERM');
});
