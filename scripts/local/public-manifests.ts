import { spawn } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Manifests of a well-known project, as its Go module has them. */
export interface PublicManifests {
  readonly name: string;
  readonly module: string;
  readonly version: string;
  /** Globs of the plain manifests in the module, without charts, kustomizations and their parts. */
  readonly files: readonly string[];
}

const SETS = {
  'kube-prometheus': {
    module: 'github.com/prometheus-operator/kube-prometheus',
    version: 'v0.17.0',
    files: ['manifests/*.yaml', 'manifests/setup/*.yaml'],
  },
  'argo-cd': {
    module: 'github.com/argoproj/argo-cd/v3',
    version: 'v3.4.0',
    files: ['manifests/install.yaml', 'manifests/ha/install.yaml'],
  },
  'cert-manager': {
    module: 'github.com/cert-manager/cert-manager',
    version: 'v1.21.2',
    files: ['deploy/crds/*.yaml'],
  },
  calico: {
    module: 'github.com/projectcalico/calico',
    version: 'v1.11.0-cni-plugin.0.20250813170300-a0db560f0520',
    files: ['manifests/*.yaml'],
  },
  'gateway-api': {
    module: 'sigs.k8s.io/gateway-api',
    version: 'v1.4.1',
    files: ['config/crd/standard/*.yaml'],
  },
  'ingress-nginx': {
    module: 'k8s.io/ingress-nginx',
    version: 'v0.0.0-20240708192948-52c50467d67d',
    files: ['deploy/static/provider/*/deploy.yaml'],
  },
} as const;

export type PublicName = keyof typeof SETS;

export const publicNames = Object.keys(SETS) as readonly PublicName[];

/** The manifests by path in the module; `problem`: why they cannot be had. */
export type PublicFiles =
  | { readonly ok: true; readonly files: ReadonlyMap<string, Uint8Array> }
  | { readonly ok: false; readonly problem: string };

const TIME_LIMIT_MS = 5 * 60_000;

/** Reads the manifests from the cache folder, to which `go mod download` brings them when they are first asked for. */
export async function publicManifests(name: PublicName): Promise<PublicFiles> {
  const set: PublicManifests = { name, ...SETS[name] };
  const folder = cacheFolder(set);
  if (!existsSync(folder)) {
    const problem = await download(set, folder);
    if (problem !== undefined) return { ok: false, problem: `${set.module}@${set.version}: ${problem}` };
  }
  const files = new Map<string, Uint8Array>();
  for (const path of filesIn(set, folder)) files.set(path, await readFile(join(folder, path)));
  return { ok: true, files };
}

function cacheFolder({ name, version }: PublicManifests): string {
  const cache = process.env.XDG_CACHE_HOME ?? join(process.env.HOME ?? homedir(), '.cache');
  return join(cache, 'fleetrelay', 'public-manifests', `${name}-${version}`);
}

function filesIn({ files }: PublicManifests, folder: string): readonly string[] {
  return files.flatMap((pattern) => globSync(pattern, { cwd: folder })).sort();
}

/** Returns the reason if it fails. An incomplete folder never has the final name. */
async function download(set: PublicManifests, folder: string): Promise<string | undefined> {
  const answer = await goModDownload(`${set.module}@${set.version}`);
  if ('problem' in answer) return answer.problem;
  await mkdir(dirname(folder), { recursive: true });
  const aside = await mkdtemp(join(dirname(folder), '.downloading-'));
  try {
    for (const path of filesIn(set, answer.folder)) {
      await mkdir(dirname(join(aside, path)), { recursive: true });
      await copyFile(join(answer.folder, path), join(aside, path));
    }
    await rename(aside, folder);
    return undefined;
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

function goModDownload(module: string): Promise<{ readonly folder: string } | { readonly problem: string }> {
  return new Promise((resolve) => {
    const args = ['mod', 'download', '-json', module];
    const child = spawn('go', args, { cwd: tmpdir(), stdio: ['ignore', 'pipe', 'ignore'], timeout: TIME_LIMIT_MS });
    let text = '';
    child.stdout.on('data', (part: Buffer) => {
      text += part.toString();
    });
    child.once('error', (error) => resolve({ problem: error.message }));
    child.once('close', () => resolve(readAnswer(text)));
  });
}

/** Go prints one JSON object, with `Dir` or `Error`. */
function readAnswer(text: string): { readonly folder: string } | { readonly problem: string } {
  try {
    const { Dir, Error: problem } = JSON.parse(text) as { readonly Dir?: string; readonly Error?: string };
    return Dir === undefined ? { problem: problem ?? 'Go names no folder' } : { folder: Dir };
  } catch {
    return { problem: 'Go gives no answer' };
  }
}
