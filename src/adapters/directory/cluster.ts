import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { displayKey, objectRefOf } from '../../model/objects/object-key.ts';
import { objectDigest } from '../../model/text/digest.ts';
import { differingFields } from '../../model/text/field-diff.ts';
import { errorText } from '../../model/text/messages.ts';
import type { Clock } from '../../ports/clock.ts';
import type {
  ApplyOutcome,
  ApplyRequest,
  ClusterApi,
  Differences,
  LiveState,
  ObservedObject,
  Ownership,
  RemoveOutcome,
  RemoveRequest,
} from '../../ports/cluster-api.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import { isErrno } from '../disk/files.ts';
import { makeFoldersSync } from '../disk/folders.ts';
import {
  BlockedPath,
  checkedFolder,
  folderIdentity,
  type PathState,
  readRegularFile,
  removeFile,
  statePath,
  writeFileAtomically,
} from './folder.ts';
import { createFolderObserver, type FolderObserver, PAUSE_NAME } from './folder-observer.ts';
import { clusterIdOf, lockFolder, openOwnFolder } from './instance.ts';
import { openInventory } from './inventory.ts';
import { isRemnant, LARGEST_FILE_BYTES, pathOfObject, renderLiveFile } from './object-file.ts';
import { OwnObject } from './own-object.ts';
import { sameStamp, withoutStamp } from './stamp.ts';

export interface DirectoryClusterDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface DirectoryClusterOptions {
  /** The folder of the cluster; created if it is missing. */
  readonly directory: string;
}

/** A folder as a cluster. */
export interface DirectoryCluster extends ClusterApi {
  /** Returns the live state as `list` does, and leaves it to the next `list` to name the changes since its last one. */
  readonly look: () => Promise<LiveState>;
}

interface Context {
  readonly root: string;
  readonly observer: FolderObserver;
}

/**
 * Opens a folder of YAML and JSON files as a cluster. All manifest files in it and in its sub-folders are the live state.
 * An applied object is written to `namespaces/NAMESPACE/KIND[.GROUP]/NAME.yaml` or `cluster/KIND[.GROUP]/NAME.yaml`. `.fleetrelay/` holds
 * the cluster id, the inventory and a lock; a file `paused` there or in the root is the stop button.
 * Rejects if the folder cannot be used or another agent has it.
 */
