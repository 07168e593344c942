import { execFileSync } from 'node:child_process';
import { type GitSandbox, hermeticGit } from './git-sandbox.ts';

/** Contents of repositories that are made to harm who reads them. */

/** The beginning of a manifest; more fields may follow. */
const CONFIG_MAP = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a, namespace: web }\n';

/** A file that is refused. */
export interface HostileFile {
  readonly path: string;
  readonly text: () => string;
  /** The diagnostic, as `path:line:column: error: message`. */
  readonly refusal: RegExp;
}

/** Ten aliases of ten aliases of ...: a few hundred bytes that stand for 10^levels values. */
export function aliasBomb(levels: number): string {
  const lines = ['  a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]'];
  for (let level = 1; level <= levels; level += 1) {
    lines.push(`  a${level}: &a${level} [${Array.from({ length: 10 }, () => `*a${level - 1}`).join(', ')}]`);
  }
  return `${CONFIG_MAP}data:\n${lines.join('\n')}\n`;
}

function numbered(count: number, line: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => line(index)).join('');
}

const MIB = 1024 * 1024;

/** Files that are each refused by themselves, by name. */
export const hostileFiles: Readonly<Record<string, HostileFile>> = {
  'an alias bomb': {
    path: 'bomb.yaml',
    text: () => aliasBomb(9),
    refusal: /^bomb\.yaml:\d+:\d+: error: the file holds more than 500000 values, aliases counted in full/,
  },
  'deep nesting': {
    path: 'deep.yaml',
    text: () => `${CONFIG_MAP}data: ${'['.repeat(100_000)}`,
    refusal: /^deep\.yaml:4:\d+: error: lists and mappings are nested more than 100 deep/,
  },
  'a list of many millions of values in 15 MiB': {
    path: 'zeros.yaml',
    text: () => `${CONFIG_MAP}data: [${'0,'.repeat(7.5 * MIB)}0]\n`,
    refusal: /^zeros\.yaml:4:\d+: error: the file has more than 1000000 places where a value can begin/,
  },
  'the same as JSON': {
    path: 'zeros.json',
    text: () => `{"a":[${'[],'.repeat(5 * MIB)}0]}`,
    refusal: /^zeros\.json:1:\d+: error: the file has more than 1000000 places where a value can begin/,
  },
  'a line of 100 MB': {
    path: 'line.yaml',
    text: () => `${CONFIG_MAP}data: { a: ${'x'.repeat(100_000_000)} }\n`,
    refusal: /^line\.yaml(:1:1)?: error: .*100000\d+ bytes.*at most 16777216 are read/,
  },
  'many keys before a bracket that is not closed': {
    path: 'keys.yaml',
    text: () => `${CONFIG_MAP}data:\n${numbered(10_000, (index) => `  k${index}: v\n`)}  x: [\n`,
    refusal: /^keys\.yaml:10005:6: error: the bracket that opens here is not closed/,
  },
  'many broken documents': {
    path: 'documents.yaml',
    text: () => '---\n\ufeffa: [\n'.repeat(150_000),
    refusal: /^documents\.yaml:\d+:\d+: error: the file holds more than 10000 documents/,
  },
  'control characters': {
    path: 'control.yaml',
    text: () => `${CONFIG_MAP}data: { a: "\u001b]0;owned\u0007" }\n`,
    refusal: /^control\.yaml:4:13: error: the file holds the control character U\+001B/,
  },
};

/** A Placement whose globs a matcher that backtracks would try in exponentially many ways, and a path for them. */
export const manyWildcards = {
  'placement.yaml': `apiVersion: fleetrelay.dev/v1alpha1
kind: Placement
metadata: { name: wild }
spec:
  paths: ["${'**/a/'.repeat(8)}b", "*a*a*a*a*ab.yaml"]
  clusters: { matchLabels: { env: none } }
`,
  [`${'a/'.repeat(40)}c.yaml`]: `${CONFIG_MAP}data: { a: b }\n`,
  [`${'a'.repeat(240)}.yaml`]: `${CONFIG_MAP}data: { a: b }\n`,
  '.fleetrelayignore': `${'*a*a*a*b\n'.repeat(300)}`,
};

/** A small manifest, `bytes` long. */
export function manifestOfBytes(bytes: number): string {
  const head = `${CONFIG_MAP}data:\n`;
  return `${head}${numbered(Math.ceil((bytes - head.length) / 20), (index) => `  key-${String(index).padStart(6, '0')}: x000\n`)}`;
}

/** Writes trees and commits of a bare repository that no ordinary command would make. */
export function rawGit(sandbox: GitSandbox, bare: string) {
  const run = (input: string, ...args: readonly string[]): string =>
    execFileSync('git', args, { cwd: bare, env: hermeticGit, input, encoding: 'utf8', maxBuffer: 64 * MIB }).trim();
  const tree = (entries: Readonly<Record<string, string>>, type: 'blob' | 'tree'): string =>
    run(
      Object.entries(entries)
        .map(([name, id]) => `${type === 'tree' ? '040000' : '100644'} ${type} ${id}\t${name}\n`)
        .join(''),
      'mktree',
    );
  const blob = (text: string): string => run(text, 'hash-object', '-w', '--stdin');
  const names = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `f${index}`);
  return {
    blob,
    /** A commit of a tree on top of the branch `main`; returns its id. */
    commit: (
      root: string,
      header: { readonly author?: string; readonly seconds?: number; readonly message?: string } = {},
    ) => {
      const tip = run('', 'rev-parse', 'refs/heads/main');
      const { author = 'Ada', seconds = 1_700_000_000, message = 'Change' } = header;
      const by = `${author} <ada@example.com> ${seconds} +0000`;
      const text = `tree ${root}\nparent ${tip}\nauthor ${by}\ncommitter ${by}\n\n${message}\n`;
      const commit = run(text, 'hash-object', '-t', 'commit', '-w', '--stdin', '--literally');
      sandbox.git(bare, 'update-ref', 'refs/heads/main', commit);
      return commit;
    },
    /** One blob under `folders` times `files` paths. */
    repeated: (text: string, folders: number, files: number): string => {
      const id = blob(text);
      const inner = tree(Object.fromEntries(names(files).map((name) => [`${name}.yaml`, id])), 'blob');
      return tree(Object.fromEntries(names(folders).map((name) => [name, inner])), 'tree');
    },
    /** `levels` trees, each of which has the next one ten times: 10^levels paths of one file. */
    nested: (levels: number): string => {
      let inner = tree({ 'a.yaml': blob(manifestOfBytes(200)) }, 'blob');
      for (let level = 0; level < levels; level += 1) {
        inner = tree(Object.fromEntries(names(10).map((name) => [name, inner])), 'tree');
      }
      return inner;
    },
    /** A tree of files in its root. */
    files: (files: Readonly<Record<string, string>>): string =>
      tree(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, blob(text)])), 'blob'),
  };
}
