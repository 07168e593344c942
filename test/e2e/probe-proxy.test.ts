import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { load } from 'js-yaml';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { PROGRAM } from '../support/fleet-processes.ts';
import { freePort } from '../support/free-port.ts';
import {
  grpcApplication,
  httpApplication,
  httpsApplication,
  type ProbedApplication,
} from '../support/probed-applications.ts';

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs fleetrelay to its end. */
async function run(args: readonly string[], input = ''): Promise<Ended> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { timeout: 120_000 });
  child.stdin.end(input);
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, out, err };
}

/** A probe proxy as a process. */
interface RunningProxy {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
}

/** Starts a probe proxy and waits until it listens. */
async function startProxy(args: readonly string[]): Promise<RunningProxy> {
  const child = spawn(process.execPath, [PROGRAM, 'probe-proxy', ...args], { stdio: ['ignore', 'inherit', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'close').then(([code]) => code);
  const log: string[] = [];
  const isUp = Promise.withResolvers<void>();
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
    log.push(piece);
    if (piece.includes('the probe proxy is up')) isUp.resolve();
  });
  await Promise.race([isUp.promise, ended]);
  expect(log.join('')).toContain('the probe proxy is up');
  return { child, ended };
}

interface HttpGet {
  readonly path: string;
  readonly port: number;
  readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[];
}

/** Sends a probe as the kubelet does: to the address of the Pod, with the headers of the probe. */
async function kubelet({ path, port, httpHeaders = [] }: HttpGet): Promise<string> {
  const headers = Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value]));
  const sent = request({
    host: '127.0.0.1',
    port,
    path,
    headers: { 'User-Agent': 'kube-probe/1.36', Accept: '*/*', ...headers },
  });
  sent.end();
  const [answer] = await once(sent, 'response');
  return `${answer.statusCode} ${await text(answer)}`;
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fleetrelay-probe-proxy-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function started<App extends ProbedApplication>(app: App): App {
  onTestFinished(() => app.stop());
  return app;
}

interface Pod {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec: {
    readonly containers: readonly Readonly<Record<string, { readonly httpGet: HttpGet }>>[];
    readonly initContainers: readonly {
      readonly name: string;
      readonly args: readonly string[];
      readonly startupProbe: { readonly httpGet: HttpGet };
    }[];
  };
}