export async function createDirectoryCluster(
  deps: DirectoryClusterDeps,
  options: DirectoryClusterOptions,
): Promise<DirectoryCluster> {
  makeFoldersSync(options.directory);
  const root = realpathSync(options.directory);
  const own = openOwnFolder(root);
  const unlock = lockFolder(own, deps.random);
  try {
    const id = clusterIdOf(own, deps.random);
    const inventory = openInventory(join(own, 'inventory'));
    const assertPresent = presenceOf(root);
    const observer = createFolderObserver(root, deps, assertPresent);
    const context: Context = { root, observer };
    return {
      identity: async () => id,
      releaseStop: `remove the file ${PAUSE_NAME} in ${root} or ${own}`,
      list: observer.list,
      watch: observer.watch,
      apply: async (request) => attempt(assertPresent, () => apply(context, request)),
      remove: async (request) => attempt(assertPresent, () => remove(context, request)),
      // Every kind is listed, and files have no field managers: no setting changes what this adapter does.
      configure: () => {},
      loadInventory: async () => inventory.load(),
      saveInventory: async (change) => {
        assertPresent();
        await inventory.save(change);
      },
      matches,
      differences: differencesOf,
      look: observer.look,
      close: async () => {
        observer.close();
        inventory.close();
        unlock();
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

/** Files have no field managers. */
function differencesOf({ value }: ApplyRequest, observed: ObservedObject): Differences {
  return { fields: differingFields(withoutStamp(value), observed.value), managers: [] };
}

/** A moved file does not match, even with our content: it is not where fleetrelay writes the object. */
function matches(request: ApplyRequest, observed: ObservedObject): boolean {
  if (!(observed instanceof OwnObject) || observed.stale === true) return false;
  if (observed.where !== pathOfObject(request.key)) return false;
  if (!sameStamp(request.stamp, observed.stamp)) return false;
  // A declared object seldom has what `withoutStamp` removes, and only then its value is needed.
  return observed.digest === request.digest || observed.digest === objectDigest(withoutStamp(request.value));
}

/**
 * Returns a check that throws unless the path still leads to the folder that was opened. A folder that was moved away or
 * unmounted is not an empty cluster: its objects are not removed.
 */
function presenceOf(root: string): () => void {
  const opened = folderIdentity(root);
  return () => {
    if (folderIdentity(root) === opened) return;
    throw new FolderMissing(`${root} is not the folder that was opened; bring that one back, or start the agent anew`);
  };
}

class FolderMissing extends Error {}

/** Runs one write; an error becomes its outcome. */
function attempt<Outcome>(assertPresent: () => void, write: () => Outcome): Outcome | Failure {
  try {
    assertPresent();
    return write();
  } catch (error) {
    return failed(reasonOf(error), errorText(error));
  }
}

function apply({ root, observer }: Context, request: ApplyRequest): ApplyOutcome {
  const { key, stamp, value } = request;
  const path = pathOfObject(key);
  const owner = () => ownerOf(root, observer, { ...stamp, key });
  if (observer.isPaused()) return { type: 'paused' };
  const found = owner();
  if (found.type === 'theirs') return { type: 'conflict', owner: found.owner, message: found.message };
  if (found.type === 'ours' && matches(request, found.object)) return { type: 'unchanged' };
  const left = request.leavesDrift === true && request.applied === true ? leftDrift(request, found) : undefined;
  if (left !== undefined) return left;
  const bytes = renderLiveFile(value, stamp);
  const isWritten = writeFileAtomically(root, path, bytes, {
    mode: objectRefOf(key).kind === 'Secret' ? 0o600 : 0o644,
    mayReplace: () => !observer.isPaused() && owner().type !== 'theirs',
  });
  if (isWritten) {
    const bare = withoutStamp(value);
    const digest = bare === value && request.digest !== undefined ? request.digest : objectDigest(bare);
    observer.files.wrote(path, bytes, { key, value: bare, stamp, where: path }, digest);
    return { type: 'applied' };
  }
  return observer.isPaused()
    ? { type: 'paused' }
    : failed('ChangedMeanwhile', `${path} was changed while it was being written`);
}

/** The drift of an object that was applied with this content; undefined: only its stamp or the place of its file differs. */
function leftDrift(request: ApplyRequest, found: Exclude<Owner, { type: 'theirs' }>): ApplyOutcome | undefined {
  if (found.type !== 'ours') {
    return { type: 'drifted', drift: found.type === 'free' ? 'removed' : 'changed', fields: [], managers: [] };
  }
  const differences = differencesOf(request, found.object);
  return differences.fields.length === 0 ? undefined : { type: 'drifted', drift: 'changed', ...differences };
}

function remove({ root, observer }: Context, request: RemoveRequest): RemoveOutcome {
  if (observer.isPaused()) return { type: 'paused' };
  const path = pathOfObject(request.key);
  const found = ownerOf(root, observer, request);
  switch (found.type) {
    case 'free':
      return { type: 'gone' };
    case 'theirs':
      return { type: 'notOwned', owner: found.owner, message: found.message };
    case 'ours':
    case 'remnant':
      removeFile(root, path);
      observer.files.look(path);
      return { type: 'gone' };
  }
}

type Failure = Extract<ApplyOutcome & RemoveOutcome, { type: 'failed' }>;

function failed(reason: string, message: string): Failure {
  return { type: 'failed', reason, message };
}

function reasonOf(error: unknown): string {
  if (error instanceof FolderMissing) return 'FolderMissing';
  if (error instanceof BlockedPath) return 'BlockedPath';
  if (isErrno(error, 'ENOSPC', 'EDQUOT')) return 'DiskFull';
  return isErrno(error, 'EACCES', 'EPERM', 'EROFS') ? 'NotPermitted' : 'WriteFailed';
}

/**
 * The owner of an object and of the path where fleetrelay writes it.
 * `free`: neither exists. `ours`: the file carries the stamp of the inventory and holds no other object. `remnant`: the file
 * is unreadable, but its remaining text carries our stamp. `theirs`: anything else; it is never changed or removed.
 */
type Owner =
  | { readonly type: 'free' | 'remnant' }
  | { readonly type: 'ours'; readonly object: ObservedObject }
  | { readonly type: 'theirs'; readonly owner: string; readonly message: string };

const ABSENT: PathState = { type: 'absent' };

/** Reads the disk anew. Throws `BlockedPath` if a symbolic link is on the path: files behind a link are never ours. */
function ownerOf(root: string, { files: live }: FolderObserver, ownership: Ownership): Owner {
  const { key } = ownership;
  const path = pathOfObject(key);
  const state = checkedFolder(root, dirname(path)) === undefined ? ABSENT : statePath(root, path);
  if (state.type === 'folder') return theirs(path, `${path} is a folder`);
  if (state.type === 'other') return theirs(path, `${path} is ${state.what}, which is not followed`);
  live.lookAtFile(path);
  const otherPath = [...live.pathsOf(key)].find((known) => known !== path);
  if (state.type === 'absent') {
    return otherPath === undefined
      ? { type: 'free' }
      : theirs(otherPath, `${displayKey(key)} is already in ${otherPath}, which is not where fleetrelay writes it`);
  }
  const file = live.files.get(path);
  const [object, ...others] = file?.objects ?? [];
  if (file === undefined || file.problem !== undefined || object === undefined) {
    // The text of a file that was read shows whether it was ours.
    const bytes = file?.read && readRegularFile(root, path, LARGEST_FILE_BYTES)?.bytes;
    if (bytes !== undefined && isRemnant(bytes, ownership)) return { type: 'remnant' };
    const reason = file === undefined ? 'it changes' : (file.problem?.message ?? 'no object');
    return theirs(path, `${path} cannot be read (${reason}), so it is left alone; mend or delete it`);
  }
  if (others.length > 0) return theirs(path, `${path} holds other objects too; move them to another file`);
  return byStamp(path, object, ownership);
}

function byStamp(path: string, object: ObservedObject, { fleet, key, nonce }: Ownership): Owner {
  const { stamp } = object;
  const [name, wanted] = [displayKey(object.key), displayKey(key)];
  if (object.key !== key) {
    const isOursInOtherCase = stamp?.key === object.key && object.key.toLowerCase() === key.toLowerCase();
    return isOursInOtherCase
      ? theirs(path, `${path} is taken by ${name}, which differs from ${wanted} only in case`)
      : theirs(path, `${path} holds ${name} of another owner`);
  }
  if (stamp === undefined) {
    return theirs(path, `${path} was not written by fleetrelay; delete or move it to let it be managed`);
  }
  if (stamp.fleet !== fleet) return theirs(`fleet ${stamp.fleet}`, `${path} belongs to the fleet ${stamp.fleet}`);
  if (stamp.key !== key) {
    return theirs(path, `${path} is a copy of ${displayKey(stamp.key)} and is not owned by fleetrelay`);
  }
  if (stamp.nonce === nonce) return { type: 'ours', object };
  const why = 'carries the stamp of this fleet, and the inventory of the cluster does not know that stamp';
  return theirs(path, `${path} ${why}; delete or move it to let it be managed`);
}

function theirs(owner: string, message: string): Owner {
  return { type: 'theirs', owner, message };
}
