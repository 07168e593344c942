import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PLACES } from '../../../src/cli/complete-names.ts';
import { allRows } from '../../../src/cli/registry.ts';
import { runCli } from '../../support/cli.ts';
import { noProgram, programPath } from '../../support/programs.ts';
import { runServer } from '../../support/running-server.ts';
import { fakeApi, fleetView, HELD_DIGEST } from '../../support/server-api.ts';

const NAMES = (await allRows()).map(({ name }) => name);

async function script(shell: string): Promise<string> {
  const { code, out, err } = await runCli(['completion', shell]);
  expect([code, err]).toEqual([0, '']);
  return out;
}

/** The candidates for the last of these words, without descriptions. */
async function candidates(...words: readonly string[]): Promise<readonly string[]> {
  const { code, out, err } = await runCli(['__complete', ...words]);
  expect([code, err]).toEqual([0, '']);
  const lines = out.split('\n').filter((line) => line !== '');
  return lines.map((line) => line.split('\t')[0] ?? '');
}

describe('the candidates', () => {
  test('for the first word are the commands, with what they do', async () => {
    expect(await candidates('')).toEqual(NAMES);
    expect((await runCli(['__complete', ''])).out).toContain('status\thow far the fleet agrees');
  });

  test('are the options of the command, the values of an option, and the sub-commands of a group', async () => {
    expect(await candidates('status', '--')).toEqual(
      expect.arrayContaining(['--api-token-file', '--output', '--help']),
    );
    expect(await candidates('status', '-o', '')).toEqual(['table', 'json', 'yaml']);
    expect(await candidates('status', '--output', '=', 'j')).toEqual(['table', 'json', 'yaml']);
    expect(await candidates('validate', '-o', '')).toEqual(
      expect.arrayContaining(['text', 'json', 'junit', 'tap', 'sarif', 'github', 'gitlab']),
    );
    expect(await candidates('validate', '--kubernetes-version', '')).toEqual(['1.33', '1.34', '1.35', '1.36']);
    expect(await candidates('source', '')).toEqual(['list', 'sync', 'accept', 'suspend', 'resume']);
    expect(await candidates('source', 'accept', '--as')).toContain('--as');
    expect(await candidates('source', 'accept', '--as', '')).toEqual([]);
    expect(await candidates('get', 'c')).toContain('clusters');
    expect(await candidates('completion', '')).toEqual(['bash', 'zsh', 'fish']);
    expect(await candidates('nonsense', '')).toEqual([]);
  });

  test('leave files and folders to the shell', async () => {
    expect(await candidates('status', '--api-ca-file', '')).toEqual([':files']);
    expect(await candidates('validate', '')).toEqual([':files']);
    expect(await candidates('serve', '--data-dir', '.')).toEqual([':folders']);
  });

  test('belong to the first command, also if a later word is the name of another one', async () => {
    expect(await candidates('explain', 'serve', '--o')).not.toContain('--repo');
    expect(await candidates('explain', 'serve', '--o')).toContain('--output');
  });

  test('hold every long option of every command', async () => {
    const all = await Promise.all(NAMES.map((name) => candidates(name, '--')));
    const options = ['--api-token-file', '--relay-secret-file', '--metrics', '--strict'];
    expect(all.flat()).toEqual(expect.arrayContaining(options));
  });
});

describe('the candidates for a name are those that the server knows:', () => {
  test.each([
    [
      ['history', ''],
      ['east', 'west'],
    ],
    [['history', 'east', ''], ['Deployment.apps/web/frontend']],
    [['history', '--limit', '5', 'east', ''], ['Deployment.apps/web/frontend']],
    [
      ['explain', ''],
      ['east', 'west'],
    ],
    [
      ['cluster', 'suspend', ''],
      ['east', 'west'],
    ],
    [['cluster', 'retry', '--as', 'ann', 'east', ''], ['Deployment.apps/web/frontend']],
    [['cluster', 'register', ''], []],
    [['source', 'sync', ''], ['main']],
    [['source', 'accept', 'main', ''], ['4be7c1aa']],
    [['approve', ''], [HELD_DIGEST]],
    [
      ['get', 'clusters', ''],
      ['east', 'west'],
    ],
    [
      ['get', 'cluster', 'east', ''],
      ['east', 'west'],
    ],
    [['get', 'outputs', ''], ['Deployment.apps/web/frontend']],
    [['get', 'deploy', ''], ['frontend']],
    [['get', 'nonsense', ''], []],
    [
      ['get', 'outputs', '--cluster', ''],
      ['east', 'west'],
    ],
    [['plan', '--source', ''], ['main']],
  ])('%j', async (words, expected) => {
    const [main] = fleetView().sources;
    const api = fakeApi(fleetView({ sources: [{ ...main!, refusedRevision: '4be7c1aa' }] }));
    const server = await runServer({ api }, {});
    try {
      const env = { FLEETRELAY_API: server.url };
      const run = await runCli(['__complete', ...words], { completionSeconds: 60, env });
      expect(run).toEqual({ code: 0, out: expected.map((name) => `${name}\n`).join(''), err: '' });
      const [command = '', ...rest] = words;
      if (PLACES[command] === undefined) return;
      const typed = await runCli(['__complete', command, '--api', server.url, ...rest], { completionSeconds: 60 });
      expect(typed.out).toBe(run.out);
    } finally {
      await server.stop();
    }
  });

  test('none, if no server answers', async () => {
    const env = { FLEETRELAY_API: 'http://127.0.0.1:1' };
    expect(await runCli(['__complete', 'history', ''], { env })).toEqual({ code: 0, out: '', err: '' });
  });

  test('none, if a server does not answer in time', async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((listening) => void silent.listen(0, '127.0.0.1', listening));
    const { port } = silent.address() as AddressInfo;
    try {
      const env = { FLEETRELAY_API: `http://127.0.0.1:${port}` };
      expect(await runCli(['__complete', 'history', ''], { env })).toEqual({ code: 0, out: '', err: '' });
    } finally {
      silent.closeAllConnections();
      silent.close();
    }
  });

  test('every place is one of a command', async () => {
    for (const [words, places] of Object.entries(PLACES)) {
      const { out } = await runCli([...words.split(' '), '--help']);
      const [usage = ''] = out.split('\n');
      expect(usage, words).toContain(`Usage: fleetrelay ${words} `);
      expect((usage.match(/[<[](?!options)/g) ?? []).length, words).toBeGreaterThanOrEqual(
        words === 'explain' ? 1 : places.length,
      );
    }
  });
});

