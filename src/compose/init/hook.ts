import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Step } from '../step.ts';
import { type FileWriting, writeOnce } from '../write-once.ts';

/** Where `fleetrelay init --hook` installs the hook. */
export interface HookRequest extends FileWriting {
  /** A folder of the work tree, relative to `cwd`. */
  readonly folder: string;
  readonly cwd: string;
}

/**
 * Installs the pre-commit hook of a git repository, where git looks for it (also with `core.hooksPath`). Rejects with a text
 * for a person if there is no work tree, or there is another hook and it is not forced to replace that.
 */
export async function installHook({ folder, cwd, ...writing }: HookRequest): Promise<readonly Step[]> {
  const directory = resolve(cwd, folder);
  const where = resolve(directory, await hookPath(directory));
  const isOurs = (there: string): boolean => there === HOOK;
  const step = await writeOnce('pre-commit hook', where, HOOK, isOurs, writing, 0o755);
  return [step];
}

async function hookPath(directory: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('git', ['rev-parse', '--git-path', 'hooks/pre-commit'], {
      cwd: directory,
    });
    return stdout.trimEnd();
  } catch (error) {
    const { code, stderr = '' } = error as { readonly code?: unknown; readonly stderr?: string };
    if (code === 'ENOENT' && existsSync(directory)) {
      throw new Error('a hook needs the git program, which could not be started; install git and put it on the PATH');
    }
    const why = code === 'ENOENT' ? 'the folder is missing' : stderr.trim();
    throw new Error(`${directory} is in no git repository (${why}): run git init first`);
  }
}

/**
 * Checks what is staged, which can differ from the files in the work tree, in a temporary work tree of its own: a folder with
 * `commondir`, `HEAD` and an index is what `git worktree` makes too. There `--changed-since` finds what the commit changes and removes,
 * and what depends on that. A repository without commits is checked as a whole.
 */
const HOOK = `#!/bin/sh
# Written by "fleetrelay init --hook": validates the manifests that a commit changes, as they are staged, and those that
# depend on what it changes or removes.
set -eu
command -v fleetrelay >/dev/null || {
  echo 'pre-commit: fleetrelay is not on the PATH; install it, or commit with --no-verify' >&2
  exit 1
}
head=$(git rev-parse --verify --quiet HEAD) || head=
empty=$(git hash-object -t tree /dev/null)
git diff --cached --quiet "\${head:-$empty}" -- '*.yaml' '*.yml' '*.json' '.fleetrelayignore' && exit 0
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$temporary/git" "$temporary/tree"
(cd "$(git rev-parse --git-common-dir)" && pwd) >"$temporary/git/commondir"
echo "\${head:-ref: refs/heads/none}" >"$temporary/git/HEAD"
echo "gitdir: $temporary/git" >"$temporary/tree/.git"
tree=$(git write-tree)
unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE GIT_PREFIX
cd "$temporary/tree"
git read-tree "$tree"
git checkout-index --all --index
fleetrelay validate \${head:+--changed-since HEAD}
`;
