import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { makeFolders } from '../../adapters/disk/folders.ts';
import { compareText, type JsonObject } from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';
import { createCustomKinds, isDefinition } from '../../validation/custom/custom-kinds.ts';
import { type KubernetesVersion, openKubernetesSchemas } from '../../validation/kubernetes-schemas.ts';
import { jsonSchemaOf, schemaFileName } from '../../validation/to-json-schema.ts';
import { systemDeps } from '../kube.ts';
import { documentsOf, readCheckout } from '../read-checkout.ts';
import { ownSchemas } from './own-schemas.ts';

/** What `fleetrelay schema export` writes. Folders are relative to `cwd`. */
export interface SchemaExportRequest {
  readonly folder: string;
  readonly versions: readonly KubernetesVersion[];
  /** The kinds of CustomResourceDefinitions in these folders are exported as well. */
  readonly definitionFolders: readonly string[];
  readonly cwd: string;
}

/** A folder with the schemas of one version of Kubernetes. */
export interface ExportedVersion {
  /** As kubeconform names it: `v1.36.3-standalone-strict`. */
  readonly folder: string;
  readonly kubernetesVersion: KubernetesVersion;
  /** Number of schemas. */
  readonly kinds: number;
}

/**
 * Writes the JSON Schemas of all kinds in kubeconform's layout, `VERSION-standalone-strict/KIND-GROUP-VERSION.json`, and an
 * `all.json` for editors that accepts any of them. Rejects with a text for a person.
 */
export async function exportSchemas(request: SchemaExportRequest): Promise<readonly ExportedVersion[]> {
  const { cwd, versions } = request;
  const target = resolve(cwd, request.folder);
  const definitions = (
    await Promise.all(request.definitionFolders.map((folder) => definitionsIn(resolve(cwd, folder))))
  ).flat();
  const own = await ownSchemas();
  const custom = createCustomKinds(definitions).all();
  const exported: ExportedVersion[] = [];
  for (const version of versions) {
    const kubernetes = await openKubernetesSchemas(version);
    const schemas = new Map([
      ...own.map((kind) => [schemaFileName(kind), kind.schema] as const),
      ...[...kubernetes.all(), ...custom].map((kind) => [schemaFileName(kind), jsonSchemaOf(kind)] as const),
    ]);
    const folder = `${kubernetes.release}-standalone-strict`;
    await writeSchemas(join(target, folder), schemas);
    exported.push({ folder, kubernetesVersion: version, kinds: schemas.size });
  }
  return exported;
}

async function definitionsIn(folder: string): Promise<readonly JsonObject[]> {
  const checkout = await readCheckout(systemDeps(), folder);
  const found = documentsOf(checkout, ({ content }) => content.type === 'object' && isDefinition(content.value));
  return found.flatMap(({ document: { content } }) => (content.type === 'object' ? [content.value] : []));
}

async function writeSchemas(folder: string, schemas: ReadonlyMap<string, JsonObject>): Promise<void> {
  const names = [...schemas.keys()].sort(compareText);
  const all = { $schema: 'http://json-schema.org/draft-07/schema#', oneOf: names.map((name) => ({ $ref: name })) };
  try {
    await makeFolders(folder);
    for (const name of names) await writeFile(join(folder, name), `${JSON.stringify(schemas.get(name))}\n`);
    await writeFile(join(folder, 'all.json'), `${JSON.stringify(all)}\n`);
  } catch (error) {
    throw new Error(`the schemas cannot be written to ${folder}: ${errorText(error)}`);
  }
}
