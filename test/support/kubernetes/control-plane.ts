import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findKubernetesBinaries, type KubernetesBinaries } from './binaries.ts';

/** A real kube-apiserver on loopback, with an etcd of its own or a share of another's. */
export interface ControlPlane {
  /** `https://127.0.0.1:PORT`. */
  readonly url: string;
  readonly folder: string;
  /** Path of a kubeconfig for this user; the user is made by {@link ControlPlaneOptions.users}. Default `admin`. */
  kubeconfig(user?: string): string;
  /** Runs kubectl as `admin` (or the user) to its end; rejects with what it said if it fails. `input` goes to its stdin. */
  kubectl(args: readonly string[], options?: { readonly input?: string; readonly user?: string }): Promise<string>;
  /** kubectl with `-o json`, parsed. */
  get<Value = Record<string, unknown>>(...args: string[]): Promise<Value>;
  /** Ends the API server as a crash would; its data stays with etcd. */
  killApiServer(): Promise<void>;
  /** Starts it again on the same port. */
  startApiServer(): Promise<void>;
  /** Suspends or resumes it (SIGSTOP, SIGCONT). */
  signalApiServer(signal: 'SIGSTOP' | 'SIGCONT'): void;
  /** Compacts etcd up to now, so that every older resourceVersion is gone (410). */
  compact(): Promise<void>;
  stop(): Promise<void>;
}

export interface ControlPlaneOptions {
  /** Users beside `admin` (who may do everything), each with its groups. */
  readonly users?: Readonly<Record<string, readonly string[]>>;
  /** Also runs kube-controller-manager: namespaces end, garbage is collected, Deployments roll out up to their pods. */
  readonly controllers?: boolean;
  /** Shares the etcd of this one, which must outlive it. */
  readonly sharedWith?: ControlPlane;
  readonly apiServerArgs?: readonly string[];
}

