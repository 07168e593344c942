/**
 * Makes `generated/kubernetes/` from the Go modules `k8s.io/kubernetes`: for each version one module with the schemas of
 * its kinds. With `--check`, which needs neither Go nor a network, it verifies that each module is there, is whole (it
 * holds its own digest), was made by this script for that version, and that every kind and reference has its definition.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { readDefinitions } from './kubernetes-schemas/definitions.ts';
import { staleDifferences, typeOf } from './kubernetes-schemas/differences.ts';
import { readExtras } from './kubernetes-schemas/enums.ts';
import { type KindRow, readKinds, type Swagger } from './kubernetes-schemas/kinds.ts';

const FOLDER = fileURLToPath(new URL('../generated/kubernetes', import.meta.url));
const MODULE = 'k8s.io/kubernetes';
/** The Go module of each version. A new one is added here and in src/validation/kubernetes-schemas.ts. */
const VERSIONS: Readonly<Record<string, string>> = {
  '1.33': 'v1.33.13',
  '1.34': 'v1.34.4',
  '1.35': 'v1.35.4',
  '1.36': 'v1.36.3',
};
const SWAGGER = 'api/openapi-spec/swagger.json';
const GO_OPENAPI = 'pkg/generated/openapi/zz_generated.openapi.go';
const LEVEL = 19;

/** One JSON value a line: the module version, the kinds, then `NAME SCHEMA` for each definition. */
function schemasOf(folder: string, version: string): string {
  const swagger = JSON.parse(readFileSync(join(folder, SWAGGER), 'utf8')) as Swagger;
  const kinds = readKinds(swagger);
  const roots = kinds.map((row) => row[5]);
  const extras = readExtras(readFileSync(join(folder, GO_OPENAPI), 'utf8'));
  const definitions = [...readDefinitions(swagger, roots, extras)];
  const lines = definitions.map(([name, schema]) => `${name} ${JSON.stringify(schema)}`);
  return [JSON.stringify(version), JSON.stringify(kinds), ...lines].join('\n');
}

function moduleText(text: string, version: string): string {
  const bytes = zstdCompressSync(text, { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } });
  return `// Generated from ${MODULE} ${version} by scripts/generate-kubernetes-schemas.ts. Do not edit; run "npm run generate".
// sha256 of the content: ${digest(text)}
/** Schemas of the kinds of Kubernetes: zstd in base64; src/validation/kubernetes-schemas.ts reads it. */
export const schemas =
  '${bytes.toString('base64')}';
`;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The folder of a Go module, downloaded if it is not in the cache; throws if Go fails. */
function download(version: string): string {
  const args = ['mod', 'download', '-json', `${MODULE}@${version}`];
  const run = spawnSync('go', args, { encoding: 'utf8', cwd: FOLDER, timeout: 10 * 60_000 });
  if (run.status !== 0) throw new Error(`go ${args.join(' ')} failed: ${run.stderr}`, { cause: run.error });
  return (JSON.parse(run.stdout) as { readonly Dir: string }).Dir;
}

/** What is wrong with a module; undefined if nothing is. */
function problemOf(folder: string, minor: string, version: string): string | undefined {
  let source: string;
  try {
    source = readFileSync(join(folder, `v${minor}.ts`), 'utf8');
  } catch {
    return 'is missing';
  }
  const [, stated] = /sha256 of the content: (\w+)/.exec(source) ?? [];
  const [, content = ''] = /^ {2}'([\w+/=]+)';$/m.exec(source) ?? [];
  const text = decompressed(content);
  if (text === undefined || digest(text) !== stated) return 'is not as it was generated';
  const [first = '', second = '', ...lines] = text.split('\n');
  if (JSON.parse(first) !== version) return `was made from another version than ${version}`;
  const names = new Set(lines.map((line) => line.slice(0, line.indexOf(' '))));
  const references = [...text.matchAll(/"#\/definitions\/([^"]+)"/g)].map(([, name = '']) => name);
  const roots = (JSON.parse(second) as KindRow[]).map((row) => row[5]);
  const missing = [...roots, ...references].find((name) => !names.has(name));
  return missing === undefined ? undefined : `lacks the definition ${missing}`;
}

function decompressed(base64: string): string | undefined {
  try {
    return zstdDecompressSync(Buffer.from(base64, 'base64')).toString('utf8');
  } catch {
    return undefined;
  }
}

/** What is wrong in a folder of generated modules, the project's by default; one line each. */
export function problemsOfKubernetesSchemas(folder = FOLDER): readonly string[] {
  const wanted = Object.keys(VERSIONS).map((minor) => `v${minor}.ts`);
  const leftovers = readdirSync(folder).filter((name) => !wanted.includes(name));
  const problems = Object.entries(VERSIONS).flatMap(([minor, version]) => {
    const problem = problemOf(folder, minor, version);
    return problem === undefined ? [] : [`generated/kubernetes/v${minor}.ts ${problem}`];
  });
  return [...problems, ...leftovers.map((name) => `generated/kubernetes/${name} belongs to no version`)];
}

function generate(): void {
  mkdirSync(FOLDER, { recursive: true });
  if (spawnSync('go', ['version'], { timeout: 30_000 }).status !== 0) {
    console.log('generated/kubernetes: skipped: Go is not installed');
    return;
  }
  const fields = new Set<string>();
  for (const [minor, version] of Object.entries(VERSIONS)) {
    const text = schemasOf(download(version), version);
    for (const field of fieldsOf(text)) fields.add(field);
    const source = moduleText(text, version);
    writeFileSync(join(FOLDER, `v${minor}.ts`), source);
    console.log(`generated/kubernetes/v${minor}.ts: ${text.length} characters of schemas in ${source.length}`);
  }
  const stale = staleDifferences(fields);
  if (stale.length > 0) throw new Error(`differences.ts names fields that no version has: ${stale.join(', ')}`);
}

/** `GROUP/TYPE.FIELD` of all definitions in the text of a version. */
function fieldsOf(text: string): readonly string[] {
  return text
    .split('\n')
    .slice(2)
    .flatMap((line) => {
      const name = line.slice(0, line.indexOf(' '));
      const { properties = {} } = JSON.parse(line.slice(name.length + 1)) as { readonly properties?: object };
      return Object.keys(properties).map((field) => `${typeOf(name)}.${field}`);
    });
}

if (import.meta.main) {
  if (process.argv.includes('--check')) {
    const problems = problemsOfKubernetesSchemas();
    for (const problem of problems) console.log(problem);
    if (problems.length > 0) process.exitCode = 1;
  } else generate();
}
