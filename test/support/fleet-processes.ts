import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { load } from 'js-yaml';
import { createSmartHttpServer } from '../../src/adapters/git/smart-http-server.ts';
import { parseClusterName } from '../../src/model/ids.ts';
import { must } from '../../src/model/result.ts';
import { clusterToken } from '../../src/relay/trust/token.ts';
import type { FleetView, OutputView } from '../../src/server/api.ts';
import { createGitSandbox, type GitSandbox } from './git-sandbox.ts';
import { type ClusterPool, directoryClusters, type TestCluster } from './test-clusters.ts';

/** Another build of the program can be put to the same tests. */
const PROGRAM = process.env.FLEETRELAY_PROGRAM ?? fileURLToPath(new URL('../../bin/fleetrelay.cjs', import.meta.url));
export const STATUS_BRANCH = 'fleetrelay/status/test';
const LOOK_EVERY_MS = 50;

/** A real fleet: git over smart HTTP, a server process, agent processes with clusters of some kind. */
export interface Fleet {
  readonly sandbox: GitSandbox;
  readonly bare: string;
  readonly repository: string;
  readonly server: ServerProcess;
  readonly dataDir: string;
  /** Pushes files (null removes) and returns the commit; the server hears of it by its poll. */
  push(files: Readonly<Record<string, string | null>>): string;
  agent(name: string): AgentProcess;
  /** The cluster of the agent of this name, empty at first. */
  cluster(name: string): Promise<TestCluster>;
  /** A live object of a cluster as text, named as in `ConfigMap/web/a`; undefined if it is not there. */
  live(cluster: string, object: string): Promise<string | undefined>;
  status(): Promise<FleetView>;
  /** What the server says of one object; undefined if it knows none. */
  output(cluster: string, object: string): Promise<OutputView | undefined>;
  /** Runs a command against the server; rejects if it fails. */
  cli(...args: string[]): Promise<string>;
  /** A file of the status branch, parsed; undefined if it is not there. */
  statusFile(path: string): Record<string, unknown> | undefined;
  stop(): Promise<void>;
}

export interface ServerProcess {
  readonly logs: readonly Readonly<Record<string, unknown>>[];
  relay(): string;
  http(): string;
  start(): Promise<void>;
  kill(signal: NodeJS.Signals): Promise<void>;
}

export interface AgentProcess {
  readonly logs: readonly Readonly<Record<string, unknown>>[];
  /**
   * `cluster`: the name that it claims; `token`: whose token it shows. Further arguments win over those of its cluster.
   * Resolves when the process is started, not when it is up.
   */
  start(options?: {
    readonly token?: string;
    readonly cluster?: string;
    readonly args?: readonly string[];
    /** Beside this process's own environment. */
    readonly env?: Readonly<Record<string, string>>;
  }): Promise<void>;
  /** Of the process that was started last; undefined before. */
  pid(): number | undefined;
  kill(signal: NodeJS.Signals): Promise<void>;
  signal(signal: NodeJS.Signals): void;
}

/** Looks until there is something to see; fails with what was waited for. */
export async function until<Value>(
  what: string,
  look: () => Value | undefined | false | Promise<Value | undefined | false>,
  deadlineMs = 30_000,
): Promise<Value> {
  const end = performance.now() + deadlineMs;
  let trouble: unknown;
  while (performance.now() < end) {
    const seen = await Promise.resolve()
      .then(look)
      .catch((error: unknown) => {
        trouble = error;
        return undefined;
      });
    if (seen !== undefined && seen !== false) return seen;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  throw new Error(`this did not happen: ${what}${trouble === undefined ? '' : ` (${String(trouble)})`}`);
}

/** How the server of a fleet is started. */
export interface FleetOptions {
  /** Follow this folder instead of the repository. */
  readonly watch?: string;
  /** More arguments of `fleetrelay serve`. */
  readonly serve?: readonly string[];
  /** Where clusters come from; folders if left out. The pool is released when the fleet stops. */
  readonly clusters?: ClusterPool;
  /** The file that Node runs; if left out, what FLEETRELAY_PROGRAM names, else fleetrelay from its sources. */
  readonly program?: string;
}

/** Starts git and the server, follows `files`; agents are started by the test. */
export async function startFleet(files: Readonly<Record<string, string>>, options: FleetOptions = {}): Promise<Fleet> {
  const sandbox = createGitSandbox();
  const git = createSmartHttpServer({ root: sandbox.served, searchPath: process.env.PATH ?? '' });
  const { url } = await git.start();
  const bare = sandbox.bare('fleet');
  sandbox.git(bare, 'config', 'http.receivepack', 'true');
  sandbox.git(bare, 'symbolic-ref', 'HEAD', 'refs/heads/main');
  sandbox.push(bare, files);
  const repository = `${url}/fleet.git`;
  const dataDir = join(sandbox.path, 'server');
  const following = options.watch === undefined ? ['--repo', repository, '--poll', '1'] : ['--watch', options.watch];
  const { program = PROGRAM } = options;
  const server = createServerProcess(program, [...following, ...(options.serve ?? [])], dataDir);
  const agents = new Map<string, AgentProcess>();
  const pool = options.clusters ?? directoryClusters.open();
  const clusters = new Map<string, Promise<TestCluster>>();
  const cluster = (name: string): Promise<TestCluster> => {
    const taken = clusters.get(name) ?? pool.take(join(sandbox.path, 'clusters', name));
    clusters.set(name, taken);
    return taken;
  };
  const stop = async (): Promise<void> => {
    await Promise.all([...agents.values()].map((agent) => agent.kill('SIGKILL')));
    await Promise.allSettled(clusters.values());
    pool.release();
    await server.kill('SIGKILL');
    await git.stop();
    sandbox.remove();
  };
  try {
    await server.start();
  } catch (error) {
    await stop();
    throw error;
  }
  const cli = (...args: string[]): Promise<string> => runCli([...args, '--api', server.http()]);
  return {
    sandbox,
    bare,
    repository,
    server,
    dataDir,
    push: (changes) => sandbox.push(bare, changes),
    agent: (name) => {
      const agent =
        agents.get(name) ??
        createAgentProcess(name, () => cluster(name), { program, root: sandbox.path, dataDir, server });
      agents.set(name, agent);
      return agent;
    },
    cluster,
    live: async (name, object) => (await cluster(name)).live(object),
    status: async () => (await (await fetch(`${server.http()}/api/v1/status`)).json()) as FleetView,
    output: async (name, object) => {
      const response = await fetch(`${server.http()}/api/v1/outputs?cluster=${name}`);
      const { items } = (await response.json()) as { readonly items: readonly OutputView[] };
      return items.find((output) => output.object === object);
    },
    cli,
    statusFile: (path) => {
      try {
        return load(sandbox.git(bare, 'show', `${STATUS_BRANCH}:${path}`)) as Record<string, unknown>;
      } catch {
        return undefined;
      }
    },
    stop,
  };
}

/** Runs fleetrelay to its end; rejects with what it said if it fails. */
export async function runCli(args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...args], { timeout: 30_000 });
  return stdout;
}

