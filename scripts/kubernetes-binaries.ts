/**
 * `npm run kubernetes-binaries`: sees to it that the programs for tests on Kubernetes are here: those that are missing are
 * built from Go modules (`test/kubernetes/`), in about six minutes, into a cache folder. Exit code 1 if some cannot be had.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  builtFolder,
  findKubernetesPrograms,
  howToGetKubernetesPrograms,
  KUBERNETES_VERSION,
} from './local/kubernetes-programs.ts';

/** A program that can be built here. */
interface Buildable {
  readonly name: string;
  /** Go module below `test/kubernetes/` that pins it. */
  readonly module: string;
  readonly package: string;
  readonly ldflags: string;
}

const TIME_LIMIT_MS = 20 * 60_000;
const modules = join(import.meta.dirname, '..', 'test', 'kubernetes');

const [major = '', minor = ''] = KUBERNETES_VERSION.slice(1).split('.');
// kubectl refuses to talk to a server if it does not know its own version.
const version = { gitVersion: KUBERNETES_VERSION, gitMajor: major, gitMinor: minor };
const kubernetes = Object.entries(version).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);

const PROGRAMS: readonly Buildable[] = [
  { name: 'etcd', module: 'binaries', package: 'go.etcd.io/etcd/server/v3', ldflags: '-s -w' },
  ...['kubectl', 'kube-apiserver', 'kube-controller-manager'].map((name) => ({
    name,
    module: 'binaries',
    package: `k8s.io/kubernetes/cmd/${name}`,
    ldflags: ['-s -w', ...kubernetes].join(' '),
  })),
  { name: 'helm', module: 'helm', package: 'helm.sh/helm/v4/cmd/helm', ldflags: '-s -w' },
];

/** Runs Go to its end; resolves with what it said if it failed. */
function go(args: readonly string[], cwd: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const env = { ...process.env, CGO_ENABLED: '0' };
    const child = spawn('go', args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'], timeout: TIME_LIMIT_MS });
    let said = '';
    child.stderr.on('data', (text: Buffer) => {
      said = `${said}${text.toString()}`.slice(-4_000);
    });
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(code === 0 ? undefined : `${said}go ended with ${code ?? signal}`));
  });
}

/** What is half built never lies where it counts: it is moved there when it is whole. */
async function build(program: Buildable, folder: string): Promise<string | undefined> {
  await mkdir(folder, { recursive: true });
  const aside = await mkdtemp(join(folder, '.building-'));
  try {
    const file = join(aside, program.name);
    const args = ['build', '-trimpath', '-ldflags', program.ldflags, '-o', file, program.package];
    const problem = await go(args, join(modules, program.module));
    if (problem === undefined) await rename(file, join(folder, program.name));
    return problem;
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

async function main(): Promise<number> {
  const { KUBEBUILDER_ASSETS: assets } = process.env;
  if (assets !== undefined && assets !== '') {
    const found = findKubernetesPrograms(process.env);
    console.log(
      found === undefined ? howToGetKubernetesPrograms(process.env) : `KUBEBUILDER_ASSETS has them: ${assets}`,
    );
    return found === undefined ? 1 : 0;
  }
  const folder = builtFolder(process.env);
  const missing = PROGRAMS.filter(({ name, module }) => {
    return existsSync(join(modules, module, 'go.mod')) && !existsSync(join(folder, name));
  });
  if (missing.length > 0 && (await go(['version'], modules)) !== undefined) {
    console.log(howToGetKubernetesPrograms(process.env));
    console.log('Go is not here to build them.');
    return 1;
  }
  for (const [index, program] of missing.entries()) {
    console.log(`[${index + 1}/${missing.length}] building ${program.name} ...`);
    const started = performance.now();
    const problem = await build(program, folder);
    if (problem !== undefined) {
      console.log(`${program.name} cannot be built:\n${problem}`);
      return 1;
    }
    console.log(`      done in ${Math.round((performance.now() - started) / 1000)} s`);
  }
  console.log(`all of them are in ${folder}`);
  return 0;
}

process.exitCode = await main();
