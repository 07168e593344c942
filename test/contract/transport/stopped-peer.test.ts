import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../support/relay-poll.ts';

const PROGRAM = fileURLToPath(new URL('../../support/relay-process.ts', import.meta.url));

let dir: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'relay-processes-'));
});

afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGCONT');
    child.kill('SIGKILL');
  }
  await rm(dir, { recursive: true });
});

function start(...args: string[]): { readonly child: ChildProcess; readonly lines: string[] } {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const lines: string[] = [];
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const parts = `${rest}${text}`.split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
  });
  return { child, lines };
}

async function startBoth(): Promise<{ server: ReturnType<typeof start>; agent: ReturnType<typeof start> }> {
  const server = start('server', dir, '0');
  await eventually('the server listens', () => server.lines.length > 0);
  const port = server.lines[0]?.split(' ')[1] ?? '';
  const agent = start('agent', dir, `127.0.0.1:${port}`);
  await eventually('the agent is connected', () => agent.lines.includes('connected'));
  await eventually('the server knows it', () => server.lines.includes('connected'));
  return { server, agent };
}

// A stopped process keeps its sockets, and its kernel goes on acknowledging: only an answer shows that it lives.
test('a suspended agent is detected, and reconnects when it continues', async () => {
  const { server, agent } = await startBoth();
  agent.child.kill('SIGSTOP');
  await eventually('the server disconnects the agent', () =>
    server.lines.some((line) => line.startsWith('disconnected')),
  );
  expect(server.lines.at(-1)).toBe('disconnected PeerSilent');
  agent.child.kill('SIGCONT');
  await eventually('the agent reconnects', () => server.lines.filter((line) => line === 'connected').length >= 2);
});

test('a suspended server is detected, and found again when it continues', async () => {
  const { server, agent } = await startBoth();
  server.child.kill('SIGSTOP');
  await eventually('the agent reports a silent server', () => agent.lines.includes('waiting PeerSilent'));
  server.child.kill('SIGCONT');
  await eventually('the agent reconnects', () => agent.lines.filter((line) => line === 'connected').length >= 2);
});

test('an agent that is killed is noticed at once, and its successor is let in', async () => {
  const { server, agent } = await startBoth();
  agent.child.kill('SIGKILL');
  await eventually('the server reports the lost connection', () =>
    server.lines.includes('disconnected ConnectionLost'),
  );
  const port = server.lines[0]?.split(' ')[1] ?? '';
  const next = start('agent', dir, `127.0.0.1:${port}`);
  await eventually('the next one is connected', () => next.lines.includes('connected'));
});

test('a server that is killed is found again when it is started again', async () => {
  const { server, agent } = await startBoth();
  const port = server.lines[0]?.split(' ')[1] ?? '';
  server.child.kill('SIGKILL');
  await eventually('the agent waits for the server', () => agent.lines.some((line) => line.startsWith('waiting')));
  const next = start('server', dir, port);
  await eventually('the agent reconnects', () => next.lines.includes('connected'));
});
