import type { GitThread } from '../../adapters/git/isomorphic/thread-calls.ts';
import { startWorker } from '../start-worker.ts';

// In the bundle, chunks are beside the folder of this entry.
const MODULE = import.meta.url.endsWith('.ts') ? '../../adapters/git/isomorphic/thread.ts' : '../git-thread.js';

/** Starts the thread of a repository that is read without the git program. */
export function startGitThread(): GitThread {
  return startWorker(new URL(MODULE, import.meta.url));
}
