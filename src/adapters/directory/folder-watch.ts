import { type FSWatcher, watch } from 'node:fs';
import { join } from 'node:path';
import { errorText } from '../../model/error-text.ts';
import type { Log } from '../../ports/log.ts';

/** Watches folders one by one; events are hints and may be missing. */
export interface FolderWatch {
  /** Starts watching a folder (relative to the root, '' is the root) unless it is watched already. */
  add(path: string): void;
  /** Ends the watches of a folder and of what was below it. */
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
      if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return;
      // Out of watches: the periodic look still finds everything, only later.
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
