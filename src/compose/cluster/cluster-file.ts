import { mkdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { load, loadAll } from 'js-yaml';
import { decodeFile } from '../../manifest/decode-file.ts';
import { printYaml } from '../../manifest/print-yaml.ts';
import type { SourceDocument } from '../../model/desired.ts';
import { displayDiagnostic, displayLocation } from '../../model/diagnostic.ts';
import type { ClusterName } from '../../model/ids.ts';
import { type JsonObject, type JsonValue, jsonEquals } from '../../model/json.ts';
import { suggestion } from '../../model/messages.ts';
import type { Log } from '../../ports/log.ts';
import { type Checkout, documentsOf, readCheckout } from '../read-checkout.ts';
import type { Step } from '../step.ts';

/** What a KubernetesCluster is to say. */
export interface ClusterDescription {
  readonly name: ClusterName;
  readonly labels: Readonly<Record<string, string>>;
  readonly clusterDomain?: string;
  readonly skipWarming: boolean;
}

/** The KubernetesCluster of a cluster. Throws with a text for a person if a server would not take it. */
export function clusterManifest({ name, labels, clusterDomain, skipWarming }: ClusterDescription): JsonObject {
  const spec = {
    ...(clusterDomain === undefined ? {} : { clusterDomain }),
    ...(skipWarming ? { skipWarming } : {}),
  };
  const manifest = {
    apiVersion: 'admin.gloo.solo.io/v2',
    kind: 'KubernetesCluster',
    metadata: { name, ...(Object.keys(labels).length === 0 ? {} : { labels }) },
    ...(Object.keys(spec).length === 0 ? {} : { spec }),
  };
  const { diagnostics } = decodeFile('cluster.yaml', new TextEncoder().encode(printYaml(manifest)), '');
  const [wrong] = diagnostics.filter(({ severity }) => severity === 'error');
  if (wrong === undefined) return manifest;
  const { at: _nowhere, ...said } = wrong;
  throw new Error(`no KubernetesCluster can be made of this: ${displayDiagnostic(said)}`);
}

/** How a file is written. */
export interface FileWriting {
  readonly force: boolean;
  readonly dryRun: boolean;
}

/**
 * Writes the KubernetesCluster into a checkout, at `clusters/NAME/cluster.yaml` unless a file declares the cluster
 * already. Rejects with a text for a person instead of replacing what somebody else wrote.
 */
export async function writeIntoCheckout(
  deps: { readonly log: Log },
  folder: string,
  manifest: JsonObject,
  name: ClusterName,
  writing: FileWriting,
): Promise<Step> {
  const checkout = await readCheckout(deps, folder);
  const [declared] = declarationsOf(checkout, name);
  const path = declared?.path ?? `clusters/${name}/cluster.yaml`;
  if (declared !== undefined && declared.others > 0) {
    if (await holdsSame(join(checkout.folder, path), manifest)) {
      return { what: displayName(name), outcome: 'unchanged', where: path };
    }
    throw new Error(`${path} declares ${name} otherwise, beside other documents: change it there by hand`);
  }
  return { ...(await writeClusterFile(join(checkout.folder, path), manifest, name, writing)), where: path };
}

/** Writes the KubernetesCluster into one file; a file that says the same in other words is left as it is. */
export async function writeClusterFile(
  path: string,
  manifest: JsonObject,
  name: ClusterName,
  { force, dryRun }: FileWriting,
): Promise<Step> {
  const there = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  const what = displayName(name);
  if (there !== undefined && jsonEquals(parsed(there), manifest)) return { what, outcome: 'unchanged', where: path };
  if (there !== undefined && !force) {
    throw new Error(`${path} is there and says something else; look at it, or replace it with --force`);
  }
  if (!dryRun) await replaceFile(path, printYaml(manifest));
  return {
    what,
    outcome: there === undefined ? 'created' : 'changed',
    where: path,
    ...(dryRun ? { dryRun: true } : {}),
  };
}

/** Takes the KubernetesCluster out of a checkout. Rejects if its file holds more than that. */
export async function removeFromCheckout(
  deps: { readonly log: Log },
  folder: string,
  name: ClusterName,
  dryRun: boolean,
): Promise<readonly Step[]> {
  const checkout = await readCheckout(deps, folder);
  const declared = declarationsOf(checkout, name);
  const what = displayName(name);
  if (declared.length === 0) return [absentFrom(checkout, name)];
  for (const { path, document, others } of declared) {
    if (others === 0) continue;
    const at = displayLocation(await checkout.locate(path, document.identity));
    throw new Error(`${at} declares ${name} beside other documents: take it out there by hand`);
  }
  for (const { path } of declared) if (!dryRun) await unlink(join(checkout.folder, path));
  return declared.map(({ path }) => ({ what, outcome: 'removed', where: path, ...(dryRun ? { dryRun: true } : {}) }));
}

/** Nothing is there to be taken out; of a name that was mistyped, what was meant. */
function absentFrom(checkout: Checkout, name: ClusterName): Step {
  const known = documentsOf(checkout, (document) => clusterOf(document) !== undefined).map(
    ({ document }) => clusterOf(document) ?? '',
  );
  const meant = suggestion(name, known);
  const message = meant === undefined ? 'no file declares it' : `no file declares it; did you mean ${meant}?`;
  return { what: displayName(name), outcome: 'absent', where: checkout.folder, message };
}

/** Removes one file, if it declares this cluster and nothing else. */
export async function removeClusterFile(path: string, name: ClusterName, dryRun: boolean): Promise<Step> {
  const what = displayName(name);
  const bytes = await readFile(path).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (bytes === undefined) return { what, outcome: 'absent', where: path };
  const { reading } = decodeFile(path, bytes, '');
  const documents = reading.readable ? reading.documents : [];
  if (!documents.some((document) => declares(document, name))) {
    throw new Error(`${path} declares no KubernetesCluster ${name}`);
  }
  if (documents.length > 1) {
    throw new Error(`${path} declares ${name} beside other documents: take it out there by hand`);
  }
  if (!dryRun) await unlink(path);
  return { what, outcome: 'removed', where: path, ...(dryRun ? { dryRun: true } : {}) };
}

function declarationsOf(checkout: Checkout, name: ClusterName): ReturnType<typeof documentsOf> {
  return documentsOf(checkout, (document) => declares(document, name));
}

function declares(document: SourceDocument, name: ClusterName): boolean {
  return clusterOf(document) === name;
}

/** The cluster that the document declares. */
function clusterOf({ content }: SourceDocument): ClusterName | undefined {
  return content.type === 'declaration' && content.kind === 'KubernetesCluster' ? content.value.name : undefined;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

async function holdsSame(path: string, manifest: JsonObject): Promise<boolean> {
  const documents = loadAll(await readFile(path, 'utf8')) as readonly JsonValue[];
  return documents.some((document) => jsonEquals(document, manifest));
}

function parsed(text: string): JsonValue | undefined {
  try {
    return load(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Whole or not at all: a server that follows the folder must never read half a file. */
export async function replaceFile(path: string, text: string, mode = 0o644): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const beside = `${path}.${process.pid}.tmp`;
  try {
    await writeFile(beside, text, { mode, flag: 'wx' });
    await rename(beside, path);
  } catch (error) {
    await unlink(beside).catch(() => undefined);
    throw error;
  }
}

function displayName(name: ClusterName): string {
  return `KubernetesCluster ${name}`;
}
