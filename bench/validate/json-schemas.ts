/** The schemas of Kubernetes in the form that kubeconform reads with `-strict`: a file for each kind. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newestKubernetesVersion, openKubernetesSchemas } from '../../src/validation/kubernetes-schemas.ts';
import type { KindSchema, Schema } from '../../src/validation/values/schema.ts';

/** Writes them, and returns kubeconform's template of their paths. */
export async function writeJsonSchemas(folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const schemas = await openKubernetesSchemas(newestKubernetesVersion);
  for (const { group, version, kind } of schemas.kinds) {
    const found = schemas.find(group, version, kind);
    if (found === undefined) continue;
    const suffix = group === '' ? version : `${group.split('.')[0]}-${version}`;
    writeFileSync(join(folder, `${kind.toLowerCase()}-${suffix}.json`), JSON.stringify(standalone(found)));
  }
  return `${folder}/{{.ResourceKind}}{{.KindSuffix}}.json`;
}

/** The schema of a kind together with every definition that it refers to. */
function standalone({ schema, definition }: KindSchema): object {
  const definitions: Record<string, object> = {};
  const collect = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    for (const [key, value] of Object.entries(part)) {
      if (key !== '$ref' || typeof value !== 'string') collect(value);
      else addDefinition(value);
    }
  };
  const addDefinition = (ref: string): void => {
    const name = ref.slice('#/definitions/'.length);
    if (Object.hasOwn(definitions, name)) return;
    const found = definition(ref) ?? {};
    definitions[name] = strict(found);
    collect(found);
  };
  collect(schema);
  return { ...strict(schema), definitions };
}

/** Without extensions, and without fields that the schema does not have. */
function strict(schema: Schema): object {
  if (schema['x-kubernetes-int-or-string'] === true || schema.format === 'int-or-string') {
    return { oneOf: [{ type: 'string' }, { type: 'number' }] };
  }
  const kept = Object.entries(schema).filter(([key]) => !key.startsWith('x-') && key !== 'default');
  const inner = kept.map(([key, value]): readonly [string, unknown] => {
    if (key === 'properties') {
      return [key, Object.fromEntries(Object.entries(value).map(([name, each]) => [name, strict(each as Schema)]))];
    }
    return [
      key,
      (key === 'items' || key === 'additionalProperties') && typeof value === 'object' ? strict(value) : value,
    ];
  });
  const isClosed = schema.properties !== undefined && schema.additionalProperties === undefined;
  return { ...Object.fromEntries(inner), ...(isClosed ? { additionalProperties: false } : {}) };
}
