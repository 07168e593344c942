import { createHmac } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { startChild } from '../../scripts/local/child.ts';
import { createSmartHttpServer } from '../../scripts/local/smart-http-server.ts';
import { openWorkTree } from '../../scripts/local/work-tree.ts';
import { printedToken } from '../../src/compose/cluster/token.ts';
import { must } from '../../src/model/values/result.ts';
import { parseListenAddress } from '../../src/server/listen-address.ts';
import { apiFetch } from '../../test/support/api-fetch.ts';
import type { AgentsRequest } from './agents.ts';

/** A git server and a management server, and a work tree to push from. */
export interface PushFleet {
  readonly agentsRequest: AgentsRequest;
  /** The process of the management server. */
  readonly pid: number;
  /** URL of its health and metrics. */
  readonly metrics: string;
  /** Calls of its API. */
  readonly ask: (path: string) => Promise<unknown>;
  /** Writes the marker into the manifest that every cluster gets, and commits. */
  edit(marker: string): Promise<void>;
  push(): Promise<void>;
  stop(): Promise<void>;
}

const PROGRAM = { file: fileURLToPath(new URL('../../bin/fleetrelay.cjs', import.meta.url)), env: process.env };
const FOLLOWED = 'refs/heads/main';
const STATUS = 'refs/heads/fleetrelay/status/default';
const HOOK_SECRET = 'a secret of the benchmark';

interface PushOptions {
  /** More files of the repository. */
  readonly files?: Readonly<Record<string, string>>;
  /** Variables of the server's environment. */
  readonly serverEnv?: Readonly<Record<string, string>>;
}

/** Starts the servers; a repository declares this number of clusters and one ConfigMap for all of them. */
export async function startPushFleet(
  folder: string,
  agents: number,
  { files = {}, serverEnv = {} }: PushOptions = {},
): Promise<PushFleet> {
  const names = Array.from({ length: agents }, (_, index) => `c${index}`);
  const work = await createWorkTree(folder, names, files);
  const root = join(folder, 'git');
  const bare = await createBare(root);
  let hook: ((ref: string) => void) | undefined;
  const pushedRef = refReader(join(root, 'fleet.git'));
  const pushed = async (): Promise<void> => hook?.(await pushedRef());
  const git = createSmartHttpServer({ root, searchPath: process.env.PATH ?? '', pushed: () => void pushed() });
  const { url } = await git.start();
  await bare.git('config', 'http.receivepack', 'true');
  // It would pack the refs, which are read as files.
  await bare.git('config', 'receive.autogc', 'false');
  await work.git('remote', 'add', 'origin', `${url}/fleet.git`);
  await writeManifest(work.directory, 'start');
  await work.push('start');

  const data = join(folder, 'server');
  const hookSecretFile = join(folder, 'hook-secret');
  await writeFile(hookSecretFile, HOOK_SECRET);
  const following = [
    '--repo',
    `${url}/fleet.git`,
    '--branch',
    'main',
    '--poll',
    '3600',
    '--hook-secret-file',
    hookSecretFile,
  ];
  const listening = ['--listen', '127.0.0.1:0', '--http', '127.0.0.1:0', '--metrics', '127.0.0.1:0'];
  const program = { ...PROGRAM, env: { ...PROGRAM.env, ...serverEnv } };
  const server = startChild(program, ['serve', ...following, ...listening, '--data-dir', data, '--log-level', 'info']);
  const { relay, http, metrics, caFile } = await server.logged('the server is up');
  hook = (ref) => void callHook(String(http), ref);
  return {
    agentsRequest: {
      server: must(parseListenAddress(String(relay))),
      caFile: String(caFile),
      clusters: await Promise.all(names.map((name) => prepareCluster(folder, data, name))),
      file: 'namespaces/web/configmap/marker.yaml',
    },
    pid: server.pid,
    metrics: String(metrics),
    ask: async (path) => (await apiFetch(`${http}${path}`)).json(),
    edit: async (marker) => {
      await writeManifest(work.directory, marker);
      await work.git('commit', '--quiet', '--all', '-m', marker);
    },
    push: async () => {
      await work.git('push', '--quiet', 'origin', 'HEAD:main');
    },
    stop: async () => {
      await server.stop();
      await git.stop();
    },
  };
}

async function createBare(root: string) {
  const directory = join(root, 'fleet.git');
  await mkdir(directory, { recursive: true });
  const bare = openWorkTree(directory, process.env.PATH);
  await bare.git('init', '--quiet', '--bare', '--initial-branch=main', '.');
  return bare;
}

async function createWorkTree(folder: string, names: readonly string[], files: Readonly<Record<string, string>>) {
  const directory = join(folder, 'work');
  await mkdir(join(directory, 'clusters'), { recursive: true });
  await mkdir(join(directory, 'apps'), { recursive: true });
  for (const name of names) {
    const cluster = `apiVersion: admin.gloo.solo.io/v2\nkind: KubernetesCluster\nmetadata:\n  name: ${name}\n`;
    await writeFile(join(directory, 'clusters', `${name}.yaml`), cluster);
  }
  const placement =
    'apiVersion: fleetrelay.dev/v1alpha1\nkind: Placement\nmetadata:\n  name: apps\nspec:\n  paths: [apps/**]\n';
  await writeFile(join(directory, 'placement.yaml'), `${placement}  clusters:\n    selector: {}\n`);
  for (const [path, text] of Object.entries(files)) await writeFile(join(directory, path), text);
  const work = openWorkTree(directory, process.env.PATH);
  await work.git('init', '--quiet', '--initial-branch=main', '.');
  return work;
}

async function writeManifest(directory: string, marker: string): Promise<void> {
  const manifest = `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: marker\n  namespace: web\ndata:\n  marker: ${marker}.\n`;
  await writeFile(join(directory, 'apps', 'marker.yaml'), manifest);
}

async function prepareCluster(folder: string, data: string, name: string): Promise<AgentsRequest['clusters'][number]> {
  const enrolment = { validFor: 24 * 3600, singleUse: false };
  const token = await printedToken({ subject: name, dataDir: data, enrolment, cwd: '/' });
  const tokenFile = join(folder, `${name}.token`);
  await writeFile(tokenFile, token);
  return { name, tokenFile, directory: join(folder, 'clusters', name) };
}

/** Returns a function that tells which ref the last push has set: people push to one branch, the server to another. */
function refReader(bare: string): () => Promise<string> {
  let before = '';
  return async () => {
    const tip = await readFile(join(bare, FOLLOWED), 'utf8');
    const isFollowed = tip !== before;
    before = tip;
    return isFollowed ? FOLLOWED : STATUS;
  };
}

/** Calls the hook as GitHub does after a push. */
async function callHook(http: string, ref: string): Promise<void> {
  const body = JSON.stringify({ ref });
  const signature = createHmac('sha256', HOOK_SECRET).update(body).digest('hex');
  const event = { 'content-type': 'application/json', 'x-github-event': 'push' };
  const headers = { ...event, 'x-hub-signature-256': `sha256=${signature}` };
  // The server pushes its status too, once more while it stops: the hook cannot be delivered then.
  await fetch(`${http}/hooks/git`, { method: 'POST', body, headers }).catch(() => undefined);
}
