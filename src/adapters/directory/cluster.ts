import { lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { jsonEquals } from '../../model/json.ts';
import { errorText } from '../../model/messages.ts';
import { objectRefOf } from '../../model/object-key.ts';
import type { Clock } from '../../ports/clock.ts';
import type {
  ApplyOutcome,
  ApplyRequest,
  ClusterApi,
  LiveState,
  ObservedObject,
  RemoveOutcome,
  RemoveRequest,
} from '../../ports/cluster-api.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import { isErrno } from '../disk/files.ts';
import { BlockedPath, folderIdentity, removeFile, writeFileAtomically } from './folder.ts';
import { createFolderWatch } from './folder-watch.ts';
import { clusterIdOf, lockFolder, OWN_FOLDER, openOwnFolder } from './instance.ts';
import { type InventoryFile, openInventory } from './inventory.ts';
import { pathOfObject } from './layout.ts';
import { renderLiveFile } from './live-file.ts';
import { createLiveFiles, type LiveFiles } from './live-files.ts';
import { composeLiveState } from './live-state.ts';
import { ownershipOf } from './ownership.ts';
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

/** One write causes several events (create, write, rename), which share one look at the path. */
const SETTLE_MS = 4;
const PAUSE_NAME = 'paused';

/**
 * Opens a folder of YAML and JSON files as a cluster. All manifest files in it and in its sub-folders are the live state.
 * An applied object is written to `namespaces/NAMESPACE/KIND[.GROUP]/NAME.yaml` or `cluster/KIND[.GROUP]/NAME.yaml`. `.fleetrelay/` holds
 * the cluster id, the inventory and a lock; a file `paused` there or in the root is the stop button.
 * Rejects if the folder cannot be used or another agent has it.
 */
export async function createDirectoryCluster(
  deps: DirectoryClusterDeps,
  options: DirectoryClusterOptions,
): Promise<ClusterApi> {
  mkdirSync(options.directory, { recursive: true });
  const root = realpathSync(options.directory);
  const own = openOwnFolder(root);
  const unlock = lockFolder(own, deps.random);
  try {
    const id = clusterIdOf(own, deps.random);
    const inventory = openInventory(join(own, 'inventory'));
    const present = presenceOf(root);
    const looking = createLooking(root, deps, present);
    return {
      identity: async () => id,
      list: looking.list,
      watch: looking.watch,
      apply: async (request) => attempt(present, () => apply(deps, root, looking.files, request)),
      remove: async (request) => attempt(present, () => remove(root, looking.files, request)),
      // Every kind is listed anyway, and files have no field managers: no setting changes what this adapter does.
      configure: () => {},
      loadInventory: async () => inventory.load(),
      saveInventory: async (change) => {
        present();
        await inventory.save(change);
      },
      matches,
      close: async () => closeAll(looking, inventory, unlock),
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

/** A moved file does not match, even with our content: it is not where fleetrelay writes the object. */
function matches({ key, value, stamp }: ApplyRequest, observed: ObservedObject): boolean {
  return (
    observed.stale !== true &&
    observed.where === pathOfObject(key) &&
    jsonEquals(withoutStamp(value), observed.value) &&
    sameStamp(stamp, observed.stamp)
  );
}

function closeAll(looking: { close(): void }, inventory: InventoryFile, unlock: () => void): void {
  looking.close();
  inventory.close();
  unlock();
}

function createLooking(root: string, { clock, log }: DirectoryClusterDeps, present: () => void) {
  const dirty = new Set<string>();
  const kinds = new Map<string, string>();
  const hints = new Set<() => void>();
  const watch = createFolderWatch(root, log, noticed);
  const files = createLiveFiles(root, clock, (path) => watch.add(path));
  watch.add(OWN_FOLDER);
  let state: { readonly value: LiveState; readonly version: number } | undefined;
  let walking: Promise<void> | undefined;
  let cancelLook: (() => void) | undefined;

  return { files, list, watch: subscribe, close };

  async function list(depth: 'hinted' | 'complete'): Promise<LiveState> {
    present();
    if (depth === 'complete' || state === undefined) {
      dirty.clear();
      walking ??= files.walk().finally(() => {
        walking = undefined;
      });
      await walking;
    }
    lookAtDirty();
    return current();
  }

  function current(): LiveState {
    const paused = isPaused(root);
    if (state === undefined || state.version !== files.version() || state.value.paused !== paused) {
      state = { value: composeLiveState(files, kinds, paused), version: files.version() };
    }
    return state.value;
  }

  function lookAtDirty(): void {
    const paths = [...dirty];
    dirty.clear();
    for (const path of paths) {
      watch.drop(path);
      files.look(path);
    }
  }

  function noticed(path: string): void {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const isPause = name === PAUSE_NAME;
    if (path.startsWith('.') ? !isPause : name.startsWith('.')) return;
    if (!path.startsWith('.')) dirty.add(path);
    cancelLook ??= clock.schedule(SETTLE_MS, lookNow);
  }

  function lookNow(): void {
    cancelLook = undefined;
    const before = files.version();
    const wasPaused = state?.value.paused;
    let failed = false;
    try {
      present();
      lookAtDirty();
    } catch (error) {
      // The list that follows the hint fails for the same reason and reports it.
      failed = true;
      log.debug('the folder could not be looked at', { reason: errorText(error) });
    }
    // Our own writes are in `files` already and give no hint.
    if (failed || before !== files.version() || wasPaused !== isPaused(root)) {
      for (const hint of hints) hint();
    }
  }

  function subscribe(hint: () => void): () => void {
    hints.add(hint);
    return () => hints.delete(hint);
  }

  function close(): void {
    cancelLook?.();
    watch.close();
    hints.clear();
  }
}

/**
 * Throws unless the path still leads to the folder that was opened. A folder that was moved away or unmounted is not an
 * empty cluster: its objects are not removed.
 */
function presenceOf(root: string): () => void {
  const opened = folderIdentity(root);
  return () => {
    if (folderIdentity(root) !== opened)
      throw new FolderMissing(
        `${root} is not the folder that was opened; bring that one back, or start the agent anew`,
      );
  };
}

class FolderMissing extends Error {}

/** Runs one write; an error becomes its outcome. */
function attempt<Outcome>(present: () => void, write: () => Outcome): Outcome | Failure {
  try {
    present();
    return write();
  } catch (error) {
    return failure(error);
  }
}

function apply(deps: DirectoryClusterDeps, root: string, live: LiveFiles, request: ApplyRequest): ApplyOutcome {
  const { key, stamp, value } = request;
  if (isPaused(root)) return { type: 'paused' };
  const ownership = ownershipOf(root, live, stamp.fleet, key);
  if (ownership.type === 'theirs') return { type: 'conflict', owner: ownership.owner, message: ownership.message };
  if (ownership.type === 'ours' && matches(request, ownership.object)) return { type: 'unchanged' };
  const bytes = renderLiveFile(value, stamp);
  const path = pathOfObject(key);
  const placed = writeFileAtomically(root, path, bytes, {
    mode: objectRefOf(key).kind === 'Secret' ? 0o600 : 0o644,
    unique: deps.random.id(),
    mayReplace: () => !isPaused(root) && ownershipOf(root, live, stamp.fleet, key).type !== 'theirs',
  });
  if (!placed) {
    return isPaused(root)
      ? { type: 'paused' }
      : {
          type: 'failed',
          retryable: true,
          reason: 'ChangedMeanwhile',
          message: `${path} was changed while it was being written`,
        };
  }
  live.wrote(path, bytes, { key, value: withoutStamp(value), stamp, where: path });
  return { type: 'applied' };
}

function remove(root: string, live: LiveFiles, { key, fleet }: RemoveRequest): RemoveOutcome {
  if (isPaused(root)) return { type: 'paused' };
  const path = pathOfObject(key);
  const ownership = ownershipOf(root, live, fleet, key);
  switch (ownership.type) {
    case 'free':
      return { type: 'gone' };
    case 'theirs':
      return { type: 'notOwned', owner: ownership.owner, message: ownership.message };
    case 'ours':
    case 'remnant':
      removeFile(root, path);
      live.look(path);
      return { type: 'gone' };
  }
}

type Failure = Extract<ApplyOutcome & RemoveOutcome, { type: 'failed' }>;

function failure(error: unknown): Failure {
  if (error instanceof FolderMissing) {
    return { type: 'failed', retryable: true, reason: 'FolderMissing', message: error.message };
  }
  if (error instanceof BlockedPath) {
    return { type: 'failed', retryable: true, reason: 'BlockedPath', message: error.message };
  }
  const reason = isErrno(error, 'ENOSPC', 'EDQUOT')
    ? 'DiskFull'
    : isErrno(error, 'EACCES', 'EPERM', 'EROFS')
      ? 'NotPermitted'
      : 'WriteFailed';
  return { type: 'failed', retryable: true, reason, message: errorText(error) };
}

function isPaused(root: string): boolean {
  return [join(root, PAUSE_NAME), join(root, OWN_FOLDER, PAUSE_NAME)].some(
    (path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined,
  );
}
