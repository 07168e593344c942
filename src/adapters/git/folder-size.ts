import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The bytes of all files in a folder, as far as it can be read while other processes write it. */
export async function folderSize(folder: string): Promise<number> {
  const children = await readdir(folder, { withFileTypes: true }).catch(() => []);
  let bytes = 0;
  for (const child of children) {
    const path = join(folder, child.name);
    if (child.isDirectory()) bytes += await folderSize(path);
    else bytes += (await lstat(path).catch(() => undefined))?.size ?? 0;
  }
  return bytes;
}
