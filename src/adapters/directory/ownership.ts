import { dirname } from 'node:path';
import type { FleetName } from '../../model/ids.ts';
import { displayKey, type ObjectKey } from '../../model/object-key.ts';
import type { ObservedObject } from '../../ports/cluster-api.ts';
import { checkedFolder, type PathState, readRegularFile, statePath } from './folder.ts';
import { pathOfObject } from './layout.ts';
import { isRemnant, LARGEST_FILE_BYTES } from './live-file.ts';
import type { LiveFiles } from './live-files.ts';

/**
 * The owner of an object and of the path where fleetrelay writes it.
 * `free`: neither exists. `ours`: the file carries our stamp for this object and holds no other object. `remnant`: the file
 * is unreadable, but its remaining text carries our stamp. `theirs`: anything else; it is never changed or removed.
 */
export type Ownership =
  | { readonly type: 'free' }
  | { readonly type: 'remnant' }
  | { readonly type: 'ours'; readonly object: ObservedObject }
  | { readonly type: 'theirs'; readonly owner: string; readonly message: string };

const ABSENT: PathState = { type: 'absent' };

/** Reads the disk anew. Throws `BlockedPath` if a symbolic link is on the path: files behind a link are never ours. */
export function ownershipOf(root: string, live: LiveFiles, fleet: FleetName, key: ObjectKey): Ownership {
  const path = pathOfObject(key);
  const state = checkedFolder(root, dirname(path)) === undefined ? ABSENT : statePath(root, path);
  if (state.type === 'folder') return theirs(path, `${path} is a folder`);
  if (state.type === 'other') return theirs(path, `${path} is ${state.what}, which is not followed`);
  live.lookAtFile(path);
  const otherPath = [...live.pathsOf(key)].find((known) => known !== path);
  if (state.type === 'absent') return otherPath === undefined ? { type: 'free' } : elsewhere(key, otherPath);
  const file = live.files.get(path);
  const skipped = live.skipped.get(path);
  if (file === undefined || skipped !== undefined)
    return theirs(path, `${path} cannot be read (${skipped?.what ?? 'it changes'}), so it is left alone`);
  const [object, ...others] = file.objects;
  if (file.problem !== undefined || object === undefined) {
    const bytes = readRegularFile(root, path, LARGEST_FILE_BYTES)?.bytes;
    return bytes !== undefined && isRemnant(bytes, fleet, key)
      ? { type: 'remnant' }
      : theirs(path, `${path} cannot be read (${file.problem ?? 'no object'}), so it is left alone; mend or delete it`);
  }
  if (others.length > 0) return theirs(path, `${path} holds other objects too; move them to another file`);
  return byStamp(path, object, fleet, key);
}

function byStamp(path: string, object: ObservedObject, fleet: FleetName, key: ObjectKey): Ownership {
  const { stamp } = object;
  if (object.key !== key && stamp?.key === object.key && object.key.toLowerCase() === key.toLowerCase()) {
    return theirs(
      path,
      `${path} is taken by ${displayKey(object.key)}, which differs from ${displayKey(key)} only in case`,
    );
  }
  if (object.key !== key) return theirs(path, `${path} holds ${displayKey(object.key)} of another owner`);
  if (stamp === undefined)
    return theirs(path, `${path} was not written by fleetrelay; delete or move it to let it be managed`);
  if (stamp.fleet !== fleet) return theirs(`fleet ${stamp.fleet}`, `${path} belongs to the fleet ${stamp.fleet}`);
  if (stamp.key !== key)
    return theirs(path, `${path} is a copy of ${displayKey(stamp.key)} and is not owned by fleetrelay`);
  return { type: 'ours', object };
}

function elsewhere(key: ObjectKey, path: string): Ownership {
  return theirs(path, `${displayKey(key)} is already in ${path}, which is not where fleetrelay writes it`);
}

function theirs(owner: string, message: string): Ownership {
  return { type: 'theirs', owner, message };
}
