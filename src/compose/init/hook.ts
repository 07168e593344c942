import { execFile } from 'node:child_process';
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
    const why = code === 'ENOENT' ? 'git, or the folder, is missing' : stderr.trim();
    throw new Error(`${directory} is in no git repository (${why}): run git init first`);
  }
}

/** Checks what is staged, which can differ from the files in the work tree. */
const HOOK = `#!/bin/sh
# Written by "fleetrelay init --hook": validates the manifests that a commit changes, as they are staged.
set -eu
command -v fleetrelay >/dev/null || {
  echo 'pre-commit: fleetrelay is not on the PATH; install it, or commit with --no-verify' >&2
  exit 1
}
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
trap 'exit 1' HUP INT TERM
staged=$temporary/tree
changed=$temporary/changed
mkdir "$staged"
git checkout-index --all --prefix="$staged/"
git diff --cached --name-only --no-renames --diff-filter=ACMT -z -- '*.yaml' '*.yml' '*.json' '.fleetrelayignore' >"$changed"
test -s "$changed" || exit 0
unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE
cd "$staged"
xargs -0 fleetrelay validate --repository . -- <"$changed"
`;
