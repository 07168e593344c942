import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';
import { describe, expect, test } from 'vitest';
import { GENERATED_ONLY_IN, LAYERS, SELF_CONTAINED } from '../../scripts/layers.ts';
import { domainComplaint } from './domain-layers.ts';

/**
 * Compares the imports of src with the table of layers, which the rules of the linter are made from. It resolves every import to
 * the folder that it really leads to, and so sees what patterns over the written text cannot (`import('...').Type`, a path with a
 * detour).
 */

const project = join(import.meta.dirname, '../..');

const LAYER_NAMES = Object.keys(LAYERS);

function mayImport(layer: string): readonly string[] {
  return LAYERS[layer]?.may ?? [];
}

const SPECIFIER = /(?:\bfrom\s*|\bimport\s*\(\s*|\bimport\s+|\brequire\s*\(\s*)(['"])([^'"\n]+)\1/g;

/** The relative imports of a source text, comments left out. */
function relativeImports(text: string): readonly string[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '$1');
  return [...code.matchAll(SPECIFIER)].flatMap((match) => (match[2]?.startsWith('.') === true ? [match[2]] : []));
}

/** A layer, `generated`, or `outside`. */
function targetOf(path: string): string {
  const [top, layer = ''] = path.split('/');
  if (top === 'generated') return 'generated';
  return top === 'src' && LAYER_NAMES.includes(layer) ? layer : 'outside';
}

/** The imports of a file that lead out of its layer, as paths from the project's folder. */
function importsOf(file: string, specifiers: readonly string[]): readonly string[] {
  return specifiers.map((specifier) => posix.normalize(posix.join(posix.dirname(file), specifier)));
}

/** Says what is wrong with one import, or undefined. */
function complaint(file: string, specifier: string): string | undefined {
  const [resolved = ''] = importsOf(file, [specifier]);
  const [from, to] = [targetOf(file), targetOf(resolved)];
  if ([file, resolved].some((path) => path.startsWith('src/domains/'))) return domainComplaint(file, resolved, to);
  if (from === 'outside' || from === 'generated') return undefined;
  const own = SELF_CONTAINED.find((folder) => file.startsWith(`src/${folder}/`));
  if (own !== undefined && !resolved.startsWith(`src/${own}/`)) {
    return `${file} imports ${resolved}: ${own} imports nothing outside itself`;
  }
  const only = GENERATED_ONLY_IN[from];
  if (to === 'generated' && only?.every((folder) => !file.startsWith(`src/${folder}/`)) === true) {
    return `${file} imports ${resolved}: of ${from} only ${only.join(', ')} may`;
  }
  // The version is written down once.
  if (file === 'src/cli/process-context.ts' && resolved === 'package.json') return undefined;
  return from === to || mayImport(from).includes(to) ? undefined : `${file} imports ${resolved}: ${from} may not`;
}

function sources(): readonly string[] {
  return readdirSync(join(project, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(project, join(entry.parentPath, entry.name)).split(sep).join('/'));
}

describe('imports', () => {
  test('of every file stay inside what its layer may know', () => {
    const complaints = sources().flatMap((file) =>
      relativeImports(readFileSync(join(project, file), 'utf8')).flatMap((specifier) => {
        const text = complaint(file, specifier);
        return text === undefined ? [] : [text];
      }),
    );
    expect(complaints).toEqual([]);
  });

  test('use each line of the table: what nothing imports may not be imported', () => {
    const used = new Set(
      sources().flatMap((file) =>
        importsOf(file, relativeImports(readFileSync(join(project, file), 'utf8'))).map(
          (resolved) => `${targetOf(file)} → ${targetOf(resolved)}`,
        ),
      ),
    );
    const listed = LAYER_NAMES.flatMap((layer) => mayImport(layer).map((to) => `${layer} → ${to}`));
    expect(listed.filter((line) => !used.has(line))).toEqual([]);
  });

  test('lead one way: each layer stands below those that may import it', () => {
    const place = (layer: string): number => LAYER_NAMES.indexOf(layer);
    const up = LAYER_NAMES.flatMap((layer) =>
      mayImport(layer)
        .filter((to) => to !== 'generated' && place(to) >= place(layer))
        .map((to) => `${layer} → ${to}`),
    );
    expect(up).toEqual([]);
  });

  test('are in ARCHITECTURE.md as in the table', () => {
    const page = readFileSync(join(project, 'ARCHITECTURE.md'), 'utf8');
    const rows = [...page.matchAll(/^\| `src\/(\w+)` \|.*\| ([^|]*) \|$/gm)];
    const written = Object.fromEntries(rows.map(([, layer = '', may = '']) => [layer, may]));
    const text = (layer: string): string => {
      const may = mayImport(layer);
      if (may.length === 0) return 'nothing';
      const rest = LAYER_NAMES.filter((name) => name !== layer && !may.includes(name));
      return rest.length <= 2 && may.length > 2 ? `everything but ${rest.join(' and ')}` : may.join(', ');
    };
    expect(written).toEqual(Object.fromEntries(LAYER_NAMES.map((layer) => [layer, text(layer)])));
  });

  test('every folder under src is a layer of the table', () => {
    const folders = readdirSync(join(project, 'src'), { withFileTypes: true }).map((entry) => entry.name);
    expect(folders.toSorted()).toEqual([...LAYER_NAMES, 'domains'].toSorted());
  });

  test.each([
    ['src/engine/output/x.ts', "import type { Clock } from '../../ports/clock.ts';"],
    ['src/engine/output/x.ts', "type C = import('../../ports/clock.ts').Clock;"],
    ['src/engine/collections/x.ts', "import '../../model/json.ts';"],
    ['src/sinks/git/x.ts', "import { y } from '../../../src/sources/git/y.ts';"],
    ['src/agent/x.ts', "const graph = await import('../engine/graph.ts');"],
    ['src/server/x.ts', "export { y } from '../adapters/system/clock.ts';"],
    ['src/server/x.ts', "import type { Loop } from '../runtime/loop.ts';"],
    ['src/runtime/x.ts', "import type { Person } from '../server/people.ts';"],
    ['src/engine/x.ts', "import { care } from '../domains/care/engine/care.ts';"],
    ['src/runtime/x.ts', "import { engineDomains } from '../domains/engines.ts';"],
    ['src/domains/care/engine/x.ts', "import type { Clock } from '../../../ports/clock.ts';"],
    ['src/domains/care/engine/x.ts', "import { y } from '../runtime/y.ts';"],
    ['src/domains/care/engine/x.ts', "import { y } from '../../health/engine/y.ts';"],
    ['src/domains/health/engine/x.ts', "import { y } from '../../care/index.ts';"],
    ['src/relay/x.ts', "import {\n  a,\n  b,\n} from '../../scripts/build.ts';"],
  ])('the test itself would find %s: %s', (file, code) => {
    expect(relativeImports(code).map((specifier) => complaint(file, specifier))).not.toContain(undefined);
  });

  test('what is only written in a comment is no import', () => {
    expect(relativeImports("/** from '../adapters/x.ts' */\n// import '../adapters/x.ts'\n")).toEqual([]);
  });
});

test('the tests run on the Node that the project pins, not on the machine’s own', () => {
  const major = Number.parseInt(process.versions.node, 10);
  expect(major === 24 || major >= 26, process.versions.node).toBe(true);
});
