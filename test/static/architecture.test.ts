import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';
import { describe, expect, test } from 'vitest';

/**
 * A backstop for the layer rules of biome.json: it resolves every import to the folder that it really leads to, and so
 * sees what patterns over the written text cannot (`import('...').Type`, a path with a detour).
 */

const project = join(import.meta.dirname, '../..');

const EVERY_LAYER = [
  'model',
  'manifest',
  'validation',
  'engine',
  'ports',
  'api',
  'election',
  'http',
  'probes',
  'adapters',
  'sources',
  'sinks',
  'relay',
  'agent',
  'runtime',
  'xds',
  'server',
  'cli',
  'compose',
] as const;
type Layer = (typeof EVERY_LAYER)[number];
type Target = Layer | 'generated' | 'outside';

function allBut(...excluded: readonly Layer[]): readonly Target[] {
  return EVERY_LAYER.filter((layer) => !excluded.includes(layer));
}

/** What each layer may import besides itself. */
const MAY_IMPORT: Readonly<Record<Layer, readonly Target[]>> = {
  model: [],
  ports: ['model'],
  api: ['model'],
  election: ['model', 'ports'],
  http: ['model', 'ports'],
  probes: ['model'],
  engine: ['model'],
  manifest: ['model', 'generated'],
  validation: ['model', 'manifest', 'generated'],
  sources: ['model', 'ports', 'manifest', 'engine', 'relay', 'runtime'],
  sinks: ['model', 'ports', 'engine', 'relay', 'runtime'],
  relay: ['model', 'ports', 'generated'],
  xds: ['model', 'engine', 'ports', 'http', 'relay', 'runtime', 'generated'],
  agent: ['model', 'ports', 'relay', 'election'],
  runtime: ['model', 'ports', 'api', 'engine', 'manifest', 'relay', 'election'],
  server: ['model', 'ports', 'api', 'http', 'relay'],
  adapters: ['model', 'ports', 'manifest', 'probes', 'http', 'relay'],
  compose: [...allBut('cli', 'compose'), 'generated'],
  cli: allBut('cli', 'adapters'),
};

const SPECIFIER = /(?:\bfrom\s*|\bimport\s*\(\s*|\bimport\s+|\brequire\s*\(\s*)(['"])([^'"\n]+)\1/g;

/** The relative imports of a source text, comments left out. */
function relativeImports(text: string): readonly string[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '$1');
  return [...code.matchAll(SPECIFIER)].flatMap((match) => (match[2]?.startsWith('.') === true ? [match[2]] : []));
}

function targetOf(path: string): Target {
  const [top, layer] = path.split('/');
  if (top === 'generated') return 'generated';
  const known = EVERY_LAYER.find((name) => name === layer);
  return top === 'src' && known !== undefined ? known : 'outside';
}

/** Says what is wrong with one import, or undefined. */
function complaint(file: string, specifier: string): string | undefined {
  const resolved = posix.normalize(posix.join(posix.dirname(file), specifier));
  const [from, to] = [targetOf(file), targetOf(resolved)];
  if (from === 'outside' || from === 'generated') return undefined;
  if (file.startsWith('src/engine/collections/') && !resolved.startsWith('src/engine/collections/')) {
    return `${file} imports ${resolved}: the kernel imports nothing outside itself`;
  }
  if (file.startsWith('src/adapters/grpc/') && to === 'generated') return undefined;
  // The version is written down once.
  if (file === 'src/cli/process-context.ts' && resolved === 'package.json') return undefined;
  return from === to || MAY_IMPORT[from].includes(to) ? undefined : `${file} imports ${resolved}: ${from} may not`;
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

  test('lead one way: no layer may import one that may import it, not through others either', () => {
    const reached = (from: Layer, seen = new Set<Target>()): ReadonlySet<Target> => {
      for (const to of MAY_IMPORT[from]) {
        if (seen.has(to)) continue;
        seen.add(to);
        if (to !== 'generated' && to !== 'outside') reached(to, seen);
      }
      return seen;
    };
    expect(EVERY_LAYER.filter((layer) => reached(layer).has(layer))).toEqual([]);
  });

  test('every folder under src is a known layer', () => {
    const folders = readdirSync(join(project, 'src'), { withFileTypes: true }).map((entry) => entry.name);
    expect(folders.filter((name) => !EVERY_LAYER.some((layer) => layer === name))).toEqual([]);
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
