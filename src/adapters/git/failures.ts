import { type GitFailure, gitCopyError } from '../../ports/git-repo.ts';
import type { ProcessOutcome } from './git-command.ts';
import { sshFailure } from './ssh-failures.ts';

const MAX_MESSAGE_LENGTH = 500;

/** Makes git's error output fit for a person: without secrets, terminal sequences and progress lines, and bounded. */
export function cleanMessage(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) if (secret !== '') clean = clean.replaceAll(secret, '***');
  clean = clean.replace(/([a-z][a-z0-9+.-]*:\/\/)[^/\s@']*@/gi, '$1***@');
  const lines = clean
    .split(/[\r\n]+/)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a server must not control the terminal of a person.
    .map((line) => line.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim())
    .filter(
      (line) => line !== '' && !/^(hint|remote: (Counting|Compressing|Enumerating|Total)|To |Everything)/.test(line),
    )
    .map((line) => line.replace(/^(fatal|error): /, '').replace(/\s+/g, ' '));
  const joined = [...new Set(lines)].join('; ');
  return joined.length > MAX_MESSAGE_LENGTH ? `${joined.slice(0, MAX_MESSAGE_LENGTH - 3)}...` : joined;
}

/** Git's texts in the C locale, and their reasons; the first match counts. */
const REASONS: readonly (readonly [pattern: RegExp, reason: GitFailure['reason']])[] = [
  [/fsck error|fsckObjects/i, 'BadObjects'],
  [/could not read (Username|Password)|Authentication failed|error: 40[13]|HTTP 40[13]/i, 'Unauthorized'],
  [
    /repository( .*)? not found|could not be found or you don't have permission|error: 404|does not appear to be a git repository|does not exist|dubious ownership/i,
    'RepositoryNotFound',
  ],
  [
    /No space left|Disk quota|Read-only file system|Permission denied|Too many open files|cannot allocate/i,
    'LocalFailure',
  ],
];

/** True if the connection broke during the transfer, so that the local copy is not the cause. */
export function isBrokenConnection(errors: string): boolean {
  return /RPC failed|early EOF|unexpected disconnect|hung up|transfer closed|curl \d+|timed? ?out|unable to access|reset by peer|Could not read from remote/i.test(
    errors,
  );
}

export function failed(reason: GitFailure['reason'], message: string): GitFailure {
  return { type: 'failed', reason, message };
}

/** The failure of a call that did not succeed. `what`: the step, as in "fetching main from https://...". */
export function failureOf(outcome: ProcessOutcome, what: string, secrets: readonly string[]): GitFailure {
  const errors = cleanMessage(outcome.errors, secrets);
  switch (outcome.end) {
    case 'aborted':
      return failed('Stopped', `${what} was stopped`);
    case 'timedOut':
      return failed('TimedOut', `${what} took longer than its deadline`);
    case 'overflow':
      return failed('BadObjects', `${what} gave more output than is allowed`);
    case 'missing':
      return failed('LocalFailure', `git could not be started (${errors}); install git 2.31 or newer`);
    case 'exited': {
      const ssh = sshFailure(outcome.errors);
      if (ssh !== undefined) return failed(ssh.reason, `${what} failed: ${ssh.message}`);
      const reason = REASONS.find(([pattern]) => pattern.test(outcome.errors))?.[1] ?? 'Unreachable';
      const message = errors || `git exited with ${outcome.code}`;
      return failed(reason, `${what} failed: ${message}${adviceOn(outcome.errors, reason)}`);
    }
  }
}

/** Hosts of repositories do not tell strangers that a private one exists. */
export const LOOKS_ABSENT =
  ' (a private repository looks so without credentials that may read it: give them, or correct the address)';

function adviceOn(errors: string, reason: GitFailure['reason']): string {
  if (/error: 30[1278]|redirect/i.test(errors)) {
    return ' (the server sends the request elsewhere, and credentials are not sent after it; configure the address it leads to)';
  }
  if (reason === 'RepositoryNotFound' && /error: 404|repository( .*)? not found|could not be found/i.test(errors))
    return LOOKS_ABSENT;
  return reason === 'Unauthorized' ? ' (the credentials are missing, wrong, or not enough for this repository)' : '';
}

/** Says nothing about the local copy. */
export class DeadlinePassed extends Error {}

/** The error of a command on the local copy. */
export function copyFailure(what: string, { end, errors }: ProcessOutcome): Error {
  if (end === 'timedOut') return new DeadlinePassed(`${what} took longer than its deadline`);
  return gitCopyError(`${what} failed: ${cleanMessage(errors, []) || end}`);
}
