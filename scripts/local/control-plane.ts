import { generateKeyPairSync } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { KubernetesPrograms } from './kubernetes-programs.ts';
import { type LoggedProgram, runProgram, startProgram } from './logged-program.ts';

/** A real kube-apiserver on loopback, with an etcd of its own or a share of another's. */
export interface ControlPlane {
  /** `https://127.0.0.1:PORT`. */
  readonly url: string;
  readonly folder: string;
  /** Address of its etcd, and the prefix of this control plane's keys in it. */
  readonly etcd: { readonly url: string; readonly prefix: string };
  /** Path of the kubeconfig of `admin` or of one of {@link ControlPlaneOptions.users}. */
  kubeconfig(user?: string): string;
  /** Runs kubectl to its end, as `admin` unless a user is named. `input` is its stdin. Rejects with its output if it fails. */
  kubectl(args: readonly string[], options?: { readonly input?: string; readonly user?: string }): Promise<string>;
  /** Sends SIGKILL to the API server; its data stays in etcd. */
  killApiServer(): Promise<void>;
  /** Starts it again on the same port. */
  startApiServer(): Promise<void>;
  /** Suspends or resumes it (SIGSTOP, SIGCONT), or tells it to end (SIGTERM). */
  signalApiServer(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGTERM'): void;
  stop(): Promise<void>;
}

export interface ControlPlaneOptions {
  readonly programs: KubernetesPrograms;
  /** The control plane creates its own folder in this one, and removes it at the end. */
  readonly parent: string;
  /** Users beside `admin`, a member of `system:masters`; each with its groups. */
  readonly users?: Readonly<Record<string, readonly string[]>>;
  /** Uses the etcd of this control plane, which must be stopped later. */
  readonly sharedWith?: Pick<ControlPlane, 'etcd'>;
  readonly apiServerArgs?: readonly string[];
}

const READY_MS = 60_000;
const LOOK_EVERY_MS = 100;

/** Starts a control plane; takes about 4 s. Rejects with the last log lines of the program that failed. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { programs, sharedWith, users = {} } = options;
  const folder = await mkdtemp(join(options.parent, 'fleetrelay-kubernetes-'));
  const running: { etcd?: LoggedProgram; apiServer?: LoggedProgram } = {};
  const stop = async (): Promise<void> => {
    await running.apiServer?.end('SIGKILL');
    await running.etcd?.end('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  };
  try {
    // Unique in an etcd that several control planes share.
    const prefix = `/${folder.split('/').at(-1) ?? 'registry'}`;
    const etcdUrl = sharedWith?.etcd.url ?? `http://127.0.0.1:${await freePort()}`;
    const etcd = { url: etcdUrl, prefix };
    if (sharedWith === undefined) running.etcd = await startEtcd(programs, folder, etcdUrl);
    const port = await freePort();
    const url = `https://127.0.0.1:${port}`;
    await writeIdentity(folder, users);
    const args = [...apiServerArgs(folder, etcd, port), ...(options.apiServerArgs ?? [])];
    const startApiServer = async (): Promise<void> => {
      running.apiServer = startProgram(programs.apiServer, args, join(folder, 'kube-apiserver.log'));
      await untilReady(url, running.apiServer);
    };
    await startApiServer();
    const names = ['admin', ...Object.keys(users)];
    for (const user of names) await writeKubeconfig(folder, url, user);
    const kubeconfig = (user = 'admin'): string => kubeconfigPath(folder, user);
    return {
      url,
      folder,
      etcd,
      kubeconfig,
      kubectl: (words, { input, user } = {}) => runKubectl(programs, folder, kubeconfig(user), words, input),
      killApiServer: async () => running.apiServer?.end('SIGKILL'),
      startApiServer,
      signalApiServer: (signal) => running.apiServer?.signal(signal),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A port of 127.0.0.1 that was free a moment ago. */
export function freePort(): Promise<number> {
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

function apiServerArgs(folder: string, etcd: ControlPlane['etcd'], port: number): readonly string[] {
  return [
    ...['--etcd-servers', etcd.url, '--etcd-prefix', etcd.prefix],
    ...['--secure-port', String(port), '--bind-address', '127.0.0.1', '--cert-dir', join(folder, 'certs')],
    ...['--service-account-issuer', 'https://localhost', '--service-account-key-file', join(folder, 'sa.pub')],
    ...['--service-account-signing-key-file', join(folder, 'sa.key')],
    ...['--token-auth-file', join(folder, 'tokens.csv'), '--authorization-mode', 'RBAC'],
    ...['--service-cluster-ip-range', '10.0.0.0/16', '--disable-admission-plugins', 'ServiceAccount'],
    '--allow-privileged=true',
  ];
}

async function writeIdentity(folder: string, users: Readonly<Record<string, readonly string[]>>): Promise<void> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  const secret = { mode: 0o600 };
  await writeFile(join(folder, 'sa.key'), privateKey, secret);
  await writeFile(join(folder, 'sa.pub'), publicKey);
  const groupsOf = { admin: ['system:masters'], ...users };
  const lines = Object.entries(groupsOf).map(([user, groups]) => `token-${user},${user},${user},"${groups.join(',')}"`);
  await writeFile(join(folder, 'tokens.csv'), `${lines.join('\n')}\n`, secret);
  await mkdir(join(folder, 'certs'), { recursive: true });
}

function kubeconfigPath(folder: string, user: string): string {
  return join(folder, `${user.replaceAll(/[^A-Za-z0-9-]/g, '_')}.kubeconfig`);
}

async function writeKubeconfig(folder: string, url: string, user: string): Promise<void> {
  const ca = (await readFile(join(folder, 'certs', 'apiserver.crt'))).toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'local', cluster: { server: url, 'certificate-authority-data': ca } }],
    users: [{ name: user, user: { token: `token-${user}` } }],
    contexts: [{ name: 'local', context: { cluster: 'local', user } }],
    'current-context': 'local',
  };
  await writeFile(kubeconfigPath(folder, user), JSON.stringify(config), { mode: 0o600 });
}