interface Etcd {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

const etcds = new WeakMap<ControlPlane, Etcd>();
let prefixes = 0;

/** Starts a control plane; ready in about 4 s. Rejects if its programs are not there. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const binaries = findKubernetesBinaries();
  if (binaries === undefined) throw new Error('no Kubernetes programs; see README, "Tests on Kubernetes"');
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-kube-'));
  const shared = options.sharedWith && etcds.get(options.sharedWith);
  const etcd = shared ?? (await startEtcd(binaries, folder));
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  writeIdentity(folder, options.users ?? {});
  const args = apiServerArgs(folder, etcd.url, port, options);
  let apiServer = startLogged(binaries.apiServer, args, join(folder, 'kube-apiserver.log'));
  const ready = (): Promise<void> => untilReady(url, folder, apiServer);
  const kubeconfig = (user = 'admin'): string => writeKubeconfig(folder, url, user);
  let controllers: ChildProcess | undefined;
  const stop = async (): Promise<void> => {
    await end(controllers, 'SIGKILL');
    await end(apiServer, 'SIGKILL');
    if (shared === undefined) await etcd.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const plane: ControlPlane = {
    url,
    folder,
    kubeconfig,
    kubectl: (words, { input, user } = {}) => runKubectl(binaries, kubeconfig(user), words, input),
    get: async (...words) => JSON.parse(await runKubectl(binaries, kubeconfig(), ['get', ...words, '-o', 'json'])),
    killApiServer: () => end(apiServer, 'SIGKILL'),
    startApiServer: async () => {
      apiServer = startLogged(binaries.apiServer, args, join(folder, 'kube-apiserver.log'));
      await ready();
    },
    signalApiServer: (signal) => void apiServer.kill(signal),
    compact: () => compact(etcd.url),
    stop,
  };
  etcds.set(plane, etcd);
  try {
    await ready();
    if (options.controllers === true) controllers = await startControllers(binaries, folder, kubeconfig());
  } catch (error) {
    await stop();
    throw error;
  }
  return plane;
}

function apiServerArgs(folder: string, etcd: string, port: number, options: ControlPlaneOptions): readonly string[] {
  return [
    ...['--etcd-servers', etcd, '--etcd-prefix', `/registry-${process.pid}-${++prefixes}`],
    ...['--secure-port', String(port), '--bind-address', '127.0.0.1', '--cert-dir', join(folder, 'certs')],
    ...['--service-account-issuer', 'https://localhost', '--service-account-key-file', join(folder, 'sa.pub')],
    ...['--service-account-signing-key-file', join(folder, 'sa.key')],
    ...['--token-auth-file', join(folder, 'tokens.csv'), '--authorization-mode', 'RBAC'],
    ...['--service-cluster-ip-range', '10.0.0.0/16', '--disable-admission-plugins', 'ServiceAccount'],
    '--allow-privileged=true',
    ...(options.apiServerArgs ?? []),
  ];
}

function writeIdentity(folder: string, users: Readonly<Record<string, readonly string[]>>): void {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  writeFileSync(join(folder, 'sa.key'), privateKey);
  writeFileSync(join(folder, 'sa.pub'), publicKey);
  const everybody = { admin: ['system:masters'], ...users };
  const lines = Object.entries(everybody).map(
    ([user, groups]) => `token-${user},${user},${user},"${groups.join(',')}"`,
  );
  writeFileSync(join(folder, 'tokens.csv'), `${lines.join('\n')}\n`);
  mkdirSync(join(folder, 'certs'), { recursive: true });
}

function writeKubeconfig(folder: string, url: string, user: string): string {
  const path = join(folder, `${user.replaceAll(/[^A-Za-z0-9-]/g, '_')}.kubeconfig`);
  const ca = readFileSync(join(folder, 'certs', 'apiserver.crt')).toString('base64');
  writeFileSync(
    path,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'test', cluster: { server: url, 'certificate-authority-data': ca } }],
      users: [{ name: user, user: { token: `token-${user}` } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user } }],
      'current-context': 'test',
    }),
    { mode: 0o600 },
  );
  return path;
}

async function startEtcd({ etcd }: KubernetesBinaries, folder: string): Promise<Etcd> {
  const url = `http://127.0.0.1:${await freePort()}`;
  const child = startLogged(
    etcd,
    [
      ...['--data-dir', join(folder, 'etcd'), '--listen-client-urls', url, '--advertise-client-urls', url],
      ...['--listen-peer-urls', 'http://127.0.0.1:0', '--unsafe-no-fsync', '--log-level', 'error'],
    ],
    join(folder, 'etcd.log'),
  );
  await untilOk(`${url}/health`, child, {});
  return { url, stop: () => end(child, 'SIGKILL') };
}

async function startControllers(binaries: KubernetesBinaries, folder: string, config: string): Promise<ChildProcess> {
  if (binaries.controllerManager === undefined) throw new Error('kube-controller-manager is not there');
  const child = startLogged(
    binaries.controllerManager,
    [
      ...['--kubeconfig', config, '--authentication-kubeconfig', config, '--authorization-kubeconfig', config],
      ...['--service-account-private-key-file', join(folder, 'sa.key'), '--leader-elect=false'],
      ...['--bind-address', '127.0.0.1', '--secure-port', String(await freePort())],
      ...['--cert-dir', join(folder, 'controller-certs')],
    ],
    join(folder, 'kube-controller-manager.log'),
  );
  return child;
}

/** `/readyz` of the API server, and the namespaces that it makes after it. */
async function untilReady(url: string, folder: string, child: ChildProcess): Promise<void> {
  const { request } = await import('node:https');
  const ask = (path: string): Promise<number> =>
    new Promise((resolve) => {
      const headers = { authorization: 'Bearer token-admin' };
      const asked = request(`${url}${path}`, { rejectUnauthorized: false, headers, timeout: 2_000 }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      asked.on('error', () => resolve(0));
      asked.on('timeout', () => asked.destroy());
      asked.end();
    });
  await until(`the API server is ready (its log is in ${folder})`, child, async () => {
    if ((await ask('/readyz')) !== 200) return false;
    return (await ask('/api/v1/namespaces/kube-system')) === 200 && (await ask('/api/v1/namespaces/default')) === 200;
  });
}

async function untilOk(url: string, child: ChildProcess, init: RequestInit): Promise<void> {
  await until(`${url} answers`, child, async () => {
    const response = await fetch(url, init).catch(() => undefined);
    return response?.ok === true;
  });
}

async function until(what: string, child: ChildProcess, look: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`the program ended before this: ${what}`);
    if (await look()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`this did not happen: ${what}`);
}

async function compact(etcd: string): Promise<void> {
  const post = async (path: string, body: unknown): Promise<{ header: { revision: string } }> => {
    const response = await fetch(`${etcd}/v3/kv/${path}`, { method: 'POST', body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`etcd answered ${response.status} to ${path}: ${await response.text()}`);
    return (await response.json()) as { header: { revision: string } };
  };
  const { header } = await post('range', { key: Buffer.from('none').toString('base64') });
  await post('compaction', { revision: header.revision, physical: true });
}

async function runKubectl(
  { kubectl }: KubernetesBinaries,
  config: string,
  args: readonly string[],
  input?: string,
): Promise<string> {
  const running = promisify(execFile)(kubectl, ['--kubeconfig', config, ...args], {
    timeout: 60_000,
    maxBuffer: 256 * 1024 * 1024,
  });
  if (input !== undefined) running.child.stdin?.end(input);
  return (await running).stdout;
}

function startLogged(program: string, args: readonly string[], log: string): ChildProcess {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const file = createWriteStream(log, { flags: 'a' });
  child.stdout?.pipe(file, { end: false });
  child.stderr?.pipe(file, { end: false });
  return child;
}

async function end(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await ended;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
