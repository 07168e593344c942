import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { main } from '../../../src/cli/main.ts';
import type { TextOutput } from '../../../src/cli/output.ts';
import { recordingRoots } from '../../support/cli.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fleetrelay-init-'));
  mkdirSync(join(folder, 'work/.git'), { recursive: true });
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/fleetrelay'), '#!/bin/sh\n');
  chmodSync(join(folder, 'bin/fleetrelay'), 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function init(args: readonly string[], cwd: string, PATH = ''): Promise<{ out: string; err: string }> {
  const said = { out: '', err: '' };
  const output = (name: 'out' | 'err'): TextOutput => ({
    write: (text) => {
      said[name] += text;
    },
    ...{ isTerminal: false, colour: false, columns: 80 },
  });
  const never = new AbortController().signal;
  await main(['init', ...args], {
    ...{ stdout: output('out'), stderr: output('err'), env: { PATH }, cwd, version: '0.0.0' },
    ...{ readStdin: async () => new Uint8Array(), untilStopped: () => never },
    ...{ stopSignals: () => ({ first: never, second: never }), roots: recordingRoots({ initRepository, installHook }) },
  });
  return said;
}
const initRepository = async () => [];
const installHook = async () => [];

test('a folder in no git repository is told to become one, and one below a work tree is not', async () => {
  expect((await init(['fleet'], folder)).out).toContain('It is in no git repository yet: git init fleet\n');
  expect((await init(['fleet'], join(folder, 'work'))).out).not.toContain('git init');
});

test('a hook that would not find the program is told', async () => {
  expect((await init(['--hook'], folder)).err).toContain('fleetrelay is not on the PATH');
  expect((await init(['--hook'], folder, `/nowhere:${join(folder, 'bin')}`)).err).toBe('');
});
