import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/fleet-processes.ts';

const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-starts-'));
const taken: Server = createServer();
let port = 0;

beforeAll(async () => {
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const address = taken.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
  mkdirSync(join(folder, 'watched'));
  writeFileSync(join(folder, 'file'), 'this is a file\n');
  writeFileSync(join(folder, 'east.token'), 'frt1_none\n');
  execFileSync('mkfifo', [join(folder, 'pipe')]);
});

afterAll(async () => {
  await new Promise<void>((resolve) => taken.close(() => resolve()));
  rmSync(folder, { recursive: true, force: true });
});

interface Ended {
  /** Null: a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly said: string;
  readonly out: string;
}

/** Runs a process that must end by itself: SIGKILL comes after two minutes. `asked` is sent when it has said this. */
function run(
  args: readonly string[],
  { env = {}, stopAt }: { readonly env?: Readonly<Record<string, string>>; readonly stopAt?: RegExp } = {},
): Promise<Ended> {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000,
    killSignal: 'SIGKILL',
  });
  let [out, said] = ['', ''];
  child.stdout.on('data', (text: Buffer) => {
    out += text.toString();
  });
  child.stderr.on('data', (text: Buffer) => {
    if (stopAt?.test(said) === false && stopAt.test(said + text.toString())) child.kill('SIGTERM');
    said += text.toString();
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, said, out }));
  });
}

/** Starts of a server in which each part in turn fails, or takes for ever. */
async function startsWithFaults(mode: 'fail' | 'hang') {
  const at = join(folder, mode);
  mkdirSync(at);
  const { code, out, said } = await run([join(import.meta.dirname, '../support/failing-starts.ts'), mode, at]);
  const lines = out.trim().split('\n');
  return {
    code,
    said,
    starts: lines.map((line) => JSON.parse(line) as { part: string; said: string; held?: string[] }),
  };
}

test('a server of which any part fails at the start says so, and nothing of it is left', async () => {
  const { code, starts } = await startsWithFaults('fail');
  expect(starts.length).toBeGreaterThan(15);
  for (const { part, said, held } of starts) expect([said, held]).toEqual([`a fault in ${part}`, []]);
  expect(code).toBe(0);
});

test('a server that is asked to end while any part is being opened ends, and names that part', async () => {
  const { code, starts } = await startsWithFaults('hang');
  expect(starts.length).toBeGreaterThan(15);
  for (const { part, said } of starts) expect(said).toBe(`not everything could be closed in time: ${part}`);
  expect(code).toBe(0);
});

const addresses = ['--listen', '--http', '--metrics'].flatMap((flag) => [flag, '127.0.0.1:0']);
const server = ['serve', '--folder', 'watched', ...addresses];
const agent = ['agent', '--cluster', 'east', '--server', '127.0.0.1:9', '--insecure', '--token-file', 'east.token'];
const LONG = `/tmp/${'a'.repeat(200)}/socket`;

