import { type FSWatcher, lstatSync, watch } from 'node:fs';
import { join } from 'node:path';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import { errorText } from '../../model/text/messages.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LiveState } from '../../ports/cluster-api.ts';
import type { Log } from '../../ports/log.ts';
import { isErrno } from '../disk/files.ts';
import { OWN_FOLDER } from './instance.ts';
import { createLiveFiles } from './live-files.ts';

/** One write causes several events (create, write, rename), which share one look at the path. */
const SETTLE_MS = 4;
export const PAUSE_NAME = 'paused';

export type FolderObserver = ReturnType<typeof createFolderObserver>;

/** Keeps the live files of a folder up to date. `assertPresent` throws if the path leads to another folder now. */
export function createFolderObserver(
  root: string,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  assertPresent: () => void,
) {
  const dirty = new Set<string>();
  const hints = new Set<() => void>();
  const watches = createFolderWatches(root, log, noticed);
  const files = createLiveFiles(root, clock, watches.add);
  watches.add(OWN_FOLDER);
  let hasWalked = false;
  let lastPaused: boolean | undefined;
  let walking: Promise<void> | undefined;
  const isPaused = (): boolean => isPausedIn(root);
  let cancelLook: (() => void) | undefined;
  /** The state that `list` has returned last, with its changes, and as it was composed. */
  let listed: { readonly state: LiveState; readonly composed: LiveState } | undefined;

  return {
    files,
    isPaused,
    /** Of one caller: the changes are those since its last call. */
    list: async (depth: 'hinted' | 'complete'): Promise<LiveState> => {
      const composed = await look(depth);
      if (listed?.composed !== composed) listed = { state: withChanges(composed, listed?.composed), composed };
      return listed.state;
    },
    /** Of any caller. */
    look: (): Promise<LiveState> => look('hinted'),
    watch: (hint: () => void) => {
      hints.add(hint);
      return () => void hints.delete(hint);
    },
    close: (): void => {
      cancelLook?.();
      watches.close();
      hints.clear();
    },
  };

  async function look(depth: 'hinted' | 'complete'): Promise<LiveState> {
    assertPresent();
    if (depth === 'complete' || !hasWalked) {
      dirty.clear();
      walking ??= files.walk().finally(() => {
        walking = undefined;
      });
      await walking;
      hasWalked = true;
    }
    lookAtDirty();
    lastPaused = isPaused();
    return files.state(lastPaused);
  }

  function lookAtDirty(): void {
    const paths = [...dirty];
    dirty.clear();
    for (const path of paths) {
      watches.drop(path);
      files.look(path);
    }
  }

  function noticed(path: string): void {
    const isHidden = path.startsWith('.');
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (isHidden ? name !== PAUSE_NAME : name.startsWith('.')) return;
    if (!isHidden) dirty.add(path);
    cancelLook ??= clock.schedule(SETTLE_MS, lookNow);
  }

  function lookNow(): void {
    cancelLook = undefined;
    const before = files.version();
    let hasFailed = false;
    try {
      assertPresent();
      lookAtDirty();
    } catch (error) {
      // The list that follows the hint fails for the same reason and reports it.
      hasFailed = true;
      log.debug('the folder could not be looked at', { reason: errorText(error) });
    }
    // Our own writes are in `files` already and give no hint.
    if (hasFailed || before !== files.version() || lastPaused !== isPaused()) for (const hint of hints) hint();
  }
}

/** True while the stop button is on: a file `paused` in the root or in the own folder. */
function isPausedIn(root: string): boolean {
  return [join(root, PAUSE_NAME), join(root, OWN_FOLDER, PAUSE_NAME)].some(
    (path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined,
  );
}

/** Adds the keys of objects that have changed since `before`. */
function withChanges(state: LiveState, before: LiveState | undefined): LiveState {
  if (before === undefined) return state;
  const changed = new Set<ObjectKey>();
  for (const [key, object] of state.objects) if (before.objects.get(key) !== object) changed.add(key);
  for (const key of before.objects.keys()) if (!state.objects.has(key)) changed.add(key);
  return { ...state, changed };
}

/** Watches single folders (paths relative to the root). Events are hints, and some can be missing. */
function createFolderWatches(root: string, log: Log, changed: (path: string) => void) {
  const watchers = new Map<string, FSWatcher>();
  let isExhausted = false;

  return { add, drop, close: () => [...watchers.keys()].forEach(end) };

  function add(path: string): void {
    if (isExhausted || watchers.has(path)) return;
    try {
      const watcher = watch(join(root, path), { persistent: false }, (_event, name) => {
        changed(name === null ? path : path === '' ? name : `${path}/${name}`);
      });
      watcher.on('error', () => end(path));
      watchers.set(path, watcher);
    } catch (error) {
      if (isErrno(error, 'ENOENT', 'ENOTDIR')) return;
      // The system's limit of watches is reached: the periodic list finds changes, only later.
      isExhausted = true;
      log.warn('folders cannot be watched; changes are found by looking periodically', { reason: errorText(error) });
    }
  }

  /** Ends the watches of a folder and of the folders in it. */
  function drop(path: string): void {
    for (const known of [...watchers.keys()]) {
      if (known === path || known.startsWith(`${path}/`)) end(known);
    }
  }

  function end(path: string): void {
    watchers.get(path)?.close();
    watchers.delete(path);
  }
}
