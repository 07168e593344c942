import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readCheckout } from '../../../../../src/compose/read-checkout.ts';
import { evaluate, readRecordedClusters } from '../../../../../src/compose/render/evaluate.ts';
import { reportsOfRecorded } from '../../../../../src/domains/care/compose/recorded-reports.ts';
import type { CareTasks } from '../../../../../src/domains/care/model/agent-tasks.ts';
import { NO_SETTINGS } from '../../../../../src/model/agent/agent-settings.ts';
import { silentLog } from '../../../../support/silent-log.ts';
import { createTestAuthority, DAY_MS } from '../../../../support/test-authority.ts';
import { createVirtualClock } from '../../../../support/virtual-clock.ts';

const RENEWED = '2026-03-02T10:00:00Z';
const AT = Date.parse(RENEWED) / 1000;
const LEASES = 'internal.fleetrelay.dev/LeaseReport//leases';
const clock = createVirtualClock();
let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'fleetrelay-reports-'));
  put('repo/blue.yaml', '{apiVersion: admin.gloo.solo.io/v2, kind: KubernetesCluster, metadata: {name: blue}}');
  put(
    'repo/shoot.yaml',
    `apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: blue, namespace: garden-web}
spec: {provider: {type: local, workers: [{name: pool, minimum: 1, maximum: 1, machine: {type: small}}]}}
`,
  );
  put('clusters/blue/node.yaml', '{apiVersion: v1, kind: Node, metadata: {name: node-1}}');
  const spec = { renewTime: RENEWED, leaseDurationSeconds: 40 };
  const metadata = { name: 'node-1', namespace: 'kube-node-lease' };
  put(
    'clusters/blue/lease.yaml',
    JSON.stringify({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec }),
  );
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), text);
}

async function live(at: number) {
  const checkout = await readCheckout({ log: silentLog }, join(home, 'repo'));
  const clusters = await readRecordedClusters(join(home, 'clusters'), clock);
  return evaluate(checkout, clusters, at).inputs;
}

test('recorded Leases are judged at the moment of the evaluation, and are no live objects themselves', async () => {
  const before = await live(AT + 40);
  expect(before.live.get('blue', LEASES)?.value.status).toEqual({ valid: ['kube-node-lease/node-1'], expired: [] });
  expect([...before.live.entries('blue')].some(({ key }) => key.startsWith('coordination.k8s.io/'))).toBe(false);
  expect(before.kinds.get('blue', 'internal.fleetrelay.dev/LeaseReport')).toMatchObject({ state: 'complete' });
  const after = await live(AT + 41);
  expect(after.live.get('blue', LEASES)?.value.status).toEqual({
    valid: [],
    expired: [{ lease: 'kube-node-lease/node-1', renewTime: RENEWED }],
  });
});

test('a recorded report has precedence over the Leases', async () => {
  const status = { valid: [], expired: [{ lease: 'kube-node-lease/recorded' }] };
  const report = {
    apiVersion: 'internal.fleetrelay.dev/v1',
    kind: 'LeaseReport',
    metadata: { name: 'leases' },
    status,
  };
  put('clusters/blue/cluster/leasereport.internal.fleetrelay.dev/leases.yaml', JSON.stringify(report));
  expect((await live(AT)).live.get('blue', LEASES)?.value.status).toEqual(status);
});

test('reports are made of a folder for the tasks that are asked for, and no others', async () => {
  const { root } = await createTestAuthority(AT * 1000 - DAY_MS, Date.UTC(2031, 0, 1));
  const metadata = { name: 'kube-root-ca.crt', namespace: 'kube-system' };
  put(
    'clusters/blue/ca.yaml',
    JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'ca.crt': root } }),
  );
  const [cluster] = await readRecordedClusters(join(home, 'clusters'), clock);
  if (cluster === undefined) throw new Error('the cluster was not read');
  const reports = (care: CareTasks | undefined) =>
    reportsOfRecorded(cluster.live, { ...NO_SETTINGS, ...(care && { care }) }, AT * 1000).objects.map(
      ({ value }) => value.kind,
    );
  const apiServerProbe = { syncPeriodMillis: 60_000, readyz: true };
  expect(reports(undefined)).toEqual([]);
  expect(reports({ apiServerProbe, leases: [], certificates: false, tunnel: true })).toEqual([]);
  expect(reports({ leases: [{ namespace: 'kube-node-lease' }], certificates: true, tunnel: false })).toEqual([
    'LeaseReport',
    'CertificateReport',
  ]);
});
