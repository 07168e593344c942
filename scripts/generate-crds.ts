import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { printYaml } from '../src/manifest/print-yaml.ts';
import { type CustomKind, customKinds, engineKindRow, engineKinds } from '../src/model/fleet/engine-kinds.ts';
import { isJsonObject, type JsonObject, objectOf } from '../src/model/text/json.ts';
import type { Rule } from './crds/form.ts';
import { customForms } from './crds/kinds.ts';
import { structuralSchema } from './crds/structural.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDER = 'deploy/crds';

/**
 * Writes `deploy/crds/GROUP_PLURAL.yaml` for every custom kind, from its schema. With `check` nothing is written. Returns
 * the files (relative to the root) that are not, or were not, what the schemas say; files of no kind are named and left.
 */
export async function generateCrds(options: {
  readonly check: boolean;
  /** Folder that holds `schemas/` and `deploy/`; the project's by default. */
  readonly root?: string;
}): Promise<readonly string[]> {
  const root = options.root ?? ROOT;
  const drifted: string[] = [];
  await mkdir(join(root, FOLDER), { recursive: true });
  for (const kind of customKinds) {
    const file = engineKinds[kind].schema;
    const schema: unknown = JSON.parse(await readFile(join(root, 'schemas', file), 'utf8'));
    const path = `${FOLDER}/${fileOf(kind)}`;
    const text = `# Generated from schemas/${file} by scripts/generate-crds.ts. Do not edit; run "npm run generate".\n${printYaml(crdOf(kind, schema as JsonObject))}`;
    if (text === (await readFile(join(root, path), 'utf8').catch(() => undefined))) continue;
    drifted.push(path);
    if (!options.check) await writeFile(join(root, path), text);
  }
  const known = new Set([...customKinds.map(fileOf), 'kustomization.yaml']);
  const files = (await readdir(join(root, FOLDER))).filter((name) => name.endsWith('.yaml')).sort();
  return [...drifted, ...files.filter((name) => !known.has(name)).map((name) => `${FOLDER}/${name}`)];
}

function fileOf(kind: CustomKind): string {
  const { group, plural } = engineKinds[kind];
  return `${group}_${plural}.yaml`;
}

function crdOf(kind: CustomKind, schema: JsonObject): JsonObject {
  const { group, versions, plural, shortNames, scope, kind: name } = engineKindRow(kind);
  const { columns } = customForms[kind];
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, labels: { 'app.kubernetes.io/part-of': 'fleetrelay' } },
    spec: {
      group,
      scope,
      names: {
        kind: name,
        listKind: `${name}List`,
        plural,
        singular: name.toLowerCase(),
        ...(shortNames.length === 0 ? {} : { shortNames }),
        categories: ['fleetrelay'],
      },
      versions: [
        {
          name: versions[0],
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: columns.map((column) => ({ ...column })),
          schema: { openAPIV3Schema: objectSchema(kind, schema) },
        },
      ],
    },
  };
}

/** The schema of the whole object: what every object has is the API server's to check. */
function objectSchema(kind: CustomKind, root: JsonObject): JsonObject {
  const { isForeign, schema } = engineKinds[kind];
  const { definition, sets, additions = [], takesNulls = [], rules } = customForms[kind];
  const definitions = isJsonObject(root.$defs) ? root.$defs : {};
  const form = definition === undefined ? root : definitions[definition];
  if (!isJsonObject(form)) throw new Error(`${schema} has no definition ${definition}`);
  const { description, required, properties } = structuralSchema(root, form, { keepsUnknownFields: isForeign });
  const fields = isJsonObject(properties) ? properties : {};
  const structural: JsonObject = {
    type: 'object',
    description: root.description ?? description,
    required: Array.isArray(required)
      ? required.filter((name) => !['apiVersion', 'kind', 'metadata'].includes(String(name)))
      : [],
    properties: { ...fields, apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { type: 'object' } },
  };
  const { required: needed, ...rest } = structural;
  const whole = Array.isArray(needed) && needed.length === 0 ? rest : structural;
  const set = { 'x-kubernetes-list-type': 'set' };
  const withSets = sets.reduce((so, at) => changedAt(so, at, (list) => ({ ...list, ...set })), whole);
  const withNulls = takesNulls.reduce((so, field) => changedAt(so, [field], nullable), withSets);
  const withAdditions = additions.reduce(
    (so, { at, keywords }) => changedAt(so, at, (part) => ({ ...part, ...keywords }) as JsonObject),
    withNulls,
  );
  return rules.reduce((so, rule) => changedAt(so, rule.at, (place) => withRule(place, rule)), withAdditions);
}

/**
 * The schema of a value that may be null, and so may each field and member in it; items of lists may not. API servers never
 * find null in an enum; of an object that is created they leave such a null out.
 */
function nullable(schema: JsonObject): JsonObject {
  return { ...fieldsNullable(schema), ...(schema.enum === undefined ? { nullable: true } : {}) };
}

function fieldsNullable(schema: JsonObject): JsonObject {
  const { properties, items, additionalProperties: members } = schema;
  const fields = Object.entries(objectOf(properties)).map(
    ([name, field]) => [name, nullable(objectOf(field))] as const,
  );
  return {
    ...schema,
    ...(isJsonObject(properties) ? { properties: Object.fromEntries(fields) } : {}),
    ...(isJsonObject(items) ? { items: fieldsNullable(items) } : {}),
    ...(isJsonObject(members) ? { additionalProperties: nullable(members) } : {}),
  };
}

function withRule(schema: JsonObject, { rule, message, fieldPath }: Rule): JsonObject {
  const before = schema['x-kubernetes-validations'];
  const added = { rule, message, ...(fieldPath === undefined ? {} : { fieldPath }) };
  return { ...schema, 'x-kubernetes-validations': [...(Array.isArray(before) ? before : []), added] };
}

/** The schema with the part at a place (`[]`: the items of a list, `{}`: the members of a map) changed. */
function changedAt(
  schema: JsonObject,
  [step, ...further]: readonly string[],
  change: (part: JsonObject) => JsonObject,
): JsonObject {
  if (step === undefined) return change(schema);
  const { items, properties, additionalProperties: members } = schema;
  if (step === '{}' && isJsonObject(members)) {
    return { ...schema, additionalProperties: changedAt(members, further, change) };
  }
  if (step === '[]' && isJsonObject(items)) return { ...schema, items: changedAt(items, further, change) };
  const field = isJsonObject(properties) ? properties[step] : undefined;
  if (!isJsonObject(properties) || !isJsonObject(field)) throw new Error(`there is no ${step} among the fields`);
  return { ...schema, properties: { ...properties, [step]: changedAt(field, further, change) } };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const check = process.argv.includes('--check');
  const drifted = await generateCrds({ check });
  for (const path of drifted) console.log(`${check ? 'differs from its schema' : 'written'}: ${path}`);
  process.exitCode = check && drifted.length > 0 ? 1 : 0;
}
