/** A repository of many documents, of which each goes to a quarter of the clusters. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export const DOCUMENTS = 10_000;
export const CLUSTERS = 100;
const GROUPS = 4;
/** What the clusters hold together. */
export const OUTPUTS = (DOCUMENTS * CLUSTERS) / GROUPS;

/** Writes the repository: a file for each document. */
export async function writeRepository(folder: string): Promise<void> {
  await mkdir(join(folder, 'fleet'), { recursive: true });
  for (let cluster = 0; cluster < CLUSTERS; cluster += 1) {
    await writeFile(join(folder, `fleet/c${cluster}.yaml`), clusterOf(cluster));
  }
  for (let group = 0; group < GROUPS; group += 1) {
    await mkdir(join(folder, `apps/g${group}`), { recursive: true });
    await writeFile(join(folder, `fleet/p${group}.yaml`), placementOf(group));
  }
  for (let document = 0; document < DOCUMENTS; document += 1) {
    await writeFile(join(folder, `apps/g${document % GROUPS}/d${document}.yaml`), configMapOf(document));
  }
}

function clusterOf(cluster: number): string {
  return `apiVersion: admin.gloo.solo.io/v2
kind: KubernetesCluster
metadata:
  name: c${cluster}
  labels: { group: g${cluster % GROUPS} }
`;
}

function placementOf(group: number): string {
  return `apiVersion: fleetrelay.dev/v1alpha1
kind: Placement
metadata:
  name: p${group}
spec:
  paths: ['apps/g${group}/**']
  clusters: { selector: { matchLabels: { group: g${group} } } }
`;
}

function configMapOf(document: number): string {
  return `apiVersion: v1
kind: ConfigMap
metadata:
  name: d${document}
  namespace: web
data:
  key: value ${document}
  other: text
`;
}
