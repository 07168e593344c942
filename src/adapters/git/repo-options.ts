import type { SshFiles } from '../../model/fleet/relay-config.ts';
import type { GitSigners } from './file-signature.ts';
import type { GitCredentials } from './remote.ts';

/** What both adapters of a repository are told. */
export interface GitRepoOptions {
  /** `https://`, `http://`, or for the git program an SSH address, `file://` or a path; without credentials. */
  readonly remote: string;
  /** The remote's default branch unless set. */
  readonly branch?: string;
  /** For the local copy; belongs to this object alone. Created if it does not exist. */
  readonly directory: string;
  /** Called for each use of the remote, so that a secret can be replaced without a restart. Rejects with a text for people. */
  readonly credentials?: () => Promise<GitCredentials>;
  /** For an SSH address, which needs it. */
  readonly ssh?: SshFiles;
  /** Certificates (PEM) to trust instead of the machine's. */
  readonly caFile?: string;
  /** For each call over the network; 60 unless set. */
  readonly deadlineSeconds?: number;
  /** For the first fetch, which transfers the complete history; 900 unless set. */
  readonly cloneDeadlineSeconds?: number;
  /** The largest local copy with its history, in bytes; 2 GiB unless set. */
  readonly maxCopyBytes?: number;
  /** Whose signatures of commits count; no one's unless set. */
  readonly signers?: GitSigners;
}
