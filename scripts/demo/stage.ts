import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FleetView } from '../../src/api/server-api.ts';
import { DEFAULT_API } from '../../src/model/fleet/default-api.ts';
import { type Child, type Program, runChild, startChild } from '../local/child.ts';
import { createSmartHttpServer } from '../local/smart-http-server.ts';
import { openWorkTree, type WorkTree } from '../local/work-tree.ts';
import type { DemoCluster, DemoClusters } from './clusters.ts';

/** The running demo: a git server in this process, and a process for the management server and for each of three agents. */
export interface Stage {
  readonly folder: string;
  readonly work: WorkTree;
  readonly api: string;
  /** What a command needs to find the server: nothing, or ` --api ADDRESS`. */
  readonly apiOption: string;
  cluster(name: string): DemoCluster;
  startAgent(name: string): Promise<void>;
  stopAgent(name: string): Promise<void>;
  agentPid(name: string): number | undefined;
  status(): Promise<FleetView>;
  /** Runs a command against the API of the server; returns its standard output. */
  fleetrelay(...args: string[]): Promise<string>;
  stop(): Promise<void>;
}

/** The clusters of `examples/repo`. */
export const clusterNames = ['east', 'west', 'edge'] as const;

const REPOSITORY = 'fleet';
const FLEET = 'demo';

/**
 * Starts everything. Stops it again if something fails. Rejects, and changes nothing, if the given folder is not empty,
 * because the folder is removed at the end.
 */
