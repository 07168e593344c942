import { closeSync, constants, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ClusterId, parseClusterId } from '../../model/fleet/ids.ts';
import type { Random } from '../../ports/random.ts';
import { isErrno, replaceFile } from '../disk/files.ts';
import { makeFoldersSync } from '../disk/folders.ts';

/** The folder in a directory cluster for fleetrelay's own files, which are not live state. */
export const OWN_FOLDER = '.fleetrelay';

/** Creates (mode 0700) and returns the own folder. Throws if its path is not a folder. */
export function openOwnFolder(root: string): string {
  const folder = join(root, OWN_FOLDER);
  makeFoldersSync(folder, { mode: 0o700 });
  // Fails on a link, which would lead our files elsewhere.
  closeSync(openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW));
  return folder;
}

/** The cluster id of the agent that has run on a folder; undefined: none has, or it cannot be read. */
export function knownClusterId(root: string): ClusterId | undefined {
  try {
    const id = parseClusterId(readFileSync(join(root, OWN_FOLDER, 'instance'), 'utf8').trim());
    return id.ok ? id.value : undefined;
  } catch {
    return undefined;
  }
}

/** The cluster id from the instance file; a new one at the first start. Throws if the file holds no cluster id. */
export function clusterIdOf(folder: string, random: Random): ClusterId {
  const path = join(folder, 'instance');
  try {
    const id = parseClusterId(readFileSync(path, 'utf8').trim());
    if (id.ok) return id.value;
    throw new Error(
      `${path} does not hold a cluster id: ${id.problem}; restore it from a copy, or delete it for a new id`,
    );
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
  }
  const fresh = parseClusterId(random.id());
  if (!fresh.ok) throw new Error(fresh.problem);
  replaceFile(path, `${fresh.value}\n`, { mode: 0o600 });
  return fresh.value;
}

/**
 * Locks the folder for this process, because two agents on one folder would revert each other's writes. Throws if another
 * live process has the lock; replaces the lock of a process that has ended. The returned function unlocks the folder.
 */
export function lockFolder(folder: string, random: Random): () => void {
  const path = join(folder, 'lock');
  const mine = `${process.pid} ${startOf(process.pid)} ${random.id()}\n`;
  for (let attempt = 0; attempt < 3; attempt += 1) {
    try {
      writeFileSync(path, mine, { mode: 0o600, flag: 'wx' });
      return () => {
        if (readOr(path, '') === mine) rmSync(path, { force: true });
      };
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw error;
      const [pid = '', start = ''] = readOr(path, '').split(' ');
      if (isAlive(Number(pid), start)) {
        throw new Error(
          `${folder} is locked by another agent (process ${pid}); stop that one first, or use another folder`,
        );
      }
      rmSync(path, { force: true });
    }
  }
  throw new Error(`${folder} is being locked by another agent`);
}

/** When a process started, in ticks since boot: distinguishes it from a later process with the same id. */
function startOf(pid: number): string {
  return statOf(pid)[19] ?? '-';
}

/** The fields of `/proc/PID/stat` from the state on; none where there is no such file. */
function statOf(pid: number): readonly string[] {
  const stat = readOr(`/proc/${pid}/stat`, '');
  // The program's name is in parentheses and can contain any character.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function isAlive(pid: number, start: string): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (isErrno(error, 'ESRCH')) return false;
  }
  // A zombie (Z) still has an id although it has ended.
  return startOf(pid) === start && !['Z', 'X'].includes(statOf(pid)[0] ?? '');
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return otherwise;
  }
}
