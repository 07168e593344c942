import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { preparePrograms, readinessLine } from '../../../scripts/local/prepare-programs.ts';
import { PROGRAMS, type ProgramName } from '../../../scripts/local/programs.ts';

let home = '';
let ran: string[] = [];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'fleetrelay-programs-'));
  mkdirSync(join(home, 'bin'));
  ran = [];
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function put(...names: readonly ProgramName[]): void {
  for (const name of names) {
    writeFileSync(join(home, 'bin', name), '#!/bin/sh\n');
    chmodSync(join(home, 'bin', name), 0o755);
  }
}

/** Prepares a machine that has only what the test puts there. `brings`: the programs of a package that can be installed. */
async function prepare(brings: Readonly<Record<string, readonly ProgramName[]>>, mayInstall = true, isLong = true) {
  const env = { HOME: home, PATH: join(home, 'bin') };
  const ready = await preparePrograms({
    env,
    isLong,
    mayInstall,
    run: async (command, args) => {
      const packages = args.filter((arg) => !arg.startsWith('-')).slice(1);
      ran.push(command === 'apt-get' ? `apt-get ${args[0]} ${packages.join(' ')}`.trim() : (args[0] ?? ''));
      if (packages.some((name) => brings[name] === undefined)) return false;
      put(...packages.flatMap((name) => brings[name] ?? []));
      return true;
    },
  });
  return new Map(ready.map(({ name, readiness }) => [name, readiness]));
}

const all = Object.keys(PROGRAMS) as ProgramName[];

test('where nothing can be had everything is skipped, each with the way to get it', async () => {
  const ready = await prepare({}, false);
  expect([...ready.values()].every((readiness) => readiness === 'skipped')).toBe(true);
  expect([...ready.keys()]).toEqual(all);
  expect(ran.filter((line) => line.startsWith('apt-get'))).toEqual([]);
  const line = readinessLine({ name: 'redis-server', readiness: 'skipped', path: undefined });
  expect(line).toMatch(/^skipped +redis-server +to get it: apt-get install redis-server$/);
});

test('what is found is left alone, and what can be installed is installed', async () => {
  put('bash', 'fish');
  const ready = await prepare({ 'redis-server': ['redis-server'], prometheus: ['prometheus', 'promtool'] });
  expect(ready.get('bash')).toBe('found');
  expect(ready.get('redis-server')).toBe('installed');
  expect(ready.get('promtool')).toBe('installed');
  expect(ready.get('protoc')).toBe('skipped');
  expect(ran.some((line) => / (bash|fish)( |$)/.test(line))).toBe(false);
});

test('each script of the project runs at most once, and none for what is there', async () => {
  await prepare({});
  expect(ran.filter((line) => line.endsWith('kubernetes-binaries.ts'))).toHaveLength(1);
  expect(ran.filter((line) => line.endsWith('envoy-binary.ts'))).toHaveLength(1);
  ran = [];
  put(...all);
  symlinkSync(join(home, 'bin', 'kubectl'), join(home, 'bin', 'etcd'));
  const env = { HOME: home, PATH: join(home, 'bin'), ENVOY: join(home, 'bin/envoy') };
  const ready = await preparePrograms({
    env,
    isLong: true,
    mayInstall: true,
    run: async (command) => ran.push(command) > 0,
  });
  expect([ran, ready.every(({ readiness }) => readiness === 'found')]).toEqual([[], true]);
});

test('what only long tests start is made ready for them alone', async () => {
  const short = await prepare({ buildah: ['buildah'] }, true, false);
  expect([short.has('buildah'), short.has('mmdebstrap'), short.has('bash')]).toEqual([false, false, true]);
  expect(ran.filter((line) => line.includes('buildah'))).toEqual([]);
  const long = await prepare({ buildah: ['buildah'] });
  expect([long.get('buildah'), long.get('mmdebstrap')]).toEqual(['installed', 'skipped']);
});