test('the probes that inject writes pass the proxy that it adds, and no others', async () => {
  const hosts: (string | undefined)[] = [];
  let status = 200;
  const http = started(
    await httpApplication((asked, response) => {
      hosts.push(asked.headers.host);
      response.writeHead(status).end();
    }),
  );
  const https = started(await httpsApplication((_asked, response) => response.end()));
  const grpc = started(await grpcApplication(({ service }) => (service === 'up' ? 1 : 2)));
  const port = await freePort();
  const manifest = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: a
    ports: [{name: web, containerPort: ${http.port}}]
    livenessProbe: {httpGet: {path: /ä/live?x=1, port: web, httpHeaders: [{name: host, value: web.example}]}, timeoutSeconds: 60}
    readinessProbe: {httpGet: {path: /ready, port: ${https.port}, scheme: HTTPS}, timeoutSeconds: 60}
    startupProbe: {tcpSocket: {port: web}, timeoutSeconds: 60}
  - name: b
    livenessProbe: {grpc: {port: ${grpc.port}, service: up}, timeoutSeconds: 60}
    readinessProbe: {grpc: {port: ${grpc.port}, service: down}, timeoutSeconds: 60}
`;
  const injected = await run(['inject', '-f', '-', `--application-probe-proxy-port=${port}`], manifest);
  expect(injected).toMatchObject({ code: 0, err: '' });
  const { metadata, spec } = load(injected.out) as Pod;
  const [proxy] = spec.initContainers;
  const list = join(folder, 'probes.json');
  await writeFile(list, metadata.annotations['fleetrelay.dev/probes'] ?? '');
  const args = (proxy?.args ?? [])
    .slice(1)
    .map((arg) => arg.replace('$(POD_IP)', '127.0.0.1').replace(/^--probes=.*/, `--probes=${list}`));
  await startProxy(args);

  const [a, b] = spec.containers;
  const probe = (of: (typeof spec.containers)[0] | undefined, name: string) => {
    const { path = '', ...rest } = of?.[`${name}Probe`]?.httpGet ?? { port };
    return kubelet({ ...rest, path: encodeURI(path) });
  };
  expect(await kubelet(proxy?.startupProbe.httpGet ?? { path: '', port })).toBe('200 READY\n');
  expect(await probe(a, 'liveness')).toBe('200 HEALTHY\n');
  expect(hosts).toEqual(['web.example']);
  expect(await probe(a, 'readiness')).toBe('200 HEALTHY\n');
  expect(await probe(a, 'startup')).toBe('200 HEALTHY\n');
  expect(await probe(b, 'liveness')).toBe('200 HEALTHY\n');
  expect(await probe(b, 'readiness')).toBe('503 UNHEALTHY\n');
  status = 500;
  expect(await probe(a, 'liveness')).toBe('500 UNHEALTHY\n');
  await http.stop();
  expect(await probe(a, 'startup')).toBe('503 UNHEALTHY\n');
  expect(await kubelet({ path: `/${grpc.port}/`, port })).toBe('503 UNKNOWN\n');
});

test('a Pod without proxy has Virtual Probes at their own port', async () => {
  const http = started(await httpApplication((_asked, response) => response.end()));
  const port = await freePort();
  const list = join(folder, 'virtual.json');
  await writeFile(list, JSON.stringify([{ type: 'virtual', port: http.port, path: '/x', timeoutSeconds: 60 }]));
  await startProxy([`--virtual-probes-port=${port}`, '--pod-ip=127.0.0.1', `--probes=${list}`]);
  expect(await kubelet({ path: `/${http.port}/x`, port })).toBe('200 HEALTHY\n');
  expect(await kubelet({ path: '/ready', port })).toBe('404 UNKNOWN\n');
});

test('after SIGTERM probes are still answered; a second one ends the process', async () => {
  const http = started(await httpApplication((_asked, response) => response.end()));
  const port = await freePort();
  const { child, ended } = await startProxy([`--port=${port}`, '--pod-ip=127.0.0.1']);
  expect(await kubelet({ path: '/ready', port })).toBe('200 READY\n');
  // The reader of its log may end before it does.
  child.stderr?.destroy();
  child.kill('SIGTERM');
  await expect.poll(() => kubelet({ path: '/ready', port })).toBe('503 TERMINATING\n');
  expect(await kubelet({ path: `/${http.port}/`, port })).toBe('200 HEALTHY\n');
  expect(await kubelet({ path: '/metrics', port })).toContain(
    'fleetrelay_probe_requests_total{type="http",outcome="healthy"} 1\n',
  );
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
});

test('without a second signal the process ends by itself', async () => {
  const port = await freePort();
  const { child, ended } = await startProxy([`--port=${port}`, '--pod-ip=127.0.0.1']);
  child.kill('SIGINT');
  expect(await ended).toBe(0);
});

test('what keeps the proxy from starting is said in one line', async () => {
  const port = await freePort();
  await startProxy([`--port=${port}`, '--pod-ip=127.0.0.1']);
  expect(await run(['probe-proxy', `--port=${port}`, '--pod-ip=127.0.0.1'])).toEqual({
    code: 1,
    out: '',
    err: `fleetrelay: cannot listen on port ${port}: another process listens there\n`,
  });
  const list = join(folder, 'wrong.json');
  expect(await run(['probe-proxy', '--pod-ip=127.0.0.1', `--probes=${list}`])).toMatchObject({
    code: 1,
    err: expect.stringContaining('cannot read the list of probes: ENOENT'),
  });
  await writeFile(list, '[3]');
  expect(await run(['probe-proxy', '--pod-ip=127.0.0.1', `--probes=${list}`])).toMatchObject({
    code: 1,
    err: `fleetrelay: cannot read the list of probes ${list}: item 0 is no probe\n`,
  });
  expect(await run(['probe-proxy', '--help'])).toMatchObject({
    code: 0,
    err: '',
    out: expect.stringContaining('--pod-ip'),
  });
  expect(await run(['help', 'probe-proxy'])).toMatchObject({
    code: 0,
    err: '',
    out: expect.stringContaining('--pod-ip'),
  });
});

test('inject refuses with exit code 1 and the place in the file', async () => {
  const manifest =
    'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: a\n    livenessProbe: {tcpSocket: {port: 9001}}\n';
  expect(await run(['inject', '-f', '-'], manifest)).toEqual({
    code: 1,
    out: '',
    err: "-:7:39: error: Pod web: cannot override Pod's probes. Port for probe cannot be set to 9001. It is reserved for the dataplane that will serve pods without mTLS.\n",
  });
});
