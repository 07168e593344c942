import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../../src/cli/registry.ts';
import { runCli } from '../../support/cli.ts';

const installed = (shell: string): boolean => spawnSync(shell, ['-c', 'true'], { timeout: 50_000 }).status === 0;

async function script(shell: string): Promise<string> {
  const { code, out, err } = await runCli(['completion', shell]);
  expect([code, err]).toEqual([0, '']);
  return out;
}

/** What bash would offer for these words, the last one being typed. */
async function offered(...words: readonly string[]): Promise<readonly string[]> {
  const ask = `${await script('bash')}
compopt() { :; }
COMP_WORDS=(fleetrelay ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}
_fleetrelay; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['--norc'], { input: ask, encoding: 'utf8', timeout: 50_000 });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((line) => line !== '');
}

describe.skipIf(!installed('bash'))('in bash', () => {
  test('commands', async () => {
    expect(await offered('')).toEqual(COMMANDS.map(({ name }) => name));
    expect(await offered('s')).toEqual(['serve', 'status', 'source']);
  });

  test('options of the command, its values, and the sub-commands of a group', async () => {
    expect(await offered('status', '--api-t')).toEqual(['--api-token-file']);
    expect(await offered('status', '-o', '')).toEqual(['table', 'json', 'yaml']);
    expect(await offered('status', '--output', 'j')).toEqual(['json']);
    expect(await offered('source', '')).toEqual(['list', 'accept', 'suspend', 'resume']);
    expect(await offered('source', 'accept', '--as')).toEqual(['--as']);
    expect(await offered('get', 'c')).toEqual(['clusters']);
    expect(await offered('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  });

  test('a word that is a command elsewhere does not change the command', async () => {
    expect(await offered('explain', 'serve', '--o')).toEqual(['--output']);
  });
});

describe.each(['zsh', 'fish'])('in %s', (shell) => {
  test('every command and every long option is there', async () => {
    const text = await script(shell);
    for (const { name } of COMMANDS) expect(text).toContain(name);
    for (const option of ['api-token-file', 'relay-secret-file', 'health-port', 'strict']) {
      expect(text).toContain(option);
    }
  });

  test.skipIf(!installed(shell))('the shell can read it', async () => {
    const { status, stderr } = spawnSync(shell, ['-n'], {
      input: await script(shell),
      encoding: 'utf8',
      timeout: 50_000,
    });
    expect([status, stderr]).toEqual([0, '']);
  });
});
