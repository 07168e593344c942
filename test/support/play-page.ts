import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect } from 'vitest';
import { until } from './fleet-processes.ts';
import { type PageStep, printsAsShown } from './page-session.ts';
import { installOnPath } from './program-on-path.ts';
import { programPath } from './programs.ts';

/** What the pages say of the reader's home. */
const HOME = '/home/you';
const PERSON = { name: 'you', email: 'you@example.com' };
/** Commands that only look: asked again until they print what the page says. */
const LOOKS =
  /^(fleetrelay (status|get|history|check|explain|approve --list)|grep|cat|git (-C \S+ )?fetch|kubectl .*\bget)\b/;

/** A person at a shell, with a home of their own, who types what pages say. */
export interface Player {
  /** Absolute path of the home, where the shell begins. */
  readonly home: string;
  /** Types the steps in turn. Throws at the first one that does not print what the page says. */
  play(steps: readonly PageStep[]): Promise<void>;
  /** Ends a process that was started with `&`; the first one has the number 0. */
  endJob(number: number): Promise<void>;
  /** Ends the server that was started last. */
  endServer(): Promise<void>;
  /** What the first process in the background has printed. */
  printed(): string;
  /** Ends what runs in the background, and removes the home. */
  stop(): Promise<void>;
}

export interface PlayerOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** A folder of programs that the reader has on the PATH. */
  readonly path?: string;
  /** What a command of a page is really typed as: with ports of its own, for example. */
  readonly typedAs?: (command: string) => string;
}

interface Job {
  readonly child: ChildProcess;
  /** It was started with `&`, so that the shell numbers it. */
  readonly isNumbered: boolean;
  readonly isServer: boolean;
}

/** Servers, agents and the demo go on while the reader types the next command. */
const GOES_ON = /^(fleetrelay (serve|agent)|npm start)\b/;

export function createPlayer({ environment = {}, path, typedAs = (command) => command }: PlayerOptions = {}): Player {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'fleetrelay-page-')));
  const home = join(folder, 'you');
  mkdirSync(home);
  const author = { GIT_AUTHOR_NAME: PERSON.name, GIT_AUTHOR_EMAIL: PERSON.email };
  const committer = { GIT_COMMITTER_NAME: PERSON.name, GIT_COMMITTER_EMAIL: PERSON.email };
  const installed = installOnPath(folder);
  const PATH = [...(path === undefined ? [] : [path]), installed.PATH].join(delimiter);
  const env = { ...installed, PATH, ...author, ...committer, ...environment };
  const jobs: Job[] = [];
  let cwd = home;

  const shell = (line: string): string => {
    const options = { cwd, env, encoding: 'utf8', timeout: 120_000 } as const;
    const typed = `{ ${line}\nstatus=$?; pwd > '${join(folder, 'cwd')}'; exit $status\n} 2>&1`;
    try {
      return execFileSync(programPath('bash'), ['-c', typed], options);
    } catch (error) {
      // `check` exits with 1 where it finds an error.
      return (error as { readonly stdout: string }).stdout;
    }
  };

  const type = async (step: PageStep): Promise<void> => {
    const run = (): string => shell(typedAs(step.command)).replaceAll(home, HOME);
    let printed = run();
    const isAsShown = (): boolean => printsAsShown(step.output, printed);
    if (LOOKS.test(step.command) && !isAsShown()) {
      const again = (): boolean => {
        printed = run();
        return isAsShown();
      };
      await until(`line ${step.line}: ${step.command} prints as shown`, again).catch(() => undefined);
    }
    // The comparison as text says what differs.
    if (!isAsShown()) expect(`${step.command}\n${printed}`).toBe(`${step.command}\n${step.output.join('\n')}\n`);
    cwd = readFileSync(join(folder, 'cwd'), 'utf8').trim();
  };

  const inBackground = async ({ line, command, output }: PageStep): Promise<void> => {
    const log = join(folder, `${jobs.length}.log`);
    const out = openSync(log, 'w');
    // What a person at a terminal sees.
    const format = command.startsWith('fleetrelay ') ? ' --log-format text' : '';
    const typed = `exec ${typedAs(command).replace(/ &$/, '')}${format}`;
    const child = spawn(programPath('bash'), ['-c', typed], { cwd, env, stdio: ['ignore', out, out] });
    jobs.push({ child, isNumbered: command.endsWith('&'), isServer: command.startsWith('fleetrelay serve') });
    const shown = messagesIn(output.join('\n'));
    await until(`line ${line}: the log says ${shown.join(', ')}`, () =>
      isInOrder(shown, messagesIn(readFileSync(log, 'utf8'))),
    );
  };

  const endJob = (number: number): Promise<void> => ended(jobs.filter(({ isNumbered }) => isNumbered)[number]?.child);

  const play = async (steps: readonly PageStep[]): Promise<void> => {
    for (const step of steps) {
      const [, number] = /^kill %(\d)$/.exec(step.command) ?? [];
      if (number !== undefined) await endJob(Number(number) - 1);
      else if (GOES_ON.test(step.command)) await inBackground(step);
      else await type(step);
    }
  };

  return {
    home,
    play,
    endJob,
    endServer: () => ended(jobs.findLast(({ isServer }) => isServer)?.child),
    printed: () => readFileSync(join(folder, '0.log'), 'utf8'),
    stop: async () => {
      for (const { child } of jobs.splice(0).reverse()) await ended(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The constant messages of lines of a log; of other lines the sentence without its mark and its times. */
function messagesIn(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => {
    const [, message] = /^ *\d\d:\d\d:\d\d (?:debug|info|warn|error) +(.*?)(?: \w+=|$)/.exec(line) ?? [];
    if (message !== undefined) return [message];
    const [, sentence] = /^✓ (.*) \(\d+ ms\)$/.exec(line) ?? [];
    return sentence === undefined ? [] : [sentence];
  });
}

function isInOrder(wanted: readonly string[], said: readonly string[]): boolean {
  let at = -1;
  return wanted.every((message) => {
    at = said.indexOf(message, at + 1);
    return at >= 0;
  });
}

async function ended(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined) throw new Error('the page has no such job');
  if (child.exitCode !== null || child.signalCode !== null) return;
  const end = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGTERM');
  await end;
}