export async function setStage(
  program: Program,
  options: {
    /** The repository's first commit. */
    readonly examples: string;
    /** Absent: a new temporary folder. */
    readonly folder?: string;
    readonly keep: boolean;
    /** Makes the clusters, which may write to this folder. */
    readonly clusters: (folder: string) => DemoClusters;
  },
): Promise<Stage> {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'fleetrelay-demo-')));
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length > 0) {
    throw new Error(`${folder} is not empty: give the demo a folder that is empty or absent, or leave --folder out`);
  }
  const closers: (() => Promise<unknown>)[] = [];
  if (!options.keep) closers.push(() => rm(folder, { recursive: true, force: true }));
  const stop = async (): Promise<void> => {
    for (const close of closers.reverse().splice(0)) await close();
  };
  try {
    const clusters = options.clusters(join(folder, 'clusters'));
    closers.push(() => clusters.stop());
    return await buildStage(program, folder, { ...options, clusters, closers, stop });
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Backstage {
  readonly examples: string;
  readonly clusters: DemoClusters;
  readonly closers: (() => Promise<unknown>)[];
  readonly stop: () => Promise<void>;
}

async function buildStage(program: Program, folder: string, backstage: Backstage): Promise<Stage> {
  const { clusters, closers, stop } = backstage;
  let hook: (() => Promise<void>) | undefined;
  const { work, repository } = await serveRepository(program.env.PATH, folder, backstage, () => void hook?.());
  const { server, addresses, secret } = await startManagementServer(program, folder, repository);
  closers.push(() => server.stop());
  hook = () => callHook(addresses.http, secret);
  const agents = new Map<string, Child>();
  closers.push(() => Promise.all([...agents.values()].map((agent) => agent.stop())));
  const data = join(folder, 'server');
  const opened = new Map<string, DemoCluster>();
  await mkdir(join(folder, 'clusters'), { recursive: true });
  await Promise.all(clusterNames.map(async (name) => opened.set(name, await clusters.open(name))));
  const cluster = (name: string): DemoCluster => {
    const found = opened.get(name);
    if (found === undefined) throw new Error(`the demo has no cluster ${name}`);
    return found;
  };

  const startAgent = async (name: string): Promise<void> => {
    const token = (await runChild(program, ['cluster', 'token', name, '--data-dir', data])).trim();
    const tokenFile = join(folder, `${name}.token`);
    await writeFile(tokenFile, `${token}\n`, { mode: 0o600 });
    const { relay, caFile } = addresses;
    const where = ['--server', relay, '--token-file', tokenFile, '--ca-file', caFile];
    // Not in the cluster's folder: an agent in a pod has a volume of its own, too.
    const disk = ['--data-dir', join(folder, 'agents', name)];
    agents.set(name, startChild(program, ['agent', '--cluster', name, ...where, ...cluster(name).agentArgs, ...disk]));
  };
  const stage: Stage = {
    folder,
    work,
    api: addresses.http,
    apiOption: addresses.http === (program.env.FLEETRELAY_API ?? DEFAULT_API) ? '' : ` --api ${addresses.http}`,
    cluster,
    startAgent,
    stopAgent: async (name) => {
      await agents.get(name)?.stop();
      agents.delete(name);
    },
    agentPid: (name) => agents.get(name)?.pid,
    status: async () => {
      const token = (await readFile(join(data, 'api-token'), 'utf8')).trim();
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${addresses.http}/api/v1/status`, { headers, signal: AbortSignal.timeout(10_000) });
      return (await response.json()) as FleetView;
    },
    fleetrelay: (...args) => runChild(program, [...args, '--api', addresses.http]),
    stop,
  };
  await Promise.all(clusterNames.map((name) => startAgent(name)));
  return stage;
}

/** Starts the git server and pushes the first commit. `closers` gets the server at once, because later steps can fail. */
async function serveRepository(
  path: string | undefined,
  folder: string,
  { examples, closers }: Backstage,
  pushed: () => void,
): Promise<{ readonly work: WorkTree; readonly repository: string }> {
  const root = join(folder, 'git');
  const bare = join(root, `${REPOSITORY}.git`);
  await mkdir(bare, { recursive: true });
  const git = openWorkTree(bare, path);
  await git.git('init', '--quiet', '--bare', '--initial-branch=main', '.');
  await git.git('config', 'http.receivepack', 'true');
  const server = createSmartHttpServer({ root, searchPath: path ?? '/usr/bin:/bin', pushed });
  const { url } = await server.start();
  closers.push(() => server.stop());
  const repository = `${url}/${REPOSITORY}.git`;
  const directory = join(folder, 'work');
  await cp(examples, directory, { recursive: true });
  const work = openWorkTree(directory, path);
  await work.git('init', '--quiet', '--initial-branch=main', '.');
  await work.git('remote', 'add', 'origin', repository);
  // The person who types the suggested commands may have no identity in git.
  await work.git('config', 'user.name', 'Fleet Demo');
  await work.git('config', 'user.email', 'demo@example.com');
  await work.push('The fleet as it should be');
  return { work, repository };
}

/** The ports of a server that is told none: for agents, for API and hooks, for health and metrics. */
const USUAL_PORTS = [9900, 9980, 9981] as const;

async function startManagementServer(program: Program, folder: string, repository: string) {
  const secret = randomBytes(24).toString('hex');
  const secretFile = join(folder, 'hook-secret');
  await writeFile(secretFile, `${secret}\n`, { mode: 0o600 });
  const options = ['--hook-secret-file', secretFile, '--data-dir', join(folder, 'server'), '--poll', '30'];
  const start = async (ports: readonly number[]) => {
    const [listen, api, metrics] = ports.map((port) => `127.0.0.1:${port}`);
    const listening = ['--listen', `${listen}`, '--http', `${api}`, '--metrics', `${metrics}`];
    const following = ['--repo', repository, '--branch', 'main', '--fleet', FLEET];
    const server = startChild(program, ['serve', ...following, ...options, ...listening]);
    const { relay, http, caFile } = await server.logged('the server is up');
    return { server, secret, addresses: { relay: String(relay), http: String(http), caFile: String(caFile) } };
  };
  const free = await Promise.all(USUAL_PORTS.map(async (port) => ((await isFree(port)) ? port : ANY_PORT)));
  return start(free).catch(async (error: unknown) => {
    const areFree = await Promise.all(free.map((port) => port === ANY_PORT || isFree(port)));
    if (!areFree.includes(false)) throw error;
    // Another process has taken a port meanwhile.
    return start(USUAL_PORTS.map(() => ANY_PORT));
  });
}

/** The system chooses a port that is free. */
const ANY_PORT = 0;

/** Whether no process of this machine listens on the port of the loopback address. */
async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  const isListening = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (!isListening) return false;
  server.close();
  await once(server, 'close');
  return true;
}

/** Calls the server's hook, as a git host does after a push. */
async function callHook(http: string, secret: string): Promise<void> {
  const body = '{}';
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` };
  // A lost call only costs time, because the server also polls.
  await fetch(`${http}/hooks/git`, { method: 'POST', body, headers, signal: AbortSignal.timeout(5_000) }).catch(
    () => undefined,
  );
}
