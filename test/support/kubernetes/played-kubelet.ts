import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { objectOf } from '../../../src/model/text/json.ts';
import { PROGRAM, until } from '../fleet-processes.ts';
import type { ApiRequests } from './api-request.ts';

/** A Pod as an API server stores it. */
export interface StoredPod {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly initContainers?: readonly StoredContainer[];
    readonly containers: readonly StoredContainer[];
  };
}

export interface StoredContainer {
  readonly name: string;
  readonly args?: readonly string[];
  readonly readinessProbe?: { readonly httpGet?: HttpGet };
}

interface HttpGet {
  readonly path: string;
  readonly port: number;
  readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[];
}

/** The part of a kubelet that a Pod's readiness comes from, for one Pod. */
export interface PlayedKubelet {
  /**
   * Sends each readiness probe as it is stored in the Pod, writes the Pod's status and returns the answers by container.
   * A Pod without proxy has none.
   */
  sync(): Promise<Readonly<Record<string, string>>>;
  stop(): Promise<void>;
}

/** Where processes of a Pod listen here. The API server takes no such address for an endpoint. */
const HERE = '127.0.0.1';
const PROXY = 'fleetrelay-probe-proxy';
const NODE = 'played';
const STRATEGIC_MERGE = 'application/strategic-merge-patch+json';

/** Starts the probe proxy of a Pod as its container says, as a process; `ip` is the address that the Pod's status names. */
export async function playKubelet(api: ApiRequests, pod: StoredPod, ip: string): Promise<PlayedKubelet> {
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-kubelet-'));
  const startedAt = new Date().toISOString();
  const { initContainers = [], containers } = pod.spec;
  const proxy = initContainers.find(({ name }) => name === PROXY);
  const path = `/api/v1/namespaces/${pod.metadata.namespace}/pods/${pod.metadata.name}`;
  await bind(api, path, pod.metadata.name);
  const process = proxy && (await startProxy(proxy, pod, folder));

  const write = async (isReady: ReadonlyMap<string, boolean>): Promise<void> => {
    const statusOf = ({ name }: StoredContainer) => ({
      ...{ name, image: 'test', imageID: '', restartCount: 0, started: true },
      ready: isReady.get(name) ?? true,
      state: { running: { startedAt } },
    });
    const allReady = [...isReady.values()].every(Boolean) ? 'True' : 'False';
    const status = {
      phase: 'Running',
      ...{ podIP: ip, podIPs: [{ ip }] },
      conditions: ['ContainersReady', 'Ready'].map((type) => ({ type, status: allReady })),
      initContainerStatuses: initContainers.map(statusOf),
      containerStatuses: containers.map(statusOf),
    };
    const { status: code, body } = await api.send('PATCH', `${path}/status`, { status }, STRATEGIC_MERGE);
    if (code !== 200) throw new Error(`the status of ${pod.metadata.name} is refused: ${JSON.stringify(body)}`);
  };

  return {
    sync: async () => {
      const probed = [...initContainers, ...containers].flatMap(({ name, readinessProbe }) =>
        readinessProbe?.httpGet === undefined ? [] : [{ name, get: readinessProbe.httpGet }],
      );
      const answers = await Promise.all(probed.map(async ({ name, get }) => [name, await probe(get)] as const));
      await write(new Map(answers.map(([name, answer]) => [name, answer.startsWith('200 ')])));
      return Object.fromEntries(answers);
    },
    stop: async () => {
      if (process !== undefined && process.exitCode === null) {
        process.kill('SIGKILL');
        await once(process, 'exit');
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** As the scheduler does: a Pod without Node is in no EndpointSlice. A Node that was never ready makes no Pod unready. */
async function bind(api: ApiRequests, path: string, name: string): Promise<void> {
  await api.send('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
  const target = { apiVersion: 'v1', kind: 'Node', name: NODE };
  const { status, body } = await api.send('POST', `${path}/binding`, {
    ...{ apiVersion: 'v1', kind: 'Binding', metadata: { name }, target },
  });
  if (status !== 201) throw new Error(`the Pod ${name} cannot be bound: ${JSON.stringify(body)}`);
}

async function startProxy({ args = [] }: StoredContainer, pod: StoredPod, folder: string): Promise<ChildProcess> {
  const list = join(folder, 'probes.json');
  writeFileSync(list, objectOf(pod.metadata.annotations)['fleetrelay.dev/probes'] as string);
  const here = args.map((arg) => arg.replace('$(POD_IP)', HERE).replace(/^--probes=.*/, `--probes=${list}`));
  const child = spawn(process.execPath, [PROGRAM, ...here], { stdio: ['ignore', 'inherit', 'pipe'] });
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
    log = `${log}${piece}`.slice(-10_000);
  });
  await until('the probe proxy is up', () => {
    if (child.exitCode !== null) throw new Error(`the probe proxy ended: ${log}`);
    return log.includes('the probe proxy is up');
  });
  return child;
}

async function probe({ path, port, httpHeaders = [] }: HttpGet): Promise<string> {
  const headers = Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value]));
  const sent = request({ host: HERE, port, path, headers: { 'User-Agent': 'kube-probe/1.36', ...headers } });
  sent.end();
  const [answer] = await once(sent, 'response');
  return `${answer.statusCode} ${(await text(answer)).trim()}`;
}
