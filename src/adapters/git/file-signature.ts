import type { FileSignature } from '../../model/file-signature.ts';
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

/** Commits that changed the file, the newest first, with what git says of the change. */
const HISTORY = ['--full-history', '--topo-order', '-c', '--raw', '--no-abbrev', '--no-renames', '--format=%H'];
/** Merges are listed even if they change nothing. */
const MOST_HISTORY_BYTES = 32 * 1024 * 1024;
const DEADLINE_MS = 120_000;
/** A program that does not exist. */
const NONE = 'no-program-verifies-this';

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
 * Judges the signature of the commit that gave a file its content; see `GitRepo.signatureOf`. The full history is walked, so that
 * no merge can bring back what was signed once and removed since.
 */
export function createSignatureReader(git: GitCommand, repository: string, signers: GitSigners) {
  /** Undefined: there is more output than is read. */
  const run = async (what: string, args: readonly string[]): Promise<string | undefined> => {
    const call = { args, repository, settings: settingsOf(signers), deadlineMs: DEADLINE_MS };
    const { openpgpHome } = signers;
    const outcome = await git.run({
      ...call,
      maxOutputBytes: MOST_HISTORY_BYTES,
      ...(openpgpHome === undefined ? {} : { environment: { GNUPGHOME: openpgpHome } }),
    });
    if (outcome.end === 'overflow') return undefined;
    if (!outcome.succeeded) throw copyFailure(what, outcome);
    return outcome.output.toString('utf8');
  };
  return async (tip: string, path: string, blob: string): Promise<FileSignature> => {
    const history = await run('walking the history of a file', ['log', ...HISTORY, tip, '--', path]);
    if (history === undefined) return { problem: 'its history is too long to find the commit that brought it' };
    const found = lastChange(history);
    if (found?.blob !== blob) return { problem: 'no commit of the branch has given it this content' };
    const { commit } = found;
    const shown = await run('verifying a commit', ['log', '-1', '--format=%G?%n%GS', commit]);
    const [verdict = '', signer = ''] = (shown ?? '').split('\n');
    if (verdict === 'G' && signer !== '') return { signer: printable(signer) };
    return { problem: `the commit ${commit.slice(0, 12)} that brought it ${VERDICTS[verdict] ?? VERDICTS.E}` };
  };
}

/** The first commit for which git shows a change: a merge has one only if its file differs from that of every parent. */
function lastChange(history: string): { readonly commit: string; readonly blob: string | undefined } | undefined {
  let commit = '';
  for (const line of history.split('\n')) {
    if (/^[0-9a-f]+$/.test(line)) commit = line;
    // Modes, ids of the parents, id of the result, status.
    else if (line.startsWith(':')) return { commit, blob: line.split('\t', 1)[0]?.split(' ').at(-2) };
  }
  return undefined;
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
