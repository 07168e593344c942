import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { load } from 'js-yaml';
import { createSmartHttpServer } from '../../scripts/local/smart-http-server.ts';
import type { FleetView, OutputView } from '../../src/api/server-api.ts';
import { parseClusterName } from '../../src/model/fleet/ids.ts';
import type { SourceAllow } from '../../src/model/fleet/source-rights.ts';
import { must } from '../../src/model/values/result.ts';
import { connectionToken, type TokenUse } from '../../src/relay/trust/tokens.ts';
import { apiFetch } from './api-fetch.ts';
import { freePort } from './free-port.ts';
import { createGitSandbox, type GitSandbox, type PushOptions } from './git-sandbox.ts';
import { type ClusterPool, directoryClusters, type TestCluster } from './test-clusters.ts';
import { lastingToken } from './tokens.ts';

/** The file that Node runs: what FLEETRELAY_PROGRAM names (the bundle in tests, see `installed-bundle.ts`), else fleetrelay from its sources. */
export const PROGRAM =
  process.env.FLEETRELAY_PROGRAM ?? fileURLToPath(new URL('../../bin/fleetrelay.cjs', import.meta.url));
export const STATUS_BRANCH = 'fleetrelay/status/test';
/** A look at a repository over HTTP starts processes of git at both ends. */
const SELDOM_S = 30;
const TELL_MS = 60_000;
const FIRST_PAUSE_MS = 20;
/** A look may be a process or a request to a busy server: what takes long is looked at less often. */
const LONGEST_PAUSE_MS = 250;

/** A real fleet: git over smart HTTP, a server process, agent processes with clusters of some kind. */
export interface Fleet extends FleetAsked {
  readonly sandbox: GitSandbox;
  readonly bare: string;
  readonly repository: string;
  /** The file of the RelayConfig, which counts with several sources or with `config`. */
  readonly configFile: string;
  /** Writes the RelayConfig anew, for the next start of a server. */
  configure(configured: Configured): void;
  readonly server: ServerProcess;
  readonly dataDir: string;
  /**
   * Another server of this fleet, with a data directory of its own and the same relay secret; started by the test. `args` win over the first one's.
   */
  another(name: string, args?: readonly string[]): ServerProcess;
  /** Pushes files (null removes) and returns the commit; a hook tells the servers. Default: to the first source. */
  push(files: Readonly<Record<string, string | null>>, source?: string, options?: PushOptions): string;
  /** Tells the servers to look, after a push that was made past {@link push}. */
  tell(): void;
  agent(name: string): AgentProcess;
  /** The cluster of the agent of this name, empty at first. */
  cluster(name: string): Promise<TestCluster>;
  /** A live object of a cluster as text, named as in `ConfigMap/web/a`; undefined if it is not there. */
  live(cluster: string, object: string): Promise<string | undefined>;
  /** A file of the status branch, parsed; undefined if it is not there. */
  statusFile(path: string): Record<string, unknown> | undefined;
  stop(): Promise<void>;
}

/** The answers of a server of the fleet. */
export interface FleetAsked {
  status(): Promise<FleetView>;
  /** The server's report on one object; undefined if it knows none. */
  output(cluster: string, object: string): Promise<OutputView | undefined>;
  /** Runs a command against the server; rejects if it fails. */
  cli(...args: string[]): Promise<string>;
}

export interface ServerProcess {
  readonly dataDir: string;
  readonly logs: readonly Readonly<Record<string, unknown>>[];
  relay(): string;
  http(): string;
  /** Where health and metrics are; another place after each start. */
  metrics(): string;
  /** `program`: the file that Node runs this time, in place of the fleet's own. */
  start(program?: string): Promise<void>;
  /** Of the process that was started last; undefined before. */
  pid(): number | undefined;
  kill(signal: NodeJS.Signals): Promise<void>;
  signal(signal: NodeJS.Signals): void;
}

