import type { FileSignature } from '../../model/fleet/file-signature.ts';
import { printable } from './commit-text.ts';
import { copyFailure } from './failures.ts';
import type { GitCommand, Setting } from './git-command.ts';

/** Whose signatures count: git verifies them, and knows no other keys. */
export interface GitSigners {
  /** Absolute path of a file in the format of `gpg.ssh.allowedSignersFile`; absent: no SSH signature counts. */
  readonly allowedSignersFile?: string;
  /** The GNUPGHOME with the keys that count; absent: no OpenPGP signature counts. */
  readonly openpgpHome?: string;
}

/** Commits that changed the files, the newest first, with what git says of the changes. */
const HISTORY = ['--full-history', '--topo-order', '-c', '--raw', '--no-abbrev', '--no-renames', '-z', '--format=%H'];
/** Merges are listed even if they change nothing. */
const MOST_HISTORY_BYTES = 32 * 1024 * 1024;
const DEADLINE_MS = 120_000;
/** A program that does not exist. */
const NONE = 'no-program-verifies-this';

const TOO_LONG = { problem: 'the history is too long to find the commit that brought it' };
const NO_COMMIT = { problem: 'no commit of the branch has given it this content' };

/** A commit that changed a file, and the content that it gave the file. */
interface Change {
  readonly commit: string;
  readonly blob: string;
}

/** What git finds wrong with a signature (`%G?`). */
const VERDICTS: Readonly<Record<string, string>> = {
  N: 'has no signature that can be verified',
  B: 'has a signature that does not belong to it, or whose key is not for commits',
  U: 'is signed with a key that is not one of an approval signer, or that was not valid at the date of the commit',
  E: 'is signed with a key that is not one of an approval signer',
  X: 'has a signature that has expired',
  Y: 'is signed with a key that has expired',
  R: 'is signed with a key that was revoked',
};

/**
 * Judges the signatures of the commits that gave files their content; see `GitRepo.signaturesOf`. The full history is walked, once
 * for all files, so that no merge can bring back what was signed once and removed since.
 */
export function createSignatureReader(
  git: GitCommand,
  repository: string,
  environment: Readonly<Record<string, string>>,
  signers: GitSigners,
) {
  /** Undefined: there is more output than is read. */
  const run = async (what: string, args: readonly string[]): Promise<string | undefined> => {
    const call = { args, repository, settings: settingsOf(signers), deadlineMs: DEADLINE_MS };
    const { openpgpHome } = signers;
    const outcome = await git.run({
      ...call,
      maxOutputBytes: MOST_HISTORY_BYTES,
      environment: { ...environment, ...(openpgpHome && { GNUPGHOME: openpgpHome }) },
    });
    if (outcome.end === 'overflow') return undefined;
    if (!outcome.succeeded) throw copyFailure(what, outcome);
    return outcome.output.toString('utf8');
  };
  const verdictOn = async (commit: string): Promise<FileSignature> => {
    const shown = await run('verifying a commit', ['log', '-1', '--format=%G?%n%GS', commit]);
    const [verdict = '', signer = ''] = (shown ?? '').split('\n');
    if (verdict === 'G' && signer !== '') return { signer: printable(signer) };
    return { problem: `the commit ${commit.slice(0, 12)} that brought it ${VERDICTS[verdict] ?? VERDICTS.E}` };
  };
  return async (tip: string, files: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, FileSignature>> => {
    const verdicts = new Map<string, FileSignature>();
    if (files.size === 0) return verdicts;
    const history = await run('walking the history of files', ['log', ...HISTORY, tip, '--', ...files.keys()]);
    const changes = history === undefined ? undefined : lastChanges(history);
    const ofCommits = new Map<string, FileSignature>();
    for (const [path, blob] of files) {
      const found = changes?.get(path);
      if (changes === undefined) verdicts.set(path, TOO_LONG);
      else if (found === undefined || found.blob !== blob) verdicts.set(path, NO_COMMIT);
      else {
        const verdict = ofCommits.get(found.commit) ?? (await verdictOn(found.commit));
        ofCommits.set(found.commit, verdict);
        verdicts.set(path, verdict);
      }
    }
    return verdicts;
  };
}

/**
 * By path, the first commit for which git shows a change of the file. Git shows a change for a merge only if the file differs
 * from the file of every parent. A part of the output is the id of a commit, or a change; the part after a change is its path.
 */
function lastChanges(history: string): ReadonlyMap<string, Change> {
  const changes = new Map<string, Change>();
  let commit = '';
  let blob: string | undefined;
  for (const part of history.split('\0')) {
    if (blob !== undefined) {
      if (!changes.has(part)) changes.set(part, { commit, blob });
      blob = undefined;
      continue;
    }
    const text = part.trim();
    // Modes, ids of the parents, id of the result, status.
    if (text.startsWith(':')) blob = text.split(' ').at(-2) ?? '';
    else if (text !== '') commit = text;
  }
  return changes;
}

function settingsOf({ allowedSignersFile, openpgpHome }: GitSigners): readonly Setting[] {
  return [
    ['log.showSignature', 'false'],
    ['gpg.ssh.allowedSignersFile', allowedSignersFile ?? '/dev/null'],
    ['gpg.ssh.program', allowedSignersFile === undefined ? NONE : 'ssh-keygen'],
    ['gpg.openpgp.program', openpgpHome === undefined ? NONE : 'gpg'],
    ['gpg.x509.program', NONE],
  ];
}
