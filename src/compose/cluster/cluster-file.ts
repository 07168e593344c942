import { readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import { decoders } from '../../domains/decoders.ts';
import { decodeFile } from '../../manifest/decode-file.ts';
import { printYaml } from '../../manifest/print-yaml.ts';
import { displayDiagnostic, displayLocation } from '../../model/fleet/diagnostic.ts';
import type { ClusterName } from '../../model/fleet/ids.ts';
import { type JsonObject, type JsonValue, jsonEquals } from '../../model/text/json.ts';
import { suggestion } from '../../model/text/messages.ts';
import { systemDeps } from '../kube.ts';
import { clusterDeclaredIn, documentsOf, readCheckout } from '../read-checkout.ts';
import type { Step } from '../step.ts';
import { type FileWriting, writeOnce } from '../write-once.ts';

/** The KubernetesCluster of a cluster. Throws with a text for a person if a server would not take it. */
export function clusterManifest(name: ClusterName, labels: Readonly<Record<string, string>> = {}): JsonObject {
  const manifest = {
    apiVersion: 'admin.gloo.solo.io/v2',
    kind: 'KubernetesCluster',
    metadata: { name, ...(Object.keys(labels).length === 0 ? {} : { labels }) },
  };
  const { diagnostics } = decodeFile('cluster.yaml', new TextEncoder().encode(printYaml(manifest)), '', { decoders });
  const wrong = diagnostics.find(({ severity }) => severity === 'error');
  if (wrong === undefined) return manifest;
  const { at: _nowhere, ...rest } = wrong;
  throw new Error(`no KubernetesCluster can be made of this: ${displayDiagnostic(rest)}`);
}

/**
 * Writes a KubernetesCluster into a checkout, at `clusters/NAME/cluster.yaml` unless a file declares the cluster already.
 * Rejects with a text for a person instead of replacing a file with other content.
 */
export async function writeIntoCheckout(
  folder: string,
  manifest: JsonObject,
  name: ClusterName,
  writing: FileWriting,
): Promise<Step> {
  const checkout = await readCheckout(systemDeps(), folder);
  const [declared] = documentsOf(checkout, (document) => clusterDeclaredIn(document) === name);
  const where = declared?.path ?? `clusters/${name}/cluster.yaml`;
  const path = join(checkout.folder, where);
  const what = displayName(name);
  if (declared === undefined || declared.others === 0) {
    const isSame = (text: string): boolean => documentsIn(text).some((document) => jsonEquals(document, manifest));
    return { ...(await writeOnce(what, path, printYaml(manifest), isSame, writing)), where };
  }
  const there = documentsIn(await readFile(path, 'utf8'));
  if (there.some((document) => jsonEquals(document, manifest))) return { what, outcome: 'unchanged', where };
  throw new Error(`${where} declares ${name} otherwise, beside other documents: change it there by hand`);
}

/** Takes a KubernetesCluster out of a checkout. Rejects if its file holds more than that. */
export async function removeFromCheckout(folder: string, name: ClusterName, dryRun: boolean): Promise<readonly Step[]> {
  const checkout = await readCheckout(systemDeps(), folder);
  const clusters = documentsOf(checkout, (document) => clusterDeclaredIn(document) !== undefined);
  const declared = clusters.filter(({ document }) => clusterDeclaredIn(document) === name);
  const what = displayName(name);
  if (declared.length === 0) {
    const known = clusters.map(({ document }) => clusterDeclaredIn(document) ?? '');
    const meant = suggestion(name, known);
    const message = meant === undefined ? 'no file declares it' : `no file declares it; did you mean ${meant}?`;
    return [{ what, outcome: 'absent', where: checkout.folder, message }];
  }
  for (const { path, document, others } of declared) {
    if (others === 0) continue;
    const at = displayLocation(await checkout.locate(path, document.identity));
    throw new Error(`${at} declares ${name} beside other documents: take it out there by hand`);
  }
  for (const { path } of declared) if (!dryRun) await unlink(join(checkout.folder, path));
  return declared.map(({ path }) => ({ what, outcome: 'removed', where: path, dryRun }));
}

/** The documents of a file; none if it is no YAML. */
function documentsIn(text: string): readonly JsonValue[] {
  try {
    return loadAll(text) as readonly JsonValue[];
  } catch {
    return [];
  }
}

function displayName(name: ClusterName): string {
  return `KubernetesCluster ${name}`;
}
