import type { GitFailure } from '../../ports/git-repo.ts';

type Words = readonly string[];

/** Texts of ssh and of hosts, what they mean, and what a person does; the first match counts. */
const TEXTS: readonly (readonly [pattern: RegExp, reason: GitFailure['reason'], say: (words: Words) => string])[] = [
  [
    /Offending \S+ key in (.+):(\d+)/,
    'Unreachable',
    ([, file, line]) =>
      `the host shows another key than line ${line} of ${file} has. Ask the operator of the host whether its key has changed, and only then replace the line`,
  ],
  [
    /No (\S+) host key is known for (\S+)/,
    'Unreachable',
    ([, type, host]) =>
      `the host ${host} has no ${type} key in the file of ssh.knownHostsFile. Add the line that ssh-keyscan prints, after comparing it with the key that the host publishes`,
  ],
  [
    /Permission denied \([^)]*\)/,
    'Unauthorized',
    () => 'the host refuses the key. Add its public half to the repository as a deploy key',
  ],
  [
    /marked as read only|does not have write access/i,
    'Unauthorized',
    () => 'the host lets the key read only. Allow it to write, or configure another key for status.git',
  ],
  [
    /ssh: (?:command )?not found/,
    'LocalFailure',
    () => 'there is no ssh program on the PATH. Install OpenSSH (openssh-client)',
  ],
  [
    /No user exists for uid (\d+)/,
    'LocalFailure',
    ([, uid]) => `ssh runs only for a user who is in /etc/passwd, and ${uid} is not`,
  ],
];

/** What a failure of ssh means; undefined: it is none that is known. */
export function sshFailure(errors: string): Pick<GitFailure, 'reason' | 'message'> | undefined {
  for (const [pattern, reason, say] of TEXTS) {
    const words = pattern.exec(errors);
    if (words !== null) return { reason, message: say(words) };
  }
  return undefined;
}
