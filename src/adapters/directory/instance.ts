import { closeSync, constants, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ClusterId, parseClusterId } from '../../model/ids.ts';
import type { Random } from '../../ports/random.ts';
import { isErrno } from '../disk/errno.ts';
import { syncFolder } from '../disk/record-log.ts';

/** The folder inside a directory cluster that holds what is not live state. */
export const OWN_FOLDER = '.fleetrelay';

/** Makes (mode 0700) and returns the own folder. Throws if something else has its name. */
export function openOwnFolder(root: string): string {
  const folder = join(root, OWN_FOLDER);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Opened as a folder, not through a link: everything that is ours would otherwise land elsewhere.
  closeSync(openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW));
  return folder;
}

/** The cluster id from the instance file; a new one at the first start. Throws if the file holds something else. */
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
  writeFileSync(`${path}.tmp`, `${fresh.value}\n`, { mode: 0o600, flush: true });
  renameSync(`${path}.tmp`, path);
  syncFolder(folder);
  return fresh.value;
}

/**
 * Takes the folder for this process. Two agents on one folder would put back each other's writes, so the second one is
 * told to go. A lock whose process has ended counts for nothing. The returned function gives it back.
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
          `${folder} is kept by another agent (process ${pid}); stop that one first, or use another folder`,
        );
      }
      rmSync(path, { force: true });
    }
  }
  throw new Error(`${folder} is being taken by another agent`);
}

/** When a process started, in ticks since the machine did: tells it from a later one of the same number. */
function startOf(pid: number): string {
  return statOf(pid)[19] ?? '-';
}

/** The fields of `/proc/PID/stat` from the state on; none where there is no such file. */
function statOf(pid: number): readonly string[] {
  const stat = readOr(`/proc/${pid}/stat`, '');
  // The name of the program stands in parentheses and may hold anything.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function isAlive(pid: number, start: string): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (isErrno(error, 'ESRCH')) return false;
  }
  // One that was killed and that nobody has fetched yet (Z) has a number and does nothing.
  return startOf(pid) === start && !['Z', 'X'].includes(statOf(pid)[0] ?? '');
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return otherwise;
  }
}
