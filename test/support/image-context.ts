import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';

const PROJECT = join(import.meta.dirname, '..', '..');

/** One instruction of a Dockerfile, with its continuation lines joined. */
export interface Instruction {
  /** `FROM`, `COPY`, ... */
  readonly word: string;
  readonly rest: string;
}

/** The stages of a Dockerfile, each from its `FROM` on; before them comes what precedes the first one. */
export function stagesOf(dockerfile: string): readonly (readonly Instruction[])[] {
  const instructions = dockerfile
    .split('\n')
    .filter((line) => !/^\s*(#|$)/.test(line))
    .join('\n')
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .map((line) => ({ word: line.split(' ')[0] ?? '', rest: line.slice(line.indexOf(' ') + 1) }));
  const stages: Instruction[][] = [[]];
  for (const each of instructions) {
    if (each.word === 'FROM') stages.push([]);
    stages.at(-1)?.push(each);
  }
  return stages;
}

/** Whether a builder gets a file, by a Dockerfile.dockerignore in which `*` is followed by paths with `!`. Throws for another form. */
export function contextFilter(ignoreFile: string): (path: string) => boolean {
  const [first, ...kept] = ignoreFile.split('\n').filter((line) => line !== '');
  if (first !== '*' || kept.some((line) => !/^![\w./-]+$/.test(line)))
    throw new Error('this test knows "*" and then "!PATH" only');
  const paths = kept.map((line) => line.slice(1));
  return (path) => paths.some((each) => path === each || path.startsWith(`${each}/`));
}

/** The files of this checkout: files in git, and new ones that git does not ignore. Relative paths. */
export function checkoutFiles(): readonly string[] {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '-z'];
  const listed = execFileSync('git', args, { cwd: PROJECT, encoding: 'utf8' }).split('\0');
  return listed.filter((path) => path !== '' && existsSync(join(PROJECT, path)));
}

/** Copies files of this checkout into a folder, with a link to its dependencies. */
export function copyCheckout(files: readonly string[], folder: string): void {
  for (const path of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(PROJECT, path), join(folder, path));
  }
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
}

/**
 * Lays out in a folder what a stage copies from a build context, as a builder does: a folder's content goes into the folder that is
 * named last. Throws for a source that the context does not have.
 */
export function layOutStage(stage: readonly Instruction[], context: readonly string[], folder: string): void {
  const wanted = new Set<string>();
  for (const { rest } of stage.filter(({ word, rest: text }) => word === 'COPY' && !text.startsWith('--from'))) {
    const words = rest.split(' ');
    const target = (words.pop() ?? '').replace(/^\.\/|\/$/g, '');
    for (const source of words) {
      const found = context.filter((path) => path === source || path.startsWith(`${source}/`));
      if (found.length === 0) throw new Error(`COPY ${source}: the build does not get it`);
      // Elsewhere than here, its path in the project would no longer be that in the image.
      if (target !== '' && target !== source) throw new Error(`COPY ${source}: this test knows the same path only`);
      for (const path of found) wanted.add(path);
    }
  }
  copyCheckout([...wanted], folder);
}

/** Runs a command of a shell in a folder, with this Node as `node`. Throws with all that it printed. */
export function runIn(folder: string, script: string): void {
  const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}` };
  try {
    execFileSync('sh', ['-ec', script], { cwd: folder, env, encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
    throw new Error(`${script}:\n${stdout}${stderr}`);
  }
}

/** The files below a folder, sorted, without the hashes in names of chunks, which depend on the path of the folder. */
export function packedFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(folder, path)).isFile())
    .map((path) => path.replace(/-[A-Z0-9]{8}(?=\.js)/, ''))
    .sort();
}

/** The files that `files` of package.json names and git has, with those that npm always packs. */
export function declaredFiles(): readonly string[] {
  const { files } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')) as { files: readonly string[] };
  const names = [...files, 'package.json', 'README.md', 'LICENSE'];
  return checkoutFiles()
    .filter((path) => names.some((name) => path === name || path.startsWith(`${name}/`)))
    .map((path) => relative('.', path))
    .sort();
}
