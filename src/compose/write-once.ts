import { dirname } from 'node:path';
import { replaceFile } from '../adapters/disk/files.ts';
import { makeFolders } from '../adapters/disk/folders.ts';
import { readIfThere } from '../adapters/tls/files.ts';
import type { Step } from './step.ts';

/** How a file is written. */
export interface FileWriting {
  readonly force: boolean;
  readonly dryRun: boolean;
}

/** Writes a file. Rejects with a text for a person instead of replacing one with other content, unless it is forced to. */
export async function writeOnce(
  what: string,
  where: string,
  text: string,
  isSame: (there: string) => boolean,
  { force, dryRun }: FileWriting,
  mode = 0o644,
): Promise<Step> {
  const there = (await readIfThere(where))?.toString('utf8');
  if (there !== undefined && isSame(there)) return { what, outcome: 'unchanged', where };
  if (there !== undefined && !force) {
    throw new Error(`${where} exists with other content; look at it, or replace it with --force`);
  }
  if (!dryRun) {
    await makeFolders(dirname(where));
    // A server that follows the folder must never read half a file.
    replaceFile(where, text, { mode });
  }
  return { what, outcome: there === undefined ? 'created' : 'changed', where, dryRun };
}
