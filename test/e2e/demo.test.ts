import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { PROGRAM, until } from '../support/fleet-processes.ts';
import { isLong } from '../support/long.ts';
import { noProgram, programPath } from '../support/programs.ts';

const ROOT = join(import.meta.dirname, '../..');
const DEMO = join(ROOT, 'scripts/demo.ts');
/** The demo runs the bundle, as it is shipped. */
const bundled = { ...process.env, FLEETRELAY_PROGRAM: PROGRAM };
const home = mkdtempSync(join(tmpdir(), 'fleetrelay-home-'));
// A bare machine: no identity for git, and none to be found.
const env = { ...process.env, HOME: home, GIT_CONFIG_NOSYSTEM: '1', NO_COLOR: '1' };
const started: ChildProcess[] = [];

afterAll(() => {
  for (const child of started) child.kill('SIGKILL');
  rmSync(home, { recursive: true, force: true });
});

/** Runs a command as a person would type it; rejects if it fails. */
async function type(command: string | undefined, allowed = 0, as: NodeJS.ProcessEnv = env): Promise<string> {
  const { stdout, code } = await promisify(execFile)(programPath('bash'), ['-c', command ?? 'false'], {
    cwd: ROOT,
    env: as,
    timeout: 120_000,
  }).then(
    ({ stdout }) => ({ stdout, code: 0 }),
    (error: { readonly stdout: string; readonly stderr: string; readonly code: number }) => {
      if (error.code !== allowed) throw new Error(`${command} ended with ${error.code}: ${error.stderr}`);
      return error;
    },
  );
  expect(code).toBe(allowed);
  return stdout;
}

