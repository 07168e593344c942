import { type FSWatcher, watch } from 'node:fs';
import { join } from 'node:path';
import { errorText } from '../../model/messages.ts';
import type { Log } from '../../ports/log.ts';
import { isErrno } from '../disk/files.ts';

/** Watches single folders; events are hints, and some can be missing. */
export interface FolderWatch {
  /** Watches a folder (relative to the root, '' is the root), unless it is watched already. */
  add(path: string): void;
  /** Ends the watches of a folder and of the folders in it. */
  drop(path: string): void;
  close(): void;
}

/** `changed` gets the path of an entry in a watched folder. */
export function createFolderWatch(root: string, log: Log, changed: (path: string) => void): FolderWatch {
  const watchers = new Map<string, FSWatcher>();
  let exhausted = false;

  return { add, drop, close: () => [...watchers.keys()].forEach(end) };

  function add(path: string): void {
    if (exhausted || watchers.has(path)) return;
    try {
      const watcher = watch(join(root, path), { persistent: false }, (_event, name) => {
        changed(name === null ? path : path === '' ? name : `${path}/${name}`);
      });
      watcher.on('error', () => end(path));
      watchers.set(path, watcher);
    } catch (error) {
      if (isErrno(error, 'ENOENT', 'ENOTDIR')) return;
      // The system's limit of watches is reached: the periodic list finds changes, only later.
      exhausted = true;
      log.warn('folders cannot be watched; changes are found by looking periodically', { reason: errorText(error) });
    }
  }

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
