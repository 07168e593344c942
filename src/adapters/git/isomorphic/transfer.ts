import { rename, rm } from 'node:fs/promises';
import git from 'isomorphic-git';
import type { GitFailure, GitFetchOutcome } from '../../../ports/git-repo.ts';
import { failed } from '../failures.ts';
import { tooLarge } from '../fetch-into.ts';
import { folderSize } from '../folder-size.ts';
import { copyFiles, openRepository, packNames, removePacks } from './copy-files.ts';
import type { PackObjects } from './pack-objects.ts';
import { type RemoteContext, useRemote } from './remote-calls.ts';
import { withDefaultBranch } from './unborn-head.ts';

/** A transfer is held in memory until its objects are known. */
const MOST_TRANSFER_BYTES = 512 * 1024 * 1024;

/** What is to be fetched. */
export interface Wanted {
  /** The ref of the local copy: its commit is what the server is told to be here. */
  readonly local: string;
  /** A full name, or the id of a commit. */
  readonly remote: string;
  /** For messages, as in "fetching main from https://...". */
  readonly what: string;
  readonly depth?: number | undefined;
}

export interface Target {
  readonly repository: string;
  readonly maxCopyBytes: number;
  readonly objects: PackObjects;
}

/** Fetches objects into a repository; what is larger than allowed, or failed, leaves nothing behind. */
export async function transfer(
  context: RemoteContext,
  { repository, maxCopyBytes, objects }: Target,
  { what, depth, local, remote }: Wanted,
): Promise<GitFetchOutcome> {
  const { url } = context;
  const before = new Set(await packNames(repository));
  const room = maxCopyBytes - (await folderSize(repository));
  const maxBytes = Math.max(0, Math.min(room, MOST_TRANSFER_BYTES));
  const fetched = await useRemote(context, { what, maxBytes }, (http, headers) =>
    git.fetch({
      fs: copyFiles,
      gitdir: repository,
      cache: {},
      headers,
      url,
      remote: 'origin',
      http: withDefaultBranch(http, remote),
      ref: local,
      remoteRef: remote,
      singleBranch: true,
      tags: false,
      ...(depth && { depth }),
    }),
  );
  objects.refresh();
  const undo = async (failure: GitFailure): Promise<GitFailure> => {
    const added = (await packNames(repository)).filter((name) => !before.has(name));
    await removePacks(repository, added);
    return failure;
  };
  if (fetched.type === 'failed') {
    return undo(fetched.reason === 'TooLarge' ? transferTooLarge(what, room, maxCopyBytes) : fetched);
  }
  if ((await folderSize(repository)) > maxCopyBytes) return undo(tooLarge(what, maxCopyBytes));
  const commit = fetched.value.fetchHead;
  return commit === null ? { type: 'absent' } : { type: 'fetched', commit };
}

function transferTooLarge(what: string, room: number, maxCopyBytes: number): GitFailure {
  if (room <= MOST_TRANSFER_BYTES) return tooLarge(what, maxCopyBytes);
  return failed(
    'TooLarge',
    `${what} was ended: without the git program at most ${MOST_TRANSFER_BYTES} bytes are fetched at once; install git`,
  );
}

/** Fetches a new copy beside the old one, which stays until the new copy is complete. `paths`: the copy, the new one, the old one. */
export async function replaceCopy(
  context: RemoteContext,
  { objects, maxCopyBytes }: Target,
  wanted: Wanted,
  [repository, fresh, old]: readonly [string, string, string],
): Promise<GitFetchOutcome> {
  await rm(fresh, { recursive: true, force: true });
  await openRepository(fresh);
  const outcome = await transfer(context, { repository: fresh, maxCopyBytes, objects }, { ...wanted, depth: 1 });
  if (outcome.type !== 'fetched') {
    await rm(fresh, { recursive: true, force: true });
    return outcome;
  }
  await rm(old, { recursive: true, force: true });
  await rename(repository, old);
  await rename(fresh, repository);
  await rm(old, { recursive: true, force: true });
  objects.refresh();
  return outcome;
}
