/** Writes the linter's rules about imports (`generated/biome-layers.json`, which biome.json extends) from the table of layers. */
import { readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GENERATED_ONLY_IN, LAYERS, SELF_CONTAINED } from './layers.ts';

const PATH = join(import.meta.dirname, '../generated/biome-layers.json');

interface Pattern {
  /** As in a gitignore file: the last pattern that matches the written specifier decides. */
  readonly group: readonly string[];
  readonly message: string;
}

function foldersBelow(layer: string): ReadonlySet<string> {
  const entries = readdirSync(join(import.meta.dirname, '../src', layer), { recursive: true, withFileTypes: true });
  return new Set(entries.filter((entry) => entry.isDirectory()).map(({ name }) => name));
}

function override(folder: string, patterns: readonly Pattern[]): object {
  const rule = { level: 'error', options: { patterns } };
  return { includes: [`src/${folder}/**`], linter: { rules: { style: { noRestrictedImports: rule } } } };
}

function patternsOf(layer: string, may: readonly string[]): readonly Pattern[] {
  const all = [...Object.keys(LAYERS), 'generated'].filter((name) => name !== layer);
  // A specifier does not tell a folder of the layer itself from a layer of that name; the static test does.
  const own = foldersBelow(layer);
  const forbidden = all.filter((name) => !may.includes(name) && !own.has(name));
  // What lies in an allowed layer may have a folder with the name of another one.
  const group = [...forbidden.map((name) => `**/${name}/**`), ...may.map((name) => `!**/${name}/**`)];
  const others = `${layer} may import ${may.length === 0 ? 'nothing else of src' : may.join(', ')}: see scripts/layers.ts.`;
  const node = LAYERS[layer]?.node;
  const platform = { group: ['**', '!./**', '!../**', ...(node ?? []).map((name) => `!${name}`)] };
  return [
    { group, message: others },
    ...(node === undefined
      ? []
      : [{ ...platform, message: `${layer} imports no package, and of Node ${node.join(', ') || 'nothing'}.` }]),
  ];
}

function overridesOf(layer: string): readonly object[] {
  const { may } = LAYERS[layer] ?? { may: [] };
  const only = GENERATED_ONLY_IN[layer] ?? [];
  const most = only.length === 0 ? may : may.filter((name) => name !== 'generated');
  const own = SELF_CONTAINED.filter((folder) => folder.startsWith(`${layer}/`));
  return [
    override(layer, patternsOf(layer, most)),
    ...only.map((folder) => override(folder, patternsOf(layer, may))),
    ...own.map((folder) =>
      override(folder, [{ group: ['**', '!./**'], message: `${folder} imports nothing outside itself.` }]),
    ),
  ];
}

/** Writes the rules; with `check` it only says whether the file differs. */
export async function generateLayers(check: boolean): Promise<boolean> {
  const text = `${JSON.stringify({ overrides: Object.keys(LAYERS).flatMap(overridesOf) }, null, 2)}\n`;
  if (text === (await readFile(PATH, 'utf8').catch(() => ''))) return true;
  if (!check) await writeFile(PATH, text);
  return !check;
}

if (process.argv[1] === fileURLToPath(import.meta.url) && !(await generateLayers(process.argv.includes('--check')))) {
  console.log('differs from what it is made of: generated/biome-layers.json');
  process.exitCode = 1;
}
