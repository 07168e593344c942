import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { chooseGitAdapter } from '../../../src/compose/serve/git-adapter.ts';
import { readRelayConfig } from '../../../src/manifest/relay-config.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { createKeptLog, type KeptLog } from '../../support/git-quiet-log.ts';

let folder: string;
let log: KeptLog;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fleetrelay-git-adapter-'));
  log = createKeptLog();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A search path with a `git` that says that it is of a version; undefined: without one. */
function pathWith(version: string | undefined): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  if (version === undefined) return bin;
  writeFileSync(join(bin, 'git'), `#!/bin/sh\necho 'git version ${version}'\n`);
  chmodSync(join(bin, 'git'), 0o755);
  return bin;
}

async function choose(version: string | undefined, more: JsonObject = {}) {
  const sources = [{ name: 'fleet', git: { url: 'https://git.example.com/fleet.git' } }];
  const document = {
    apiVersion: 'fleetrelay.dev/v1alpha1',
    kind: 'RelayConfig',
    fleet: { name: 'prod' },
    sources,
    ...more,
  };
  const { config, problems } = readRelayConfig(document);
  if (config === undefined) throw new Error(JSON.stringify(problems));
  return chooseGitAdapter(config, { clock: createSystemClock(), log, env: { PATH: pathWith(version) } });
}

describe('repositories are read', () => {
  test.each([
    ['2.31.0', undefined, 'native', { version: '2.31' }],
    ['3.0.1', 'auto', 'native', { version: '3.0' }],
    ['2.30.9', undefined, 'isomorphic', { why: 'the git program is 2.30, and 2.31 is the oldest that is used' }],
    [undefined, 'auto', 'isomorphic', { why: 'there is no git program on the PATH' }],
    ['2.39.5', 'isomorphic', 'isomorphic', { why: 'git.adapter is isomorphic' }],
    [undefined, 'native', 'native', { version: 'none found' }],
  ] as const)(
    'with git %s and the adapter %s by the %s one, which the log says',
    async (version, adapter, name, data) => {
      const chosen = await choose(version, adapter === undefined ? {} : { git: { adapter } });
      expect(chosen.name).toBe(name);
      expect(log.lines).toMatchObject([{ level: 'info', data }]);
    },
  );
});

test.each([
  [{ sources: [{ name: 'main', git: { url: '/srv/fleet' } }] }, 'the repository of the source main is local'],
  [{ status: { git: { url: 'file:///srv/fleet' } } }, 'the repository of status.git.url is local'],
  [
    { bounds: { approvals: ['signedFile'], approvalSigners: { allowedSignersFile: '/s' } } },
    'bounds.approvalSigners: only the git program verifies signatures of commits',
  ],
])('what needs the git program is refused without it: %j', async (more, message) => {
  await expect(choose(undefined, more)).rejects.toThrow(message);
  rmSync(join(folder, 'bin'), { recursive: true });
  expect((await choose('2.39.5', more)).name).toBe('native');
});