/** Starts a demo; returns its process, and what it has said when it suggests commands. */
async function startDemo(args: readonly string[], demoEnv: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, [DEMO, ...args], {
    env: demoEnv,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  let said = '';
  child.stdout.on('data', (text: Buffer) => {
    said += text.toString();
  });
  await until('the demo suggests commands', () => said.includes('Ctrl-C ends it.'), 60_000);
  return { child, said };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function endDemo(child: ChildProcess): Promise<void> {
  child.kill('SIGHUP');
  await until('the demo has ended', () => child.exitCode !== null || child.signalCode !== null);
}

/** The commands that a demo suggests. Each names the server if its usual port is taken, and else none does. */
function suggestedBy(said: string): readonly string[] {
  const typed = said
    .split('\n')
    .filter((line) => /^ {4}[a-z/]/.test(line) && !line.includes('applied by'))
    .map((line) => line.trim());
  const commands = typed.filter((line) => line.startsWith('npm run '));
  const named = commands.filter((line) => line.includes(' --api http://127.0.0.1:'));
  expect(named).toEqual(said.includes(TAKEN) ? commands : []);
  return typed;
}

const TAKEN = 'and its usual port is taken: so the commands have --api.';

/** Types every command that a demo suggests, in its order, and checks its effect. */
async function followInvitation(args: readonly string[], demoEnv: NodeJS.ProcessEnv): Promise<void> {
  const { child, said } = await startDemo(args, demoEnv);
  const folder = /It lives in (\S+);/.exec(said)?.[1] ?? '';
  const typed = suggestedBy(said);
  const [edit, plan, push, show, drift, explain, history, remove, list, approve, kill, change, status, check, branch] =
    typed;
  expect(typed).toHaveLength(15);

  await type(edit);
  expect(await type(plan)).toContain('Plan: 2 to change, in 2 of 3 clusters');
  await type(push);
  await until('the change arrives', async () => (await type(show)).includes('greeting: Howdy'));
  expect(await type(drift)).toContain('greeting: Howdy');
  expect(await type(explain)).toContain('apps/info/info.yaml:');
  expect(await type(history)).toMatch(/new revision +1 changed/);
  await type(remove);
  const digest = await until('the removal is held', async () => /^[0-9a-f]{12}\b/m.exec(await type(list))?.[0]);
  expect(await type(approve?.replace('DIGEST', digest))).toContain('released 8 removals');
  await until('the shop is gone', () => type(show, 1).then(() => true));
  await type(kill);
  await type(change);
  await until('west is waited for', async () =>
    (await type(status, 1)).includes('waiting for west: disconnected since'),
  );
  expect(await type(check, 1)).toContain('[AgentDisconnected]');
  expect(await type(branch)).toContain('Fleetrelay-Fleet: demo');

  await endDemo(child);
  expect([child.exitCode, existsSync(folder)]).toEqual([0, false]);
}

test.skipIf(noProgram('bash'))(
  'each command that the demo suggests has its effect, and a closed terminal leaves nothing behind',
  () => followInvitation([], env),
);

test.skipIf(noProgram('bash'))('where the usual port is taken, the commands name the server', async () => {
  const other = createServer();
  // It may be taken already, by a fleet of the person who runs this.
  const isTaken = new Promise<unknown>((resolve) => {
    other.once('listening', () => resolve(true)).once('error', resolve);
  });
  other.listen(9980, '127.0.0.1');
  await isTaken;
  try {
    const { child, said } = await startDemo([], env);
    expect(said).toContain(TAKEN);
    expect(await type(suggestedBy(said).find((line) => line.includes(' status ')))).toContain('applied by 3 of 3');
    await endDemo(child);
  } finally {
    other.close();
  }
});

// With the HOME of the process, below which `npm run kubernetes-binaries` puts the programs.
if (isLong)
  test.skipIf(noProgram('kube-apiserver', 'bash'))('the suggested commands work on Kubernetes', () =>
    followInvitation(['--kubernetes'], bundled),
  );

test.skipIf(noProgram('kube-apiserver', 'bash'))(
  'every step of the story happens on Kubernetes, with the bundle',
  async () => {
    const said = await type(`${process.execPath} ${DEMO} --once --kubernetes -o json`, 0, bundled);
    expect(JSON.parse(said)).toMatchObject({ ok: true });
  },
);

test.skipIf(noProgram('bash'))('without the programs of Kubernetes the demo explains how to get them', async () => {
  const nowhere = { ...env, KUBEBUILDER_ASSETS: join(home, 'nowhere') };
  const said = await type(`${process.execPath} ${DEMO} --kubernetes 2>&1`, 1, nowhere);
  expect(said).toContain('setup-envtest use -p path');
  expect(said).toContain('npm run kubernetes-binaries');
});

test('a demo that is stopped twice leaves no server behind', async () => {
  const { child, said } = await startDemo([], env);
  const [, pid] = /^ {4}kill (\d+)$/m.exec(said) ?? [];
  const api = /--api (\S+)/.exec(said)?.[1] ?? 'http://127.0.0.1:9980';
  const answers = (): Promise<boolean> =>
    fetch(`${api}/api/v1/status`).then(
      () => true,
      () => false,
    );
  expect(await answers()).toBe(true);
  child.kill('SIGTERM');
  child.kill('SIGHUP');
  await until('the demo has ended', () => child.exitCode !== null || child.signalCode !== null);
  await until('its server has ended', async () => !(await answers()));
  await until('its agent has ended', () => !isAlive(Number(pid)));
});

test('a demo that is stopped during its start suggests no commands, and leaves nothing behind', async () => {
  const child = spawn(process.execPath, [DEMO], {
    env: { ...env, TMPDIR: home },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  let said = '';
  child.stdout.on('data', (text: Buffer) => {
    said += text.toString();
    // The demo handles signals before it prints its first line.
    if (!child.killed && said.includes('Setting the stage')) child.kill('SIGINT');
  });
  await until('the demo has ended', () => child.exitCode !== null || child.signalCode !== null, 60_000);
  expect(said).not.toContain('The fleet runs');
  expect([child.exitCode, readdirSync(home).filter((name) => name.startsWith('fleetrelay-demo-'))]).toEqual([0, []]);
});