/** The fault, the arguments of the process, and the message on standard error. */
const FAULTS: readonly (readonly [string, readonly string[], string | RegExp])[] = [
  ['a configuration that is a folder', ['serve', '--config', 'watched'], 'cannot be read'],
  ['a data directory below /proc', [...server, '--data-dir', '/proc/x'], 'the data directory /proc/x cannot be made'],
  ['a data directory below a file', [...server, '--data-dir', 'file/x'], 'file/x cannot be made'],
  [
    'a data directory on a device',
    [...server, '--data-dir', '/dev/full'],
    'the data directory /dev/full cannot be made',
  ],
  [
    'a data directory in a file system that takes none',
    [...server, '--data-dir', '/sys/x'],
    'the data directory /sys/x cannot be made',
  ],
  ['a store that is a folder', [...server, '--data-dir', 'd1', '--store', 'sqlite:watched'], /watched/],
  [
    'a store of another program',
    [...server, '--data-dir', 'd2', '--store', 'sqlite:/dev/full'],
    'the store /dev/full cannot be used: database or disk is full',
  ],
  ['a relay secret that is missing', [...server, '--data-dir', 'd3', '--relay-secret-file', 'absent'], 'absent'],
  [
    'a certificate that is missing',
    [...server, '--data-dir', 'd4', '--tls-cert-file', 'absent', '--tls-key-file', 'absent'],
    'absent',
  ],
  [
    'replicas without a store for them',
    [...server, '--data-dir', 'd5', '--replicas', 'several'],
    'several replicas need a store',
  ],
  [
    'an API that would know no caller',
    [...server, '--data-dir', 'd6', '--http', '0.0.0.0:0'],
    'would know no caller on 0.0.0.0:0',
  ],
  ['an API token that is missing', [...server, '--data-dir', 'd7', '--api-token-file', 'absent'], 'absent'],
  [
    'a path of a socket that is too long',
    [...server, '--data-dir', 'd8', '--http', `unix:${LONG}`],
    'must have at most 103 characters',
  ],
  [
    'a port for Envoys that is taken',
    [...server, '--data-dir', 'd9', '--xds', 'TAKEN'],
    'cannot listen for Envoys on TAKEN',
  ],
  [
    'a kubeconfig that is missing',
    [...server, '--data-dir', 'd10', '--custom-resources', '--kubeconfig', 'absent'],
    'absent',
  ],
  ['a folder of a cluster below /proc', [...agent, '--directory', '/proc/x'], '/proc'],
  ['a disk of an agent below /proc', [...agent, '--directory', 'c1', '--data-dir', '/proc/x'], '/proc'],
  ['a folder of a cluster that is a file', [...agent, '--directory', 'file'], 'file'],
  ['a kubeconfig of an agent that is missing', [...agent, '--kubeconfig', 'absent'], 'absent'],
  [
    'a list of probes that is missing',
    ['probe-proxy', '--pod-ip', '127.0.0.1', '--port', '0', '--probes', 'absent'],
    'absent',
  ],
  [
    'a port of a probe proxy that is taken',
    ['probe-proxy', '--pod-ip', '127.0.0.1', '--port', 'PORT'],
    'cannot listen on port PORT',
  ],
];

test.each(FAULTS)('%s is said, and the process ends with a code', async (_name, args, expected) => {
  const here = (text: string): string => text.replace('TAKEN', `127.0.0.1:${port}`).replace('PORT', `${port}`);
  const { code, signal, said } = await run([PROGRAM, ...args.map(here)]);
  expect(said).toContain('fleetrelay: ');
  if (typeof expected === 'string') expect(said).toContain(here(expected));
  else expect(said).toMatch(expected);
  expect([code, signal]).toEqual([1, null]);
});

describe('a process that reads a pipe without a writer', () => {
  const FILES: readonly (readonly [string, readonly string[]])[] = [
    ['the configuration', ['serve', '--config', 'pipe', '--log-level', 'debug']],
    ['the HTTP API', [...server, '--data-dir', 'p1', '--api-token-file', 'pipe', '--log-level', 'debug']],
  ];
  test.each(FILES)('for %s is asked to end, names that part, and is gone', async (part, args) => {
    const { code, signal, said } = await run([PROGRAM, ...args], { stopAt: new RegExp(`"part":"${part}"`) });
    expect(said).toContain(`not everything could be closed in time: ${part}`);
    expect(said).toMatch(/has ended, but is held by .*FSReq.*; the process ends now/);
    // A call that does not return holds every other end.
    expect([code, signal]).toEqual([null, 'SIGKILL']);
  });

  test('as the token of an agent is told that it is no file', async () => {
    const { said } = await run([PROGRAM, ...agent.slice(0, -1), 'pipe', '--directory', 'c2'], { stopAt: /no file/ });
    expect(said).toContain('the token file');
    expect(existsSync(join(folder, 'c2'))).toBe(true);
  });
});
