import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { RunIo } from './options.ts';

/** A file or folder that an option names: `--ca-file`, its path, and what to do if it is missing. */
export type Needed = readonly [option: string, path: string | undefined, kind: 'file' | 'folder', todo: string];

/**
 * At a terminal: rejects with what to do if something that an option names is missing. Elsewhere nothing is looked at: in a Pod a
 * volume can come later than the process, which waits for it.
 */
export async function refuseMissing(needed: readonly Needed[], { isTerminal, cwd }: RunIo): Promise<void> {
  if (isTerminal !== true) return;
  for (const [option, path, kind, todo] of needed) {
    if (path === undefined) continue;
    const where = resolve(cwd, path);
    const found = await stat(where).catch(() => undefined);
    if (found === undefined) throw new Error(`there is no ${kind} ${where} (${option}): ${todo}`);
    if (kind === 'folder' && !found.isDirectory()) throw new Error(`${where} (${option}) is no folder: ${todo}`);
  }
}
