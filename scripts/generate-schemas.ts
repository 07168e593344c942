import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2020, type SchemaObject } from 'ajv/dist/2020.js';
import standaloneModule from 'ajv/dist/standalone/index.js';
import { compile } from 'json-schema-to-typescript';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const BANNER = (source: string) =>
  `// Generated from schemas/${source} by scripts/generate-schemas.ts. Do not edit; run "npm run generate".\n`;

/** Schemas whose validators fill in the defaults; a field that has one is never absent from the type. */
const FILLING_DEFAULTS: readonly unknown[] = ['RelayConfig'];

const ANNOTATIONS = new Set(['title', 'description', 'examples', 'default', 'deprecated', '$comment']);
/** Keywords whose members are named by the schema's author, so that a property may be called "title". */
const NAME_MAPS = new Set(['properties', '$defs']);

/** What one run found: files (relative to the root) whose content is not, or was not, what the schemas say. */
export interface GenerationReport {
  readonly drifted: readonly string[];
}

/**
 * Generates types (`generated/NAME.d.ts`) and validators (`generated/NAME.js`) for every schema in `schemas/`.
 * With `check` nothing is written; the report names what differs.
 */
export async function generateSchemas(options: {
  readonly check: boolean;
  /** Folder that holds `schemas/` and `generated/`; the project's by default. */
  readonly root?: string;
}): Promise<GenerationReport> {
  const root = options.root ?? ROOT;
  const names = (await readdir(join(root, 'schemas'))).filter((name) => name.endsWith('.json')).sort();
  const drifted: string[] = [];
  await mkdir(join(root, 'generated'), { recursive: true });
  for (const name of names) {
    const schema = JSON.parse(await readFile(join(root, 'schemas', name), 'utf8')) as SchemaObject;
    const stem = basename(name, '.json');
    const outputs = [
      [`generated/${stem}.js`, BANNER(name) + validatorSource(schema)],
      [`generated/${stem}.d.ts`, BANNER(name) + (await typeSource(schema))],
    ] as const;
    for (const [path, text] of outputs) {
      if (text === (await readFile(join(root, path), 'utf8').catch(() => undefined))) continue;
      drifted.push(path);
      if (!options.check) await writeFile(join(root, path), text);
    }
  }
  drifted.push(...(await leftovers(root, names)));
  return { drifted };
}

/** Generated files whose schema is gone; never removed by this script, only named. */
async function leftovers(root: string, schemaNames: readonly string[]): Promise<string[]> {
  const stems = new Set(schemaNames.map((name) => basename(name, '.json')));
  const entries = await readdir(join(root, 'generated'), { withFileTypes: true });
  const files = entries
    .flatMap((entry) => (entry.isFile() && /\.(?:d\.ts|js)$/.test(entry.name) ? [entry.name] : []))
    .sort();
  return files.filter((file) => !stems.has(file.replace(/(\.d\.ts|\.js)$/, ''))).map((file) => `generated/${file}`);
}

/** ajv warns that `unicode` is deprecated; it has no other way to generate code without imports. */
function onlyDeprecation(...message: unknown[]): void {
  if (!String(message[0]).includes('option unicode')) fail(...message);
}

function fail(...message: unknown[]): never {
  throw new Error(message.map(String).join(' '));
}

/** Validators carry their schema; what only people and editors read would double their size. */
function withoutAnnotations(schema: SchemaObject): SchemaObject {
  const fills = FILLING_DEFAULTS.includes(schema.title);
  const strip = (value: unknown, isSchema: boolean): unknown => {
    if (Array.isArray(value)) return value.map((item) => strip(item, isSchema));
    if (typeof value !== 'object' || value === null) return value;
    // The example says in a message what a pattern means.
    const isKept = (key: string) =>
      !isSchema || !ANNOTATIONS.has(key) || (key === 'examples' && 'pattern' in value) || (key === 'default' && fills);
    const kept = Object.entries(value).filter(([key]) => isKept(key));
    return Object.fromEntries(kept.map(([key, member]) => [key, strip(member, !isSchema || !NAME_MAPS.has(key))]));
  };
  return strip(schema, true) as SchemaObject;
}

function validatorSource(schema: SchemaObject): string {
  const ajv = new Ajv2020({
    strict: true,
    strictRequired: false,
    strictTypes: false,
    allowUnionTypes: true,
    allErrors: true,
    useDefaults: FILLING_DEFAULTS.includes(schema.title),
    // Names the schema of each error: what else would be known there.
    verbose: true,
    // Lengths in UTF-16 units and no formats: otherwise the code would import ajv's runtime.
    unicode: false,
    validateFormats: false,
    logger: { log: fail, warn: onlyDeprecation, error: fail },
    code: { source: true, esm: true, lines: false },
  });
  const validate = ajv.compile(withoutAnnotations(schema));
  const generate = standaloneModule as unknown as typeof standaloneModule.default;
  const code = generate(ajv, validate).replace(/export default \w+;/, '');
  if (/\brequire\(|\bimport\b/.test(code)) throw new Error(`${schema.title}: the validator would import something`);
  return `${code}\n`;
}

/**
 * What the type generator understands: of two forms that a condition chooses it makes a union; an alternative that only
 * says which fields must be there is left to the validator.
 */
function forTypes(schema: SchemaObject): SchemaObject {
  const fills = FILLING_DEFAULTS.includes(schema.title);
  const convert = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(convert);
    if (typeof value !== 'object' || value === null) return value;
    const { if: condition, then, else: otherwise, oneOf, ...rest } = value as Record<string, unknown>;
    const kept = Object.fromEntries(Object.entries(rest).map(([key, member]) => [key, convert(member)]));
    if (fills && rest.properties !== undefined)
      kept.required = [...requiredOf(rest), ...defaultedOf(Object(rest.properties))];
    if (condition !== undefined) return { ...kept, type: undefined, oneOf: [then, otherwise] };
    return oneOf === undefined || isRequiredChoice(oneOf) ? kept : { ...kept, oneOf: convert(oneOf) };
  };
  return convert(schema) as SchemaObject;
}

function requiredOf({ required }: Record<string, unknown>): readonly unknown[] {
  return Array.isArray(required) ? required : [];
}

function defaultedOf(properties: object): readonly string[] {
  return Object.entries(properties).flatMap(([name, schema]) => ('default' in schema ? [name] : []));
}

function isRequiredChoice(oneOf: unknown): boolean {
  return Array.isArray(oneOf) && oneOf.every((branch: object) => Object.keys(branch).join() === 'required');
}

async function typeSource(schema: SchemaObject): Promise<string> {
  const types = await compile(forTypes(schema) as Parameters<typeof compile>[0], String(schema.title), {
    bannerComment: '',
    format: false,
    additionalProperties: false,
    ignoreMinAndMaxItems: true,
    unknownAny: true,
    declareExternallyReferenced: true,
  });
  return `${types}
import type { SchemaValidator } from '../src/manifest/schema-validator.ts';
export declare const validate: SchemaValidator<${String(schema.title)}>;
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const check = process.argv.includes('--check');
  const { drifted } = await generateSchemas({ check });
  for (const path of drifted) console.log(`${check ? 'differs from its schema' : 'written'}: ${path}`);
  process.exitCode = check && drifted.length > 0 ? 1 : 0;
}