function createServerProcess(program: string, following: readonly string[], dataDir: string): ServerProcess {
  const logs: Readonly<Record<string, unknown>>[] = [];
  let child: ChildProcess | undefined;
  // Kept over restarts, so that agents find the server again.
  let listening = { relay: '127.0.0.1:0', http: '127.0.0.1:0' };
  const args = (): string[] => [
    'serve',
    ...['--fleet', 'test', '--data-dir', dataDir],
    ...['--listen', listening.relay, '--http', listening.http, '--log-level', 'debug'],
    // Last, so that what a test says wins.
    ...following,
  ];
  return {
    logs,
    relay: () => listening.relay,
    http: () => `http://${listening.http}`,
    start: async () => {
      logs.length = 0;
      child = startLogged(program, args(), logs);
      const started = child;
      const up = await until('the server is up', () => {
        if (started.exitCode !== null) throw new Error(`the server ended: ${JSON.stringify(logs.slice(-5))}`);
        return logs.find(({ message }) => message === 'the server is up');
      });
      listening = { relay: String(up.relay), http: String(up.http).replace('http://', '') };
    },
    kill: (signal) => endChild(child, signal),
  };
}

interface AgentSurroundings {
  readonly program: string;
  readonly root: string;
  readonly dataDir: string;
  readonly server: ServerProcess;
}

function createAgentProcess(
  name: string,
  home: () => Promise<TestCluster>,
  { program, root, dataDir, server }: AgentSurroundings,
): AgentProcess {
  const logs: Readonly<Record<string, unknown>>[] = [];
  let child: ChildProcess | undefined;
  return {
    logs,
    start: async ({ token = name, cluster = name, args: more = [], env = {} } = {}) => {
      const { agentArgs } = await home();
      const tokenFile = join(root, `${name}.token`);
      writeFileSync(tokenFile, tokenFor(token, dataDir));
      const trust = ['--token-file', tokenFile, '--ca-file', join(dataDir, 'trust', 'ca.crt')];
      const args = ['agent', '--cluster', cluster, '--server', server.relay(), ...trust, ...agentArgs];
      child = startLogged(program, [...args, '--log-level', 'debug', ...more], logs, env);
    },
    pid: () => child?.pid,
    kill: (signal) => endChild(child, signal),
    signal: (signal) => void child?.kill(signal),
  };
}

const tokens = new Map<string, string>();

/** The token of a cluster of the fleet with this data directory. */
export function tokenFor(cluster: string, dataDir: string): string {
  const key = `${dataDir} ${cluster}`;
  const known = tokens.get(key);
  if (known !== undefined) return known;
  const secret = Buffer.from(readFileSync(join(dataDir, 'trust', 'relay-secret'), 'utf8').trim(), 'hex');
  const token = clusterToken(secret, must(parseClusterName(cluster)));
  tokens.set(key, token);
  return token;
}

function startLogged(
  program: string,
  args: readonly string[],
  logs: Readonly<Record<string, unknown>>[],
  env: Readonly<Record<string, string>> = {},
): ChildProcess {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...env },
  });
  if (child.stderr === null) throw new Error('the process has no error output');
  createInterface({ input: child.stderr }).on('line', (line) => {
    try {
      logs.push(JSON.parse(line) as Readonly<Record<string, unknown>>);
    } catch {
      logs.push({ message: line });
    }
  });
  return child;
}

async function endChild(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  // A stopped process takes no signal but this one.
  if (signal !== 'SIGKILL') child.kill('SIGCONT');
  await ended;
}