export interface AgentProcess {
  readonly logs: readonly Readonly<Record<string, unknown>>[];
  /**
   * `cluster`: the name that it claims; `token`: whose token it shows. Further arguments win over its cluster's.
   * Resolves when the process is started, not when it is up.
   */
  start(options?: {
    readonly token?: string;
    /** Of the token (default: `enrolment`). */
    readonly use?: TokenUse;
    readonly cluster?: string;
    readonly args?: readonly string[];
    /** It is given none. */
    readonly withoutToken?: boolean;
    /** Beside this process's own environment. */
    readonly env?: Readonly<Record<string, string>>;
    /** The file that Node runs this time, in place of the fleet's own. */
    readonly program?: string;
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
  deadlineMs = 90_000,
): Promise<Value> {
  const end = performance.now() + deadlineMs;
  let problem: unknown;
  for (let pause = FIRST_PAUSE_MS; performance.now() < end; pause = Math.min(pause * 1.2, LONGEST_PAUSE_MS)) {
    const seen = await Promise.resolve()
      .then(look)
      .catch((error: unknown) => {
        problem = error;
        return undefined;
      });
    if (seen !== undefined && seen !== false) return seen;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  throw new Error(`this did not happen: ${what}${problem === undefined ? '' : ` (${String(problem)})`}`);
}

/** What a test says in a RelayConfig. */
export interface Configured {
  /** By the name of the source. */
  readonly allow?: Readonly<Record<string, SourceAllow>>;
  /** Other fields of the document. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** How the server of a fleet is started. */
export interface FleetOptions {
  /** Seconds between two looks at the repository, and no hook tells of a push. Otherwise a hook does, and they look seldom. */
  readonly poll?: number;
  /** Follow this folder instead of the repository. */
  readonly watch?: string;
  /** Further sources beside `fleet`, by name: a repository each, with these files. */
  readonly sources?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** The RelayConfig of the servers, beside their sources. */
  readonly config?: Configured;
  /** More arguments of `fleetrelay serve`. */
  readonly serve?: readonly string[];
  /** For servers, beside this process's own environment. */
  readonly serverEnv?: Readonly<Record<string, string>>;
  /** HOST:PORT that the agent of this name dials; the server's own if left out. */
  readonly dial?: (agent: string) => Promise<string>;
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
  const bares = new Map([['fleet', bare]]);
  for (const [name, contents] of Object.entries(options.sources ?? {})) {
    bares.set(name, sandbox.bare(name));
    sandbox.push(bares.get(name) ?? '', contents);
  }
  const dataDir = join(sandbox.path, 'server');
  const poll = options.poll ?? SELDOM_S;
  const one = options.watch === undefined ? ['--repo', repository, '--poll', `${poll}`] : ['--folder', options.watch];
  const configFile = join(sandbox.path, 'relay.yaml');
  const configure = (configured: Configured): void =>
    writeFileSync(configFile, configText(url, { names: [...bares.keys()], poll }, configured));
  configure(options.config ?? {});
  const following = bares.size === 1 && options.config === undefined ? one : ['--config', configFile];
  const { program = PROGRAM, serverEnv } = options;
  const args = [...following, ...(options.serve ?? [])];
  const server = createServerProcess(program, args, dataDir, { env: serverEnv });
  const { dial = async () => server.relay() } = options;
  const others: ServerProcess[] = [];
  const agents = new Map<string, AgentProcess>();
  const pool = options.clusters ?? directoryClusters.open();
  const clusters = new Map<string, Promise<TestCluster>>();
  const cluster = (name: string): Promise<TestCluster> => {
    const taken = clusters.get(name) ?? pool.take(join(sandbox.path, 'clusters', name));
    clusters.set(name, taken);
    return taken;
  };
  const tell = (): void => {
    for (const each of [server, ...others]) tellOfPush(each);
  };
  const stop = async (): Promise<void> => {
    await Promise.all([...agents.values()].map((agent) => agent.kill('SIGKILL')));
    await Promise.allSettled(clusters.values());
    pool.release();
    await Promise.all([server, ...others].map((one) => one.kill('SIGKILL')));
    await git.stop();
    sandbox.remove();
  };
  try {
    await server.start();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    ...asking(server),
    sandbox,
    bare,
    configFile,
    configure,
    repository,
    server,
    dataDir,
    another: (name, more = []) => {
      const other = createServerProcess(program, [...args, ...more], join(sandbox.path, name), {
        secretOf: dataDir,
        env: serverEnv,
      });
      others.push(other);
      return other;
    },
    push: (changes, source = 'fleet', how = {}) => {
      const commit = sandbox.push(bares.get(source) ?? source, changes, how);
      if (options.poll === undefined) tell();
      return commit;
    },
    tell,
    agent: (name) => {
      const agent =
        agents.get(name) ??
        createAgentProcess(name, () => cluster(name), { program, root: sandbox.path, dataDir, dial });
      agents.set(name, agent);
      return agent;
    },
    cluster,
    live: async (name, object) => (await cluster(name)).live(object),
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

/** The configuration that follows these repositories. */
function configText(
  url: string,
  { names, poll }: { readonly names: readonly string[]; readonly poll: number },
  { allow = {}, fields = {} }: Configured,
): string {
  return JSON.stringify({
    apiVersion: 'fleetrelay.dev/v1alpha1',
    kind: 'RelayConfig',
    fleet: { name: 'test' },
    sources: names.map((name) => ({
      name,
      git: { url: `${url}/${name}.git`, pollIntervalSeconds: poll },
      allow: allow[name],
    })),
    status: { git: { enabled: false } },
    ...fields,
  });
}

/** A server that does not run reads the repository when it starts; a stopped one receives the call when it continues. */
function tellOfPush(server: Pick<ServerProcess, 'pid' | 'http'>): void {
  if (server.pid() === undefined) return;
  const signal = AbortSignal.timeout(TELL_MS);
  void apiFetch(`${server.http()}/hooks/git`, { method: 'POST', signal }).catch(() => undefined);
}

/** What one server answers. */
export function asking(server: Pick<ServerProcess, 'http'>): FleetAsked {
  return {
    status: async () => (await (await apiFetch(`${server.http()}/api/v1/status`)).json()) as FleetView,
    output: async (name, object) => {
      const response = await apiFetch(`${server.http()}/api/v1/outputs?cluster=${name}`);
      const { items } = (await response.json()) as { readonly items: readonly OutputView[] };
      return items.find((output) => output.object === object);
    },
    cli: (...args) => runCli([...args, '--api', server.http()]),
  };
}

/** Runs fleetrelay to its end; rejects with what it said if it fails. */
export async function runCli(args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...args], {
    timeout: 120_000,
    maxBuffer: 64 << 20,
  });
  return stdout;
}

function createServerProcess(
  program: string,
  following: readonly string[],
  dataDir: string,
  {
    secretOf = dataDir,
    env,
  }: { readonly secretOf?: string; readonly env: Readonly<Record<string, string>> | undefined },
): ServerProcess {
  const logs: Readonly<Record<string, unknown>>[] = [];
  let child: ChildProcess | undefined;
  // Kept over restarts, so that agents find the server again.
  let listening: { readonly relay: string; readonly http: string } | undefined;
  let metrics = '';
  const at = (): { readonly relay: string; readonly http: string } => {
    if (listening === undefined) throw new Error('the server was never started');
    return listening;
  };
  const args = (): string[] => [
    'serve',
    ...['--fleet', 'test', '--data-dir', dataDir],
    ...['--listen', at().relay, '--http', at().http, '--metrics', '127.0.0.1:0'],
    ...['--log-level', 'debug'],
    // Last, so that what a test says wins.
    ...following,
  ];
  return {
    logs,
    relay: () => at().relay,
    http: () => (at().http.startsWith('unix:') ? at().http : `http://${at().http}`),
    metrics: () => metrics,
    dataDir,
    start: async (run = program) => {
      logs.length = 0;
      shareSecret(secretOf, dataDir);
      listening ??= { relay: `127.0.0.1:${await freePort()}`, http: `127.0.0.1:${await freePort()}` };
      // Output that the earlier process has left in its pipe is not output of this one.
      const started = startLogged(run, args(), (line) => child === started && logs.push(line), env);
      child = started;
      const up = await until('the server is up', () => {
        if (started.exitCode !== null) throw new Error(`the server ended: ${JSON.stringify(logs.slice(-5))}`);
        return logs.find(({ message }) => message === 'the server is up');
      });
      metrics = String(up.metrics);
      listening = { relay: String(up.relay), http: String(up.http).replace('http://', '') };
    },
    pid: () => child?.pid,
    kill: (signal) => endChild(child, signal),
    signal: (signal) => void child?.kill(signal),
  };
}

function shareSecret(from: string, to: string): void {
  const path = (dataDir: string): string => join(dataDir, 'trust', 'relay-secret');
  if (from === to || existsSync(path(to))) return;
  mkdirSync(join(to, 'trust'), { recursive: true, mode: 0o700 });
  copyFileSync(path(from), path(to));
}

interface AgentSurroundings {
  readonly program: string;
  readonly root: string;
  readonly dataDir: string;
  readonly dial: (agent: string) => Promise<string>;
}

function createAgentProcess(
  name: string,
  home: () => Promise<TestCluster>,
  { program, root, dataDir, dial }: AgentSurroundings,
): AgentProcess {
  const logs: Readonly<Record<string, unknown>>[] = [];
  let child: ChildProcess | undefined;
  return {
    logs,
    start: async (options = {}) => {
      const { token = name, cluster = name, args: more = [], env = {}, withoutToken = false, use } = options;
      const { program: run = program } = options;
      const { agentArgs } = await home();
      const tokenFile = join(root, `${name}.token`);
      writeFileSync(tokenFile, tokenFor(token, dataDir, use));
      const shown = withoutToken ? [] : ['--token-file', tokenFile];
      const trust = [...shown, '--ca-file', join(dataDir, 'trust', 'ca.crt')];
      const args = ['agent', '--cluster', cluster, '--server', await dial(name), ...trust, ...agentArgs];
      child = startLogged(run, [...args, '--log-level', 'debug', ...more], (line) => logs.push(line), env);
    },
    pid: () => child?.pid,
    kill: (signal) => endChild(child, signal),
    signal: (signal) => void child?.kill(signal),
  };
}

const tokens = new Map<string, string>();

/** A token of a cluster of the fleet with this data directory; the same for every call. */
export function tokenFor(cluster: string, dataDir: string, use: TokenUse = 'enrolment'): string {
  const key = `${dataDir} ${cluster} ${use}`;
  const known = tokens.get(key);
  if (known !== undefined) return known;
  const secret = Buffer.from(readFileSync(join(dataDir, 'trust', 'relay-secret'), 'utf8').trim(), 'hex');
  const name = must(parseClusterName(cluster));
  const token = use === 'connection' ? connectionToken(secret, name) : lastingToken(secret, name);
  tokens.set(key, token);
  return token;
}

function startLogged(
  program: string,
  args: readonly string[],
  said: (line: Readonly<Record<string, unknown>>) => void,
  env: Readonly<Record<string, string>> = {},
): ChildProcess {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...env },
  });
  if (child.stderr === null) throw new Error('the process has no error output');
  createInterface({ input: child.stderr }).on('line', (line) => {
    try {
      said(JSON.parse(line) as Readonly<Record<string, unknown>>);
    } catch {
      said({ message: line });
    }
  });
  return child;
}

/** Above what any process takes to end (`SERVER_END_MS`). */
const LATEST_END_MS = 80_000;

async function endChild(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  // A stopped process takes no signal but this one.
  if (signal !== 'SIGKILL') child.kill('SIGCONT');
  // A server ends itself after 50 seconds. The test fails with the name of a process that takes longer.
  const held = setTimeout(() => child.kill('SIGKILL'), LATEST_END_MS);
  await ended;
  clearTimeout(held);
  // Read anew: the process has ended.
  const by: string | null = child.signalCode;
  if (by === 'SIGKILL' && signal !== 'SIGKILL') throw new Error(`process ${child.pid} did not end after ${signal}`);
}
