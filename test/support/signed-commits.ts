import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createNativeGitRepo } from '../../src/adapters/git/native-git-repo.ts';
import { prepareSigners } from '../../src/adapters/git/prepare-signers.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { FileSignature } from '../../src/model/fleet/file-signature.ts';
import type { ApprovalSigners } from '../../src/model/fleet/relay-config.ts';
import { must } from '../../src/model/values/result.ts';
import { createGitSandbox, hermeticGit, writeFiles } from './git-sandbox.ts';
import { programPath } from './programs.ts';
import { silentLog } from './silent-log.ts';

/** Keys of `ssh-keygen` and `gpg`, and a repository whose commits they sign. */
export type SigningWorld = ReturnType<typeof createSigningWorld>;

/** How a commit is signed, and when it says that it was made. */
export interface Signing {
  /** An SSH key, by the name of its person; absent: the commit is not signed. */
  readonly ssh?: string;
  /** An OpenPGP key, by the name of its person. */
  readonly openpgp?: string;
  /** As git reads dates. */
  readonly date?: string;
}

/** Creates the world; call `remove` after the test. */
export function createSigningWorld() {
  const sandbox = createGitSandbox();
  const work = join(sandbox.path, 'work');
  const gnupg = join(sandbox.path, 'gpg');
  const allowedSignersFile = join(sandbox.path, 'approvers');
  mkdirSync(work);
  mkdirSync(gnupg, { mode: 0o700 });
  const run = (
    program: 'git' | 'gpg' | 'ssh-keygen',
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): string =>
    execFileSync(program === 'git' ? program : programPath(program), args, {
      cwd: work,
      env: { ...hermeticGit, GNUPGHOME: gnupg, ...env },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  const git = (...args: readonly string[]): string => run('git', args);
  git('-c', 'init.defaultBranch=main', 'init', '--quiet', '.');
  const keys = new Map<string, string>();
  /** The file of a person's SSH key; made when it is first asked for. */
  const sshKey = (person: string): string => {
    const file = keys.get(person) ?? join(sandbox.path, `${person}.key`);
    if (!keys.has(person)) run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', person, '-f', file]);
    keys.set(person, file);
    return file;
  };
  const signingArgs = ({ ssh, openpgp }: Signing): readonly string[] => {
    if (ssh !== undefined) return ['-c', 'gpg.format=ssh', '-c', `user.signingKey=${sshKey(ssh)}`];
    return openpgp === undefined ? [] : ['-c', `user.signingKey=${openpgp}@example.com`];
  };
  /** The verdicts on these files, in their order, of a server that has these signers. */
  const verdicts = async (
    paths: readonly string[],
    signers: ApprovalSigners = { allowedSignersFile },
  ): Promise<readonly (FileSignature | undefined)[]> => {
    const deps = { clock: createSystemClock(), environment: process.env };
    const prepared = await prepareSigners(deps, signers, join(sandbox.path, 'server', 'signers'));
    const directory = join(sandbox.path, 'server', 'git');
    const repo = must(
      createNativeGitRepo({ ...deps, log: silentLog }, { remote: work, branch: 'main', directory, signers: prepared }),
    );
    try {
      const fetched = await repo.fetch();
      if (fetched.type !== 'fetched') throw new Error(JSON.stringify(fetched));
      const changes = await repo.diff(null, fetched.commit, '');
      const blobOf = (path: string): string => changes.find((change) => change.path === path)?.entry?.blob ?? '';
      const verdicts = await repo.signaturesOf(fetched.commit, new Map(paths.map((path) => [path, blobOf(path)])));
      return paths.map((path) => verdicts.get(path));
    } finally {
      await repo.close();
    }
  };
  return {
    sandbox,
    work,
    git,
    allowedSignersFile,
    sshKey,
    /** Names a person as an approval signer; `options` as in the format of the file. */
    allow: (person: string, options = ''): void => {
      const [type = '', key = ''] = readFileSync(`${sshKey(person)}.pub`, 'utf8').split(' ');
      appendFileSync(allowedSignersFile, `${person}@example.com ${options} ${type} ${key}\n`);
    },
    /** Withdraws all SSH keys. */
    allowNone: (): void => writeFileSync(allowedSignersFile, ''),
    /** Makes an OpenPGP key. */
    openpgpKey: (person: string): void => {
      const of = `${person} <${person}@example.com>`;
      run('gpg', ['--batch', '--quiet', '--passphrase', '', '--quick-gen-key', of, 'ed25519', 'sign', 'never']);
    },
    /** The file with the public OpenPGP keys of these people. */
    exported: (...people: readonly string[]): string => {
      const file = join(sandbox.path, 'approvers.asc');
      writeFileSync(file, run('gpg', ['--armor', '--export', ...people.map((person) => `${person}@example.com`)]));
      return file;
    },
    /** Commits files (null removes) on the branch that is checked out; returns the commit. */
    commit: (files: Readonly<Record<string, string | null>>, signing: Signing = {}): string => {
      writeFiles(work, files);
      git('add', '--all');
      const isSigned = (signing.ssh ?? signing.openpgp) !== undefined;
      const date =
        signing.date === undefined ? {} : { GIT_AUTHOR_DATE: signing.date, GIT_COMMITTER_DATE: signing.date };
      const message = ['commit', '--quiet', '--allow-empty', '-m', 'Change', isSigned ? '--gpg-sign' : '--no-gpg-sign'];
      run('git', [...signingArgs(signing), ...message], date);
      return git('rev-parse', 'HEAD');
    },
    /** Puts a signature of a person on a commit that is like the last one, made for another purpose or for another text. */
    forge: (person: string, namespace: string, textOf: (commit: string) => string = (commit) => commit): void => {
      const commit = `${git('cat-file', 'commit', 'HEAD')}\n`;
      const text = join(sandbox.path, 'signed-text');
      writeFileSync(text, textOf(commit));
      // It does not overwrite.
      rmSync(`${text}.sig`, { force: true });
      run('ssh-keygen', ['-q', '-Y', 'sign', '-f', sshKey(person), '-n', namespace, text]);
      const signature = readFileSync(`${text}.sig`, 'utf8').trim().replaceAll('\n', '\n ');
      writeFileSync(text, commit.replace('\n\n', `\ngpgsig ${signature}\n\n`));
      git('update-ref', 'refs/heads/main', git('hash-object', '-t', 'commit', '-w', text));
    },
    verdicts,
    /** The verdict on one file. */
    verdict: async (path: string, signers?: ApprovalSigners): Promise<FileSignature | undefined> =>
      (await verdicts([path], signers))[0],
    remove: sandbox.remove,
  };
}
