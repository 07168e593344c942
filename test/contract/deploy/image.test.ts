import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../support/fleet-processes.ts';
import {
  checkoutFiles,
  contextFilter,
  declaredFiles,
  layOutStage,
  packedFiles,
  runIn,
  stagesOf,
} from '../../support/image-context.ts';
import { noProgram, programPath } from '../../support/programs.ts';
import { PROJECT } from './rendering.ts';

const FOLDER = join(PROJECT, 'deploy', 'image');
const dockerfile = readFileSync(join(FOLDER, 'Dockerfile'), 'utf8');
const stages = stagesOf(dockerfile);
const instructions = stages.flat();
const lastStage = stages.at(-1) ?? [];
const readJson = (path: string) => JSON.parse(readFileSync(join(PROJECT, path), 'utf8'));
const { version } = readJson('package.json');
const { version: nodeVersion, optionalDependencies: nodes } = readJson('tools/node/package.json');

/** What the first stage makes: the package that the last one copies. Made from what a builder would get. */
let made = '';

beforeAll(() => {
  made = mkdtempSync(join(tmpdir(), 'fleetrelay-build-'));
  const isKept = contextFilter(readFileSync(join(FOLDER, 'Dockerfile.dockerignore'), 'utf8'));
  const build = stages[1] ?? [];
  layOutStage(build, checkoutFiles().filter(isKept), made);
  const packs = build.filter(({ word, rest }) => word === 'RUN' && !rest.includes('npm ci'));
  expect(packs.length).toBe(1);
  for (const { rest } of packs) runIn(made, rest);
});

afterAll(() => rmSync(made, { recursive: true, force: true }));

describe('Dockerfile', () => {
  test('runs as a numbered user that is not root, and says how it is started in the form that passes signals on', () => {
    const [user] = lastStage.filter(({ word }) => word === 'USER').map(({ rest }) => rest);
    expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    const last = lastStage.findLastIndex(({ word }) => word === 'RUN' || word === 'COPY');
    expect(lastStage.findIndex(({ word }) => word === 'USER')).toBeGreaterThan(last);
    for (const { word, rest } of lastStage) {
      if (word === 'ENTRYPOINT' || word === 'CMD') expect(Array.isArray(JSON.parse(rest)), word).toBe(true);
    }
  });

  test('every base is pinned, and Node is the one that the project is tested with', () => {
    expect(dockerfile).toContain(`ARG NODE=node:${nodeVersion}-`);
    expect(new Set(Object.values(nodes))).toEqual(new Set([nodeVersion]));
    for (const { rest } of instructions.filter(({ word }) => word === 'FROM'))
      expect(rest).toMatch(/\$\{(NODE|DEBIAN)\}/);
  });

  test('its labels name the version of the package', () => {
    const [labels = ''] = lastStage.filter(({ word }) => word === 'LABEL').map(({ rest }) => rest);
    expect(labels).toContain(`org.opencontainers.image.version="${version}"`);
    for (const name of ['title', 'description', 'licenses'])
      expect(labels).toMatch(new RegExp(`org\\.opencontainers\\.image\\.${name}="[^"]+"`));
  });

  test('only the stage that makes the bundle is tied to the platform of the builder', () => {
    const bound = instructions.filter(({ word, rest }) => word === 'FROM' && rest.includes('--platform'));
    expect(bound.map(({ rest }) => rest.split(' AS ')[1])).toEqual(['build']);
    expect(dockerfile).not.toMatch(/amd64\.|x86_64|arm64\./);
  });

  test('what a builder gets is enough for all files of the package', () => {
    const files = packedFiles(join(made, 'package'));
    expect(files.filter((path) => !path.startsWith('dist/'))).toEqual(declaredFiles());
    expect(files.filter((path) => path.startsWith('dist/')).length).toBeGreaterThan(100);
    const copies = lastStage.filter(({ word, rest }) => word === 'COPY' && rest.includes('--from=build'));
    expect(copies.map(({ rest }) => rest)).toEqual(['--from=build /build/package ./']);
  });

  test('nothing secret and nothing of the machine gets into it', () => {
    expect(dockerfile).not.toMatch(/ADD |curl|wget|_TOKEN|PASSWORD/);
  });
});

const isRoot = process.getuid?.() === 0;
const canUnshare = isRoot && !noProgram('unshare') && succeeds(programPath('unshare'), ['--mount', 'true']);

/**
 * The command line that runs a program as the user of the image, with everything but `writable` read-only, as far as the
 * rights of the tests go: without them what the image holds is read-only by its modes.
 */
function confined(program: readonly string[], writable: string): readonly string[] {
  if (!isRoot) return program;
  const asUser = [programPath('setpriv'), '--reuid=65532', '--regid=65532', '--clear-groups', ...program];
  if (!canUnshare) return asUser;
  const script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind / && exec "$@"';
  return [programPath('unshare'), '--mount', 'sh', '-c', script, writable, ...asUser];
}

