import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDirectoryCluster } from '../../../src/adapters/directory/cluster.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { createDirectoryCare } from '../../../src/domains/care/adapters/directory.ts';
import type { CareApi } from '../../../src/domains/care/ports/care-api.ts';
import type { ClusterApi } from '../../../src/ports/cluster-api.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import { until } from '../../support/fleet-processes.ts';
import { createTestAuthority, DAY_MS } from '../../support/test-authority.ts';

let home: string;
let cluster: ClusterApi;
let care: CareApi;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'fleetrelay-care-'));
  const deps = { clock: createSystemClock(), random: createSystemRandom(), log: createRecordingLog() };
  const opened = await createDirectoryCluster(deps, { directory: join(home, 'cluster') });
  cluster = opened;
  care = createDirectoryCare(opened.look, opened.watch);
});
afterEach(async () => {
  await cluster.close();
  rmSync(home, { recursive: true, force: true });
});

function put(path: string, text: string): void {
  const file = join(home, 'cluster', path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const lease = (name: string, namespace: string): string =>
  `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: ${name}, namespace: ${namespace}}, spec: {leaseDurationSeconds: 40}}`;
const leasePath = (name: string): string => `namespaces/kube-node-lease/lease.coordination.k8s.io/${name}.yaml`;

test('Leases are files; a change of files is a hint', async () => {
  put(leasePath('a'), lease('a', 'kube-node-lease'));
  put('other.yaml', lease('other', 'other'));
  const hints: string[] = [];
  const end = care.watch((what) => hints.push(what));
  const found = await care.leases(['kube-node-lease']);
  expect(found.leases.map(({ metadata }) => metadata)).toEqual([{ name: 'a', namespace: 'kube-node-lease' }]);
  expect(found.refused).toEqual({});
  put(leasePath('b'), lease('b', 'kube-node-lease'));
  await until('a hint', () => hints.includes('leases'));
  expect((await care.leases(['kube-node-lease'])).leases).toHaveLength(2);
  end();
});

test('a file of a Lease that cannot be read makes the Leases of no Namespace complete', async () => {
  put(leasePath('a'), '{');
  expect((await care.leases(['kube-node-lease', 'kube-system'])).refused).toEqual({
    'kube-node-lease': `${leasePath('a')} cannot be read`,
    'kube-system': `${leasePath('a')} cannot be read`,
  });
});

test('a folder that is gone gives no answer', async () => {
  rmSync(join(home, 'cluster'), { recursive: true });
  expect(await care.leases(['kube-node-lease'])).toMatchObject({ leases: [], unanswered: expect.any(String) });
  expect(await care.certificates()).toBeUndefined();
});

test('certificates are read from ConfigMaps; without them there are none', async () => {
  expect(await care.certificates()).toEqual({ certificates: [] });
  const ends = Date.UTC(2031, 4, 6, 7, 8, 9);
  const { root } = await createTestAuthority(ends - 400 * DAY_MS, ends);
  const ca = 'kube-root-ca.crt';
  const metadata = { name: ca, namespace: 'kube-system' };
  put(
    'ca.yaml',
    JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'ca.crt': root, more: 'x' } }),
  );
  await until('the file is seen', async () => JSON.stringify(await care.certificates()).includes(ca));
  expect(await care.certificates()).toEqual({
    certificates: [{ name: ca, field: 'ca.crt', notAfter: '2031-05-06T07:08:09Z' }],
  });
});

test('a folder has no API server and no tunnel', () => {
  expect(care.askHealth).toBeUndefined();
  expect(care.tunnel).toBeUndefined();
});
