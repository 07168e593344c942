import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type StartedReplica, startAgentReplica } from '../../src/compose/agent/agent-replica.ts';
import type { KubernetesAgentOptions } from '../../src/compose/options.ts';
import { parseClusterName } from '../../src/model/fleet/ids.ts';
import { must } from '../../src/model/values/result.ts';
import { createRecordingLog } from '../support/agent-log.ts';
import { until } from '../support/fleet-processes.ts';
import * as hostile from '../support/kubernetes/hostile-api.ts';

let folder: string;
let replica: StartedReplica | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fleetrelay-start-'));
});
afterEach(async () => {
  await replica?.stop();
  replica = undefined;
  rmSync(folder, { recursive: true, force: true });
});

function kubeconfigOf(server: string): string {
  const path = join(folder, 'config');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user: { token: 'secret' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'of-the-context' } }],
    'current-context': 'x',
  };
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

const optionsOf = (kubernetes: KubernetesAgentOptions['kubernetes']): KubernetesAgentOptions => ({
  cluster: must(parseClusterName('east')),
  server: { host: '127.0.0.1', port: 1 },
  dataDir: join(folder, 'data'),
  health: { host: '127.0.0.1', port: 0 },
  insecure: true,
  logLevel: 'info',
  kubernetes,
  domains: {},
});
const io = { cwd: '/', env: {}, version: '0.0.0' };
const ask = async (path: string) => {
  const response = await fetch(`${replica?.health}${path}`, { signal: AbortSignal.timeout(60_000) });
  return { status: response.status, text: await response.text() };
};

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

test.each([
  ['with leader election', true, /the lease could not be taken or renewed/, /who leads is not known/],
  ['without', false, /could not begin to lead/, /could not begin|leaves the lease|starting/],
])(
  'an API server that is not there is waited for, %s: alive, not ready, and the log says why once',
  async (_, leaderElect, said, unready) => {
    const log = createRecordingLog();
    const kubeconfig = kubeconfigOf(`https://127.0.0.1:${await closedPort()}`);
    replica = await startAgentReplica(optionsOf({ kubeconfig, leaderElect }), io, log);
    await until('the lease failure is logged', () => log.lines.find(({ text }) => said.test(text)));
    expect(replica.namespace).toBe('of-the-context');
    expect(await ask('/healthz')).toEqual({ status: 200, text: 'ok\n' });
    expect(await ask('/readyz')).toMatchObject({ status: 503, text: expect.stringMatching(unready) });
    expect((await ask('/metrics')).text).not.toMatch(/^fleetrelay_agent_connected[{ ]/m);
  },
);

test('a namespace that is not there: it waits for it, and says how to make it', async () => {
  const api = await hostile.startHostileApi();
  const status = { apiVersion: 'v1', kind: 'Status', reason: 'NotFound', message: 'not found', code: 404 };
  api.always('other', hostile.json(status, 404));
  try {
    const log = createRecordingLog();
    const kubernetes = { kubeconfig: kubeconfigOf(api.url), namespace: 'mine', leaderElect: true };
    replica = await startAgentReplica(optionsOf(kubernetes), io, log);
    await until('the command is logged', () =>
      log.lines.find(({ data }) => String(data.reason).includes('kubectl create namespace mine')),
    );
    expect((await ask('/readyz')).text).toContain('kubectl create namespace mine');
  } finally {
    await replica?.stop();
    replica = undefined;
    await api.close();
  }
});

test('a kubeconfig that is wrong ends the start, and says what is wrong and what to do', async () => {
  const log = createRecordingLog();
  const start = (kubernetes: KubernetesAgentOptions['kubernetes'], env = {}) =>
    startAgentReplica(optionsOf(kubernetes), { ...io, env }, log);
  const nowhere = join(folder, 'nowhere');
  await expect(start({ kubeconfig: nowhere, leaderElect: true })).rejects.toThrow(`${nowhere} is not there`);
  await expect(start({ leaderElect: true }, { HOME: folder })).rejects.toThrow('--directory');
  await expect(start({ kubeconfig: kubeconfigOf('https://a'), context: 'y', leaderElect: true })).rejects.toThrow(
    'no context "y"',
  );
  // In a pod whose credentials are not there.
  await expect(start({ leaderElect: true }, { KUBERNETES_SERVICE_HOST: '127.0.0.1' })).rejects.toThrow(
    '/var/run/secrets/kubernetes.io/serviceaccount',
  );
});

test('an address for health that is taken ends the start', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const options = { ...optionsOf({ kubeconfig: kubeconfigOf('https://127.0.0.1:1'), leaderElect: true }) };
  try {
    const health = { host: '127.0.0.1', port };
    await expect(startAgentReplica({ ...options, health }, io, createRecordingLog())).rejects.toThrow(
      'something listens there already',
    );
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});