/** The offers of bash for these words, the last one being typed. A shell function stands for the program. */
async function offered(...words: readonly string[]): Promise<readonly string[]> {
  return offeredOf((await runCli(['__complete', ...words])).out, words);
}

/** `lines`: what the program prints. */
async function offeredOf(lines: string, words: readonly string[]): Promise<readonly string[]> {
  const expected = ['__complete', ...words].map((word) => `[${word}]`).join('');
  const ask = `${await script('bash')}
compopt() { :; }
fleetrelay() { [ "$(printf '[%s]' "$@")" = '${expected}' ] && printf '%s' '${lines.replaceAll("'", "'\\''")}'; }
COMP_WORDS=(fleetrelay ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}
_fleetrelay; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync(programPath('bash'), ['--norc'], {
    input: ask,
    encoding: 'utf8',
    timeout: 50_000,
  });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((line) => line !== '');
}

describe.skipIf(noProgram('bash'))('bash offers', () => {
  test('the candidates that fit', async () => {
    expect(await offered('s')).toEqual(['serve', 'snapshot', 'status', 'source', 'shoot', 'schema']);
    expect(await offered('status', '--api-t')).toEqual(['--api-token-file']);
    expect(await offered('status', '--output', 'j')).toEqual(['json']);
    expect(await offered('source', 'accept', '--as')).toEqual(['--as']);
    expect(await offered('explain', '$(touch x)', '--o')).toEqual(['--output']);
  });

  test('a candidate as it is, and runs nothing of it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-completion-'));
    const hostile = `x$(touch\${IFS}${folder}/ran)`;
    expect(await offeredOf(`${hostile}\ny\n`, ['explain', 'east', 'x'])).toEqual([hostile]);
    expect(await offeredOf('', ['explain', 'east', ''])).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
    rmSync(folder, { recursive: true });
  });

  test('files and folders', async () => {
    expect(await offered('validate', 'package.j')).toEqual(['package.json']);
    expect(await offered('serve', '--data-dir', 'generate')).toEqual(['generated']);
  });
});

describe.skipIf(noProgram('fish'))('fish offers', () => {
  /** The offers of fish for this line. A function stands for the program, and prints these candidates. */
  async function offeredByFish(line: string, found: readonly string[]): Promise<readonly string[]> {
    const program = `function fleetrelay; printf '%s\\n' ${found.map((each) => `'${each}'`).join(' ')}; end`;
    const { status, out, said } = runShell(
      'fish',
      ['--no-config'],
      `${program}\n${await script('fish')}\ncomplete -C '${line}'\n`,
    );
    expect([status, said]).toEqual([0, '']);
    return out.trim().split('\n').sort();
  }

  test('the candidates that fit, and folders', async () => {
    const found = ['serve\trun the management server', 'status\thow far', 'source'];
    expect(await offeredByFish('fleetrelay st', found)).toEqual(['status\thow far']);
    expect(await offeredByFish('fleetrelay serve --data-dir generate', [':folders'])).toEqual([
      'generated/\tDirectory',
    ]);
  });
});

describe.each(['bash', 'zsh', 'fish'] as const)('%s', (shell) => {
  test('is given a script that asks the program', async () => {
    expect(await script(shell)).toContain('fleetrelay __complete');
  });

  test.skipIf(noProgram(shell))('can read its script, and refuses a broken one', async () => {
    expect(runShell(shell, ['-n'], await script(shell))).toEqual({ status: 0, out: '', said: '' });
    expect(runShell(shell, ['-n'], 'if (')).not.toHaveProperty('status', 0);
  });
});

/** Runs a shell with a script in a file: fish refuses a standard input that is a socket, which a child of Node has. */
function runShell(shell: 'bash' | 'zsh' | 'fish', args: readonly string[], text: string) {
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-shell-'));
  try {
    const file = join(folder, 'script');
    writeFileSync(file, text);
    const env = { ...process.env, HOME: folder };
    const options = { env, encoding: 'utf8', timeout: 50_000 } as const;
    const { status, stdout: out, stderr: said } = spawnSync(programPath(shell), [...args, file], options);
    return { status, out, said };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
