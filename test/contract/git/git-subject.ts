import type { GitRepo } from '../../../src/ports/git-repo.ts';
import type { GitSandbox } from '../../support/git-sandbox.ts';

/** What the contract needs of an adapter and a way to reach a repository. */
export interface GitRepoSubject {
  readonly name: string;
  /** What the adapter says that it cannot do; a test shows that it says so. */
  readonly cannot: ReadonlySet<'sha256'>;
  /** Serves the sandbox; the URL of a bare repository in it. */
  open(box: GitSandbox): Promise<{ urlOf(name: string): string; close(): Promise<void> }>;
  /** A repo object; the same directory twice is a restart. */
  repo(options: {
    readonly remote: string;
    readonly branch?: string;
    readonly directory: string;
    readonly maxCopyBytes?: number;
  }): GitRepo;
}
