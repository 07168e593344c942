import type { GitThread } from '../../adapters/git/isomorphic/thread-calls.ts';
import { startWorker } from '../start-worker.ts';

// In the bundle, chunks are beside the folder of this entry.
const MODULE = import.meta.url.endsWith('.ts') ? '../../adapters/git/isomorphic/thread.ts' : '../git-thread.js';

/** Starts the thread of a repository that is read without the git program. */
export function startGitThread(): GitThread {
  return startWorker(new URL(MODULE, import.meta.url));
}

const MOST_BYTES = 2 * 1024 ** 3;
const LEAST_BYTES = 256 * 1024 ** 2;

/** A part of the memory that the machine or the container has left, so that a large repository fails alone and the server goes on. */
export function gitThreadBytes(): number {
  return Math.round(Math.min(MOST_BYTES, Math.max(LEAST_BYTES, process.availableMemory() * 0.75)));
}
