import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import * as files from 'node:fs/promises';
import { join } from 'node:path';
import git from 'isomorphic-git';
import { makeFolders } from '../../disk/folders.ts';
import { FETCHED_REF } from '../local-copy.ts';
import { checkPack, PACK_END, PACK_HEAD } from './pack-entry.ts';

const TEMPORARY = '.tmp';
/** More are merged: each read looks into all of them. */
const MOST_PACKS = 50;

/** What isomorphic-git needs of a file system. A file that it writes is complete or not there, and a pack was checked. */
export const copyFiles = {
  promises: {
    ...files,
    writeFile: async (
      path: string,
      content: string | Uint8Array,
      options?: { readonly mode?: number },
    ): Promise<void> => {
      if (path.endsWith('.pack')) checkPack(Buffer.from(content as Uint8Array));
      await files.writeFile(`${path}${TEMPORARY}`, content, options);
      await files.rename(`${path}${TEMPORARY}`, path);
    },
  },
};

/** Creates the repository if there is none, and removes what a process that ended has left of a transfer. */
export async function openRepository(repository: string): Promise<void> {
  if (!existsSync(join(repository, 'HEAD'))) {
    await files.rm(repository, { recursive: true, force: true });
    await git.init({ fs: copyFiles, gitdir: repository, bare: true, defaultBranch: 'main' });
    const value = '+refs/heads/*:refs/remotes/origin/*';
    await git.setConfig({ fs: copyFiles, gitdir: repository, path: 'remote.origin.fetch', value });
  }
  await makeFolders(packFolder(repository));
  const names = await files.readdir(packFolder(repository));
  // A pack is written before its index.
  const isLeft = (name: string): boolean =>
    name.endsWith(TEMPORARY) || (name.endsWith('.pack') && !names.includes(name.replace(/pack$/, 'idx')));
  await removePacks(repository, names.filter(isLeft));
}

/** The names of the files that hold the objects of fetches. */
export async function packNames(repository: string): Promise<readonly string[]> {
  return files.readdir(packFolder(repository)).catch(() => []);
}

export async function removePacks(repository: string, names: readonly string[]): Promise<void> {
  // The index first: without it the pack is not read.
  for (const name of [...names].sort()) await files.rm(join(packFolder(repository), name), { force: true });
}

function packFolder(repository: string): string {
  return join(repository, 'objects', 'pack');
}

/** The commits whose parents are not in the repository, though they have some. */
export async function shallowCommits(repository: string): Promise<ReadonlySet<string>> {
  const text = await files.readFile(join(repository, 'shallow'), 'utf8').catch(() => '');
  return new Set(text.split('\n').filter((line) => line !== ''));
}

/** The commit that a ref of the repository names. */
export async function readRef(repository: string, ref: string = FETCHED_REF): Promise<string | undefined> {
  return git.resolveRef({ fs: copyFiles, gitdir: repository, ref }).catch(() => undefined);
}

export async function writeRef(repository: string, ref: string, commit: string): Promise<void> {
  await git.writeRef({ fs: copyFiles, gitdir: repository, ref, value: commit, force: true });
}

/**
 * Makes one pack of all but the largest if there are many, except of the files that are named. Entries refer to each other by
 * distance, so they are copied as they are. Returns whether it did.
 */
export async function mergePacks(repository: string, except: ReadonlySet<string>): Promise<boolean> {
  const folder = packFolder(repository);
  const names = (await packNames(repository)).filter((name) => name.endsWith('.pack') && !except.has(name));
  if (names.length <= MOST_PACKS) return false;
  const sized = await Promise.all(
    names.map(async (name) => ({ name, size: (await files.stat(join(folder, name))).size })),
  );
  const small = sized.sort((one, other) => one.size - other.size).slice(0, -1);
  const parts = await Promise.all(small.map(({ name }) => files.readFile(join(folder, name))));
  const head = Buffer.from(parts[0]?.subarray(0, PACK_HEAD) ?? []);
  head.writeUInt32BE(
    parts.reduce((sum, part) => sum + part.readUInt32BE(8), 0),
    8,
  );
  const body = Buffer.concat([head, ...parts.map((part) => part.subarray(PACK_HEAD, part.length - PACK_END))]);
  const sum = createHash('sha1').update(body).digest();
  const name = `pack-${sum.toString('hex')}.pack`;
  await copyFiles.promises.writeFile(join(folder, name), Buffer.concat([body, sum]));
  await git.indexPack({ fs: copyFiles, dir: folder, gitdir: repository, filepath: name });
  await removePacks(
    repository,
    small.flatMap((pack) => [pack.name.replace(/pack$/, 'idx'), pack.name]),
  );
  return true;
}
