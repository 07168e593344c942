import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

const MEMORY = '/dev/shm';
/** What `statfs` calls a file system in memory. */
const TMPFS_TYPE = 0x01_02_19_94;
/** Several times what a run of all tests keeps at once. */
const LEAST_FREE_BYTES = 6 * 2 ** 30;

/**
 * Makes a folder for `TMPDIR`, which is removed when this process ends. Tests write and sync many small files, so the folder is
 * in memory where there is enough and where programs can be run from it. Containers mostly have neither, and then it is on the
 * disk; so it is in `npm run test:long` and where the person has set `TMPDIR`.
 */
export function temporaryFolder(isLong: boolean): string {
  const mayBeInMemory = !isLong && process.env.TMPDIR === undefined && hasMemory();
  const inMemory = mayBeInMemory ? folderIn(MEMORY) : undefined;
  return inMemory !== undefined && runsPrograms(inMemory) ? inMemory : folderIn(tmpdir());
}

function folderIn(parent: string): string {
  const folder = mkdtempSync(join(parent, 'fleetrelay-tests-'));
  // Some tests run programs as another user.
  chmodSync(folder, 0o755);
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

function hasMemory(): boolean {
  try {
    const { type, bsize, bavail } = statfsSync(MEMORY);
    return type === TMPFS_TYPE && Math.min(bsize * bavail, process.availableMemory()) >= LEAST_FREE_BYTES;
  } catch {
    return false;
  }
}

/** Many systems mount it so that programs in it cannot be run. */
function runsPrograms(folder: string): boolean {
  const program = join(folder, 'program');
  try {
    writeFileSync(program, '#!/bin/sh\nexit 0\n', { mode: 0o700 });
    execFileSync(program);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(program, { force: true });
  }
}
