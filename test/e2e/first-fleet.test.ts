import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../support/fleet-processes.ts';
import { freePort } from '../support/free-port.ts';
import { type PageStep, printsAsShown, stepsOf } from '../support/page-session.ts';
import { installOnPath } from '../support/program-on-path.ts';
import { noProgram, programPath } from '../support/programs.ts';

/** docs/start/first-fleet.md, typed as it stands there: each command prints what the page says. */

const PAGE = join(import.meta.dirname, '../../docs/start/first-fleet.md');
/** What the page says of the reader's machine. */
const HOME = '/home/you';
/** Commands that only look: asked again until they show what the page says. */
const LOOKS = /^(fleetrelay (status|history|check|explain)|grep|cat|git fetch)\b/;
const PERSON = { name: 'you', email: 'you@example.com' };

let home = '';
let environment: Readonly<Record<string, string>> = {};
const running: { readonly child: ChildProcess; readonly isJob: boolean }[] = [];

beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-page-'));
  home = join(realpathSync(folder), 'you');
  mkdirSync(home);
  const author = { GIT_AUTHOR_NAME: PERSON.name, GIT_AUTHOR_EMAIL: PERSON.email };
  const committer = { GIT_COMMITTER_NAME: PERSON.name, GIT_COMMITTER_EMAIL: PERSON.email };
  environment = { ...installOnPath(folder), ...author, ...committer };
});

afterEach(async () => {
  await Promise.all(
    running
      .splice(0)
      .reverse()
      .map(({ child }) => ended(child)),
  );
  rmSync(join(home, '..'), { recursive: true, force: true });
});

test.skipIf(noProgram('bash'))('the first fleet is made, pushed to and rolled back as the page says', async () => {
  const [relay, http, metrics] = [await freePort(), await freePort(), await freePort()];
  const page = readFileSync(PAGE, 'utf8')
    .replaceAll('127.0.0.1:9900', `127.0.0.1:${relay}`)
    .replaceAll('127.0.0.1:9980', `127.0.0.1:${http}`);
  environment = { ...environment, FLEETRELAY_API: `http://127.0.0.1:${http}` };
  const ports = `--listen 127.0.0.1:${relay} --http 127.0.0.1:${http} --metrics 127.0.0.1:${metrics}`;
  let cwd = home;
  const steps = stepsOf(page).filter(({ command }) => !command.startsWith('ln -s '));
  expect(steps.length).toBeGreaterThan(25);
  for (const [index, step] of steps.entries()) {
    const { command } = step;
    if (/^fleetrelay (serve|agent)\b/.test(command)) {
      const isJob = command.endsWith('&');
      const typed = isJob ? command.replace(/ &$/, '') : `${command} ${ports}`;
      await inBackground(step, typed, { cwd, isJob, log: join(home, '..', `${index}.log`) });
    } else if (command.startsWith('kill %')) {
      const jobs = running.filter(({ isJob }) => isJob);
      await ended(jobs[Number(command.slice('kill %'.length)) - 1]?.child);
    } else cwd = await typed(step, cwd);
  }
});

/** Types a command, and returns the folder that the shell is in afterwards. */
async function typed(step: PageStep, cwd: string): Promise<string> {
  let printed = '';
  const run = (): string => {
    const line = `${step.command}\nstatus=$?; pwd >&3; exit $status`;
    printed = shell(line, cwd).replaceAll(home, HOME);
    return printed;
  };
  run();
  if (LOOKS.test(step.command)) {
    await until(`line ${step.line}: ${step.command} prints as shown`, () => printsAsShown(step.output, run())).catch(
      () => undefined,
    );
  }
  // The comparison as text says what differs.
  if (!printsAsShown(step.output, printed)) expect(`${step.command}\n${printed}`).toBe(shownOf(step));
  return readFileSync(join(home, '..', 'cwd'), 'utf8').trim();
}

function shownOf({ command, output }: PageStep): string {
  return `${command}\n${output.join('\n')}\n`;
}

function shell(line: string, cwd: string): string {
  // Progress bars and the like of other programs are no part of what the page shows.
  const stdio = ['ignore', 'pipe', 'pipe', openSync(join(home, '..', 'cwd'), 'w')] as const;
  const options = { cwd, env: environment, encoding: 'utf8', timeout: 120_000, stdio: [...stdio] } as const;
  try {
    return execFileSync(programPath('bash'), ['-c', `{ ${line}\n} 2>&1`], options);
  } catch (error) {
    // `check` exits with 1 where it finds an error.
    return (error as { readonly stdout: string }).stdout;
  }
}

/** Starts a server or an agent, and waits until its log has the messages that the page shows, in this order. */
async function inBackground(
  { line, output }: PageStep,
  command: string,
  { cwd, isJob, log }: { readonly cwd: string; readonly isJob: boolean; readonly log: string },
): Promise<void> {
  const out = openSync(log, 'w');
  const child = spawn(programPath('bash'), ['-c', `exec ${command}`], {
    cwd,
    env: environment,
    stdio: ['ignore', out, out],
  });
  running.push({ child, isJob });
  const messagesIn = (text: string): readonly string[] =>
    [...text.matchAll(/"message":"([^"]+)"\}/g)].map(([, message = '']) => message);
  const shown = messagesIn(output.join('\n'));
  await until(`line ${line}: the log says ${shown.join(', ')}`, () => {
    let at = -1;
    const said = messagesIn(readFileSync(log, 'utf8'));
    return shown.every((message) => {
      at = said.indexOf(message, at + 1);
      return at >= 0;
    });
  });
}

async function ended(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined) throw new Error('the page has no such job');
  if (child.exitCode !== null || child.signalCode !== null) return;
  const end = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGTERM');
  await end;
}
