import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

const project = join(import.meta.dirname, '../..');

/** One file of the guided tour in ARCHITECTURE.md. */
interface Stop {
  readonly file: string;
  /** 0: a stop of the way itself; 1 and more: a file that the stop above it uses. */
  readonly depth: number;
}

/** Returns the stops of the section "A guided tour" of a page, in order. */
function stopsOf(page: string): readonly Stop[] {
  const from = page.indexOf('\n## A guided tour');
  const section = page.slice(from, page.indexOf('\n## ', from + 1));
  return [...section.matchAll(/^( *)(?:\d+\.|-) `(src\/[^`]+\.ts)`/gm)].map(([, indent = '', file = '']) => ({
    file,
    depth: Math.floor(indent.length / 3),
  }));
}

/** Returns the files of the project that a file imports. */
function importsOf(file: string): readonly string[] {
  const text = readFileSync(join(project, file), 'utf8');
  return [...text.matchAll(/from '(\.{1,2}\/[^']+)'/g)].map(([, path = '']) => normalize(join(dirname(file), path)));
}

/** Ports that almost every file imports: they lead nowhere. */
const AMBIENT = /^src\/ports\/(clock|log|random)\.ts$/;
/** Interfaces, besides the ports, that one folder implements and others use. */
const INTERFACES = ['src/relay/session.ts', 'src/runtime/parts.ts', 'src/adapters/kubernetes/api/types.ts'];

const isInterface = (file: string): boolean =>
  INTERFACES.includes(file) || (file.startsWith('src/ports/') && !AMBIENT.test(file));

/** Whether a reader gets from one file to the other by an import of either, or by an interface between them. */
function isConnected(a: string, b: string): boolean {
  const ofA = importsOf(a);
  const ofB = importsOf(b);
  if (ofA.includes(b) || ofB.includes(a)) return true;
  return ofA.filter(isInterface).some((file) => ofB.includes(file) || importsOf(file).includes(b));
}

/** Returns a sentence for each stop that no import and no port leads to. */
function gapsOf(stops: readonly Stop[]): readonly string[] {
  return stops.flatMap(({ file, depth }, index) => {
    if (index === 0) return [];
    const before = stops.slice(0, index);
    const parent = before.findLastIndex((stop) => stop.depth < Math.max(depth, 1));
    // The next stop of the way is reached from the one before it or from a file below that one.
    const from = depth === 0 ? before.slice(parent) : before.slice(parent, parent + 1);
    if (from.some((stop) => isConnected(stop.file, file))) return [];
    return [`${file} is not reached from ${from.map((stop) => stop.file).join(', ')}`];
  });
}

const stops = stopsOf(readFileSync(join(project, 'ARCHITECTURE.md'), 'utf8'));

test('the guided tour names files that exist, at most 45, each once', () => {
  expect(stops.filter(({ file }) => !existsSync(join(project, file)))).toEqual([]);
  expect(new Set(stops.map(({ file }) => file)).size).toBe(stops.length);
  expect(stops.length).toBeGreaterThan(20);
  expect(stops.length).toBeLessThanOrEqual(45);
});

test('the guided tour begins at the hook and ends at the write', () => {
  expect(stops[0]?.file).toMatch(/^src\/server\/hook/);
  expect(stops.at(-1)?.file).toMatch(/^src\/adapters\/kubernetes\/api\//);
});

test('an import or a port leads from each stop of the guided tour to the next', () => {
  expect(gapsOf(stops)).toEqual([]);
});

test('the test would find a stop that nothing leads to', () => {
  const [first] = stops;
  expect(
    gapsOf([...(first === undefined ? [] : [first]), { file: 'src/model/text/digest.ts', depth: 0 }]),
  ).toHaveLength(1);
});