function succeeds(command: string, args: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(isRoot && noProgram('setpriv'))(
  'what the image holds, as an unprivileged user who may write nowhere in it',
  () => {
    let root: string;
    let work: string;
    const stoppers: (() => Promise<void>)[] = [];

    beforeAll(() => {
      root = mkdtempSync(join(tmpdir(), 'fleetrelay-image-'));
      work = mkdtempSync(join(tmpdir(), 'fleetrelay-work-'));
      cpSync(join(made, 'package'), join(root, 'opt', 'fleetrelay'), { recursive: true });
      cpSync(process.execPath, join(root, 'node'));
      chmodSync(root, 0o755);
      execFileSync('chmod', ['-R', 'a-w,a+rX', root]);
      chmodSync(work, 0o777);
    });

    afterAll(async () => {
      for (const stop of stoppers.reverse()) await stop();
      execFileSync('chmod', ['-R', 'u+w', root]);
      for (const folder of [root, work]) rmSync(folder, { recursive: true, force: true });
    });

    /** The program as the image starts it; the environment holds nothing of this machine's. */
    const start = (args: readonly string[]) => {
      const program = [join(root, 'node'), join(root, 'opt/fleetrelay/bin/fleetrelay.cjs'), ...args];
      const [command = '', ...rest] = confined(program, work);
      const child = spawn(command, rest, {
        cwd: join(root, 'opt/fleetrelay'),
        env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', NODE_ENV: 'production', NODE_COMPILE_CACHE: join(work, 'cache') },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const said: string[] = [];
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (text: Buffer) => said.push(text.toString()));
      const ended = new Promise<number | NodeJS.Signals | null>((resolve) =>
        child.once('exit', (code, signal) => resolve(signal ?? code)),
      );
      const stop = async (): Promise<void> => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        child.kill('SIGKILL');
        await ended;
      };
      stoppers.push(stop);
      return { child, ended, output: () => said.join('') };
    };

    const addressIn = (text: string, pattern: RegExp): string | undefined => pattern.exec(text)?.[1];

    test.skipIf(!canUnshare)('nothing can be written but where something is mounted', async () => {
      const script =
        'for (const to of process.argv.slice(1)) try { fs.writeFileSync(to, ""); console.log(to) } catch {}';
      const [command = '', ...rest] = confined([join(root, 'node'), '--eval', script], work);
      const places = [join(root, 'x'), '/tmp/x', '/var/tmp/x', join(work, 'x')];
      expect(execFileSync(command, [...rest, ...places], { encoding: 'utf8' }).trim()).toBe(join(work, 'x'));
    });

    test.for([
      ['serve', 'kustomize/management-server/stateful-set.yaml'],
      ['agent', 'kustomize/agent/deployment.yaml'],
      ['serve', 'helm/fleetrelay/templates/stateful-set.yaml'],
      ['agent', 'helm/fleetrelay-agent/templates/deployment.yaml'],
    ] as const)('it knows every argument of %s in %s', async ([command, path]) => {
      const help = start([command, '--help']);
      expect(await help.ended).toBe(0);
      const known = new Set(help.output().match(/--[a-z][a-z-]+/g));
      const manifest = readFileSync(join(PROJECT, 'deploy', path), 'utf8');
      const given = [...manifest.matchAll(/^ +- (--[a-z][a-z-]+)/gm)].map(([, flag]) => flag);
      expect(given.length).toBeGreaterThan(1);
      expect(given.filter((flag) => flag === undefined || !known.has(flag))).toEqual([]);
    });

    test('commands that read files of the package find them', async () => {
      writeFileSync(join(work, 'map.yaml'), 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n');
      const commands = [
        ['explain', 'FR2003'],
        ['schema', 'export', join(work, 'schemas')],
        ['validate', join(work, 'map.yaml')],
        ['version'],
      ];
      for (const command of commands) {
        const { ended, output } = start(command);
        expect(await ended, `${command.join(' ')}: ${output()}`).toBe(0);
      }
    });

    test('server and agent start, are healthy, and end on SIGTERM', async () => {
      for (const folder of ['desired', 'cluster']) {
        mkdirSync(join(work, folder));
        chmodSync(join(work, folder), 0o777);
      }
      writeFileSync(
        join(work, 'desired', 'east.yaml'),
        'apiVersion: admin.gloo.solo.io/v2\nkind: KubernetesCluster\nmetadata:\n  name: east\n',
      );
      const data = join(work, 'data');
      const listening = ['--listen', '127.0.0.1:0', '--http', '127.0.0.1:0', '--metrics', '127.0.0.1:0'];
      const server = start(['serve', '--folder', join(work, 'desired'), '--data-dir', data, ...listening]);
      const metrics = await until('the server is up', async () => addressIn(server.output(), /"metrics":"([^"]+)"/));
      await until('the server is ready', async () => (await fetch(`${metrics}/readyz`)).ok);
      const relay = addressIn(server.output(), /"relay":"([^"]+)"/) ?? '';
      const token = start(['cluster', 'token', 'east', '--data-dir', data]);
      expect(await token.ended).toBe(0);
      writeFileSync(join(work, 'token'), token.output());
      const agent = start([
        ...['agent', '--cluster', 'east', '--server', relay.replace('0.0.0.0', '127.0.0.1')],
        ...['--token-file', join(work, 'token'), '--ca-file', join(data, 'trust', 'ca.crt')],
        ...['--directory', join(work, 'cluster'), '--metrics', '127.0.0.1:0'],
      ]);
      const health = await until('the agent is up', async () => addressIn(agent.output(), /"health":"([^"]+)"/));
      await until('the agent is ready', async () => (await fetch(`${health}/readyz`)).ok);
      expect((await fetch(`${health}/healthz`)).ok).toBe(true);
      for (const { child, ended, output } of [agent, server]) {
        child.kill('SIGTERM');
        expect(await ended, output()).toBe(0);
      }
    });
  },
);
