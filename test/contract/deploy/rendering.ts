import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { loadAll } from 'js-yaml';
import { programPath } from '../../support/programs.ts';

export const PROJECT = join(import.meta.dirname, '..', '..', '..');
/** Folder of the charts, below the project. */
export const CHARTS = join('deploy', 'helm');

/** A Kubernetes object as a person reads it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads out of a manifest is its own claim about it
  readonly [field: string]: any;
}

/** Runs helm; rejects with what it said. */
export async function runHelm(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  const { stdout } = await promisify(execFile)(programPath('helm'), args, {
    timeout: 120_000,
    env: { ...process.env, HELM_NO_PLUGINS: '1', ...env },
  });
  return stdout;
}

export interface Release {
  readonly name: string;
  readonly namespace: string;
  readonly values: object;
}

/** Arguments of helm for a chart of the project with these values; the folder is for the file with the values. */
export function releaseArguments(folder: string, chart: string, { name, namespace, values }: Release): string[] {
  const file = join(folder, 'values.json');
  writeFileSync(file, JSON.stringify(values));
  return [name, join(PROJECT, CHARTS, chart), '--namespace', namespace, '--values', file];
}

/** The objects of a chart as rendered with these values. Rejects with what helm said. */
export async function renderChart(chart: string, release: Release): Promise<readonly Manifest[]> {
  return await inFolder(async (folder) =>
    objectsOf(await runHelm(['template', ...releaseArguments(folder, chart, release)])),
  );
}

/** What helm finds wrong with a chart; empty if nothing. */
export async function lintChart(chart: string, values: object): Promise<string> {
  return await inFolder(async (folder) => {
    const file = join(folder, 'values.json');
    writeFileSync(file, JSON.stringify(values));
    return await runHelm(['lint', '--strict', '--quiet', join(PROJECT, CHARTS, chart), '--values', file]);
  });
}

/** The objects of a kustomization below `deploy/kustomize`, or of an overlay that is written beside copies of nothing. */
export async function renderKustomization(path: string): Promise<readonly Manifest[]> {
  const { stdout } = await promisify(execFile)(programPath('kubectl'), ['kustomize', path], { timeout: 120_000 });
  return objectsOf(stdout);
}

/** As {@link renderKustomization}, for an overlay as a user writes it: `files` in a folder of its own; `deploy` in them is ours. */
export async function renderOverlay(files: Readonly<Record<string, string>>): Promise<readonly Manifest[]> {
  return await inFolder(async (folder) => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    return await renderKustomization(folder);
  });
}

export function objectsOf(yaml: string): readonly Manifest[] {
  return loadAll(yaml).filter((value): value is Manifest => typeof value === 'object' && value !== null);
}

/** Kustomize wants bases by a relative path: hence a folder inside the project. */
export async function inFolder<Value>(use: (folder: string) => Promise<Value>): Promise<Value> {
  const parent = join(PROJECT, 'node_modules', '.cache', 'deploy-tests');
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'x'));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
