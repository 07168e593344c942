/** Checks fuzz inputs, and tells the thread that watches it which one it is at. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { withFindingsAcross } from '../../../src/compose/validate/across-files/across-files.ts';
import { checkFile } from '../../../src/compose/validate/check-file.ts';
import { createObjectChecks, type ObjectChecks } from '../../../src/compose/validate/schemas/object-checks.ts';
import type { Diagnostic } from '../../../src/model/fleet/diagnostic.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { applyFixes } from '../../../src/validation/fixes.ts';
import { newestKubernetesVersion, openKubernetesSchemas } from '../../../src/validation/kubernetes-schemas.ts';
import { suppress } from '../../../src/validation/suppressions.ts';
import { type FolderFile, makeFolder } from './folders.ts';
import { createChance, type FuzzInput, makeInput, readCorpus } from './inputs.ts';

/** What a thread of fuzzing is to do. */
export interface FuzzTask {
  readonly folders: readonly string[];
  readonly seed: number;
  readonly from: number;
  readonly count: number;
  /** An empty folder for files. */
  readonly scratch: string;
  /** Three Int32: the index of the input, and the numbers of findings so far and of findings of rules across files. */
  readonly state: SharedArrayBuffer;
}

/** A defect that an input has shown. */
export interface FuzzDefect {
  readonly index: number;
  readonly what: string;
  readonly text: string;
}

const LONGEST_MESSAGE = 4_000;

/** Every fourth input is a folder for the rules across files. */
const EVERY_FOLDER = 4;

const { folders, seed, from, count, scratch, state } = workerData as FuzzTask;
const progress = new Int32Array(state);
const corpus = readCorpus(folders, await openKubernetesSchemas(newestKubernetesVersion));
const plain = await checksWith([]);

for (let index = from; index < from + count; index += 1) {
  Atomics.store(progress, 0, index);
  const chance = createChance(seed, index);
  const input = index % EVERY_FOLDER === 0 ? makeFolder(corpus, chance) : makeInput(corpus, chance);
  try {
    if ('bytes' in input) {
      const diagnostics = judge(input, input.definition === undefined ? plain : await checksWith([input.definition]));
      Atomics.add(progress, 1, diagnostics);
    } else Atomics.add(progress, 2, await judgeFolder(input));
  } catch (error) {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const text = 'bytes' in input ? new TextDecoder().decode(input.bytes) : textOf(input);
    parentPort?.postMessage({ index, what, text } satisfies FuzzDefect);
  }
}
Atomics.store(progress, 0, from + count);

function checksWith(definitions: readonly JsonObject[]): Promise<ObjectChecks> {
  return createObjectChecks({
    ...{ versions: [newestKubernetesVersion], withoutSchema: 'warning', skip: [], located: [], named: [] },
    definitions,
    findsFixes: true,
    collectsReferences: true,
    collectsFacts: true,
  });
}

/** Checks the input as validate does, and what every answer must fulfil; returns the number of findings. */
function judge({ name, bytes }: FuzzInput, checks: ObjectChecks): number {
  const { diagnostics, documents } = checkFile(name, { ok: true, bytes }, checks);
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  const lines = text.split('\n');
  const left = suppress(name, text, diagnostics);
  for (const diagnostic of [...diagnostics, ...left]) checkPlace(diagnostic, lines);
  for (const { line } of documents)
    if (line < 1 || line > lines.length) throw new Error(`a document is at line ${line}`);
  const { text: mended, mended: found } = applyFixes(text, left);
  if (found.length > 0) checkMended(name, text, mended, checks);
  return diagnostics.length;
}

/** Checks a folder as validate does; returns the number of findings of rules across files, which no order of files changes. */
async function judgeFolder(files: readonly FolderFile[]): Promise<number> {
  const encoder = new TextEncoder();
  const all = files.map(({ path, text }) => {
    const location = join(scratch, path);
    mkdirSync(dirname(location), { recursive: true });
    writeFileSync(location, text);
    const checked = checkFile(path, { ok: true, bytes: encoder.encode(text) }, plain);
    return { file: { name: path, location, isNamed: false }, checked };
  });
  const findIn = async (order: typeof all): Promise<readonly Diagnostic[]> => {
    const inputs = { files: order.map(({ file }) => file), refused: [], failed: [], ignoreFolders: [scratch] };
    const checked = order.map((each) => each.checked);
    const found = await withFindingsAcross(inputs, checked, { cwd: scratch, source: undefined });
    return found.flatMap(({ diagnostics }, index) => diagnostics.slice(checked[index]?.diagnostics.length));
  };
  const found = await findIn(all);
  const lines = new Map(files.map(({ path, text }) => [path, text.split('\n')]));
  for (const diagnostic of found) checkPlace(diagnostic, lines.get(diagnostic.at?.path ?? '') ?? []);
  const inOrder = (diagnostics: readonly Diagnostic[]): string =>
    diagnostics
      .map((each) => JSON.stringify(each))
      .sort()
      .join('\n');
  const other = await findIn(all.toReversed());
  if (inOrder(found) !== inOrder(other)) {
    throw new Error(`the order of the files changes the findings:\n${inOrder(found)}\n---\n${inOrder(other)}`);
  }
  return found.length;
}

function textOf(files: readonly FolderFile[]): string {
  return files.map(({ path, text }) => `### ${path}\n${text}`).join('');
}

function checkPlace({ at, message, hint = '', reason }: Diagnostic, lines: readonly string[]): void {
  const { line = 1, column = 1 } = at ?? {};
  const length = lines[line - 1]?.length;
  // An end of the text lies after its last character; a byte order mark is no column.
  if (length === undefined || column < 1 || column > length + 1) throw new Error(`${reason} is at ${line}:${column}`);
  if (message === '' || message.length + hint.length > LONGEST_MESSAGE)
    throw new Error(`${reason} has ${message.length} characters`);
}

/** A mended text can be read if the text before could, and needs no such fix again. */
function checkMended(name: string, before: string, text: string, checks: ObjectChecks): void {
  if (text === before) throw new Error('fixes were applied and the text is the same');
  const isBroken = (source: string): boolean =>
    checkFile(name, { ok: true, bytes: new TextEncoder().encode(source) }, checks).diagnostics.some(
      ({ reason }) => reason === 'YamlSyntax' || reason === 'JsonSyntax',
    );
  if (!isBroken(before) && isBroken(text)) throw new Error(`a fix breaks the text:\n${text}`);
}