async function startEtcd({ etcd }: KubernetesPrograms, folder: string, url: string): Promise<LoggedProgram> {
  const program = startProgram(
    etcd,
    [
      ...['--data-dir', join(folder, 'etcd'), '--listen-client-urls', url, '--advertise-client-urls', url],
      ...['--listen-peer-urls', 'http://127.0.0.1:0', '--unsafe-no-fsync', '--log-level', 'error'],
    ],
    join(folder, 'etcd.log'),
  );
  await untilTrue('etcd is healthy', program, async () => {
    const signal = AbortSignal.timeout(2_000);
    return (await fetch(`${url}/health`, { signal }).catch(() => undefined))?.ok === true;
  });
  return program;
}

/** Waits for `/readyz`, and for the namespaces that the API server creates afterwards. */
function untilReady(url: string, program: LoggedProgram): Promise<void> {
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
  const paths = ['/readyz', '/api/v1/namespaces/kube-system', '/api/v1/namespaces/default'];
  return untilTrue('kube-apiserver is ready', program, async () => {
    for (const path of paths) if ((await ask(path)) !== 200) return false;
    return true;
  });
}

async function untilTrue(what: string, program: LoggedProgram, look: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + READY_MS;
  while (performance.now() < deadline) {
    const ended = program.endedWith();
    if (ended !== undefined) throw new Error(`${ended} before ${what}`);
    if (await look()) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  throw new Error(`not within ${READY_MS / 1000} s: ${what}\n${program.lastLines()}`);
}

function runKubectl(
  { kubectl }: KubernetesPrograms,
  folder: string,
  config: string,
  words: readonly string[],
  input: string | undefined,
): Promise<string> {
  // Another control plane may get the same port: it must not find this one's discovery cache.
  const cache = ['--cache-dir', join(folder, 'kubectl-cache')];
  return runProgram(kubectl, ['--kubeconfig', config, ...cache, ...words], input);
}
