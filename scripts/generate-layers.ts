/** Writes the linter's rules about imports (`generated/biome-layers.json`, which biome.json extends) from the table of layers. */
import { readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  DOMAINS,
  domainFolder,
  GENERATED_ONLY_IN,
  LAYERS,
  type Layer,
  LISTING_DOMAINS,
  SELF_CONTAINED,
} from './layers.ts';

const SRC = join(import.meta.dirname, '../src');
const PATH = join(import.meta.dirname, '../generated/biome-layers.json');

interface Pattern {
  /** As in a gitignore file: the last pattern that matches the written specifier decides. */
  readonly group: readonly string[];
  readonly message: string;
}

function foldersBelow(layer: string): ReadonlySet<string> {
  const entries = readdirSync(join(SRC, layer), { recursive: true, withFileTypes: true });
  return new Set(entries.filter((entry) => entry.isDirectory()).map(({ name }) => name));
}

function override(folder: string, patterns: readonly Pattern[]): object {
  const rule = { level: 'error', options: { patterns } };
  return { includes: [`src/${folder}/**`], linter: { rules: { style: { noRestrictedImports: rule } } } };
}

/** What a folder of `src` may import; `above`: forbidden besides the layers that it may not import. */
function patternsOf(folder: string, { may, node }: Layer, above: readonly string[] = []): readonly Pattern[] {
  const layer = basename(folder);
  const all = [...Object.keys(LAYERS), 'generated'].filter((name) => name !== layer);
  // A specifier does not tell a folder of the layer itself from a layer of that name; the static test does.
  const own = foldersBelow(folder);
  const forbidden = all.filter((name) => !may.includes(name) && !own.has(name));
  // What lies in an allowed layer may have a folder with the name of another one. A domain's folder may import the layer of its name.
  const allowed = LAYERS[layer] === undefined || layer === folder ? may : [...may, layer];
  const group = [...forbidden.map((name) => `**/${name}/**`), ...allowed.map((name) => `!**/${name}/**`), ...above];
  const others = `${folder} may import ${may.length === 0 ? 'nothing else of src' : may.join(', ')}: see scripts/layers.ts.`;
  const platform = { group: ['**', '!./**', '!../**', ...(node ?? []).map((name) => `!${name}`)] };
  return [
    { group, message: others },
    ...(node === undefined
      ? []
      : [{ ...platform, message: `${folder} imports no package, and of Node ${node.join(', ') || 'nothing'}.` }]),
  ];
}

/** The core imports no domain. What starts the processes imports the lists of domains. */
function ofDomains(layer: string): readonly string[] {
  return LISTING_DOMAINS.includes(layer) ? ['**/domains/*/**'] : ['**/domains/**'];
}

function overridesOf(name: string): readonly object[] {
  const layer = LAYERS[name] ?? { may: [] };
  const only = GENERATED_ONLY_IN[name] ?? [];
  const most = only.length === 0 ? layer.may : layer.may.filter((each) => each !== 'generated');
  const own = SELF_CONTAINED.filter((folder) => folder.startsWith(`${name}/`));
  return [
    override(name, patternsOf(name, { ...layer, may: most }, ofDomains(name))),
    ...only.map((folder) => override(folder, patternsOf(name, layer, ofDomains(name)))),
    ...own.map((folder) =>
      override(folder, [{ group: ['**', '!./**'], message: `${folder} imports nothing outside itself.` }]),
    ),
  ];
}

/** The folders of a domain import other domains only by the `index.ts` of an earlier one. */
function overridesOfDomain(domain: string): readonly object[] {
  const others = DOMAINS.filter((each) => each !== domain);
  const earlier = DOMAINS.slice(0, DOMAINS.indexOf(domain));
  const above = [...others.map((each) => `**/${each}/**`), ...earlier.map((each) => `!**/${each}/index.ts`)];
  const folders = readdirSync(join(SRC, 'domains', domain), { withFileTypes: true });
  return folders
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => {
      const folder = `domains/${domain}/${name}`;
      return [override(folder, patternsOf(folder, domainFolder(name) ?? { may: [] }, above))];
    });
}

/** Writes the rules; with `check` it only says whether the file differs. */
export async function generateLayers(check: boolean): Promise<boolean> {
  const text = `${JSON.stringify({ overrides: [...Object.keys(LAYERS).flatMap(overridesOf), ...DOMAINS.flatMap(overridesOfDomain)] }, null, 2)}\n`;
  if (text === (await readFile(PATH, 'utf8').catch(() => ''))) return true;
  if (!check) await writeFile(PATH, text);
  return !check;
}

if (process.argv[1] === fileURLToPath(import.meta.url) && !(await generateLayers(process.argv.includes('--check')))) {
  console.log('differs from what it is made of: generated/biome-layers.json');
  process.exitCode = 1;
}
