import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { resourcePath } from '../../../src/adapters/kubernetes/api/paths.ts';
import type { KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { metadataOf } from '../../../src/model/objects/object-key.ts';
import { type JsonObject, objectOf, textOf } from '../../../src/model/text/json.ts';
import { createObjectCheck } from '../../../src/validation/check-object.ts';
import type { KubernetesSchemas } from '../../../src/validation/kubernetes-schemas.ts';
import type { KindSchema } from '../../../src/validation/values/schema.ts';
import { decodeFile } from '../decode-file.ts';
import { mutationsOf } from './mutations.ts';

/** A manifest that one side refuses and the other accepts. */
export interface Disagreement {
  /** `apps/v1 Deployment`. */
  readonly kind: string;
  readonly manifest: string;
  readonly change: string;
  readonly refusedBy: 'fleetrelay' | 'server';
  /** The words of the side that refuses it. */
  readonly message: string;
}

/** The manifests with most of the fields of each kind that a server offers by default. */
export function acceptedManifests(): readonly JsonObject[] {
  const folder = join(import.meta.dirname, '../../contract/kubernetes-api/accepted');
  return globSync('*.yaml', { cwd: folder })
    .sort()
    .flatMap((file) => parseAllDocuments(readFileSync(join(folder, file), 'utf8')))
    .map((document) => objectOf(document.toJS()));
}

const IN_FLIGHT = 8;

/**
 * Changes each manifest in every way that {@link mutationsOf} knows, and asks the API server (without writing) and the check
 * of objects whether they take it. The first change of each manifest is none.
 */
export async function findDisagreements(
  { client, kubernetes }: { readonly client: KubeClient; readonly kubernetes: KubernetesSchemas },
  manifests: readonly JsonObject[],
): Promise<{ readonly asked: number; readonly disagreements: readonly Disagreement[] }> {
  const check = createObjectCheck({ kubernetes });
  const found: Disagreement[] = [];
  let asked = 0;
  const compare = async (
    schema: KindSchema,
    manifest: JsonObject,
    change: string,
    object: JsonObject,
  ): Promise<void> => {
    const bytes = new TextEncoder().encode(JSON.stringify(object));
    const { diagnostics } = decodeFile('a.json', bytes, '', { check });
    const ours = diagnostics.find(({ severity }) => severity === 'error');
    const theirs = await refusalOf(client, schema, object);
    asked += 1;
    if ((ours === undefined) === (theirs === undefined)) return;
    found.push({
      kind: `${textOf(manifest.apiVersion)} ${schema.kind}`,
      manifest: textOf(metadataOf(manifest).name),
      change,
      refusedBy: ours === undefined ? 'server' : 'fleetrelay',
      message: ours === undefined ? (theirs ?? '') : `${ours.reason}: ${ours.message}`,
    });
  };
  function* work(): Generator<() => Promise<void>> {
    for (const manifest of manifests) {
      const [group = '', version = ''] = groupAndVersion(textOf(manifest.apiVersion));
      const schema = kubernetes.find(group, version, textOf(manifest.kind));
      if (schema === undefined) throw new Error(`no schema of ${JSON.stringify(manifest)}`);
      yield () => compare(schema, manifest, 'no change', manifest);
      for (const { name, object } of mutationsOf(schema, manifest)) yield () => compare(schema, manifest, name, object);
    }
  }
  const queue = work();
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      for (const task of queue) await task();
    }),
  );
  return { asked, disagreements: found };
}

function groupAndVersion(apiVersion: string): readonly string[] {
  return apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
}

/** The words with which the server refuses to create the object; undefined if it accepts it. */
async function refusalOf(
  client: KubeClient,
  schema: KindSchema,
  object: JsonObject,
  attempts = 3,
): Promise<string | undefined> {
  const { group, version, plural, namespaced } = schema;
  const namespace = textOf(metadataOf(object).namespace) || 'default';
  const path = resourcePath({ resource: { group, version, resource: plural }, ...(namespaced ? { namespace } : {}) });
  const query = { dryRun: 'All', fieldValidation: 'Strict' };
  const answer = await client.request({ method: 'POST', path, query, body: object });
  if (answer.type === 'ok') return undefined;
  // The server resets the connection where its validation panics: a CustomResourceDefinition without schema, for example.
  if (answer.type === 'unreachable' && attempts > 1) return refusalOf(client, schema, object, attempts - 1);
  if (answer.type === 'unreachable') return answer.message;
  const { reason, message } = answer.refusal;
  return reason === 'AlreadyExists' ? undefined : message;
}
