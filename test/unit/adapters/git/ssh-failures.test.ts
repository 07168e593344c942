import { expect, test } from 'vitest';
import { failureOf } from '../../../../src/adapters/git/failures.ts';

/** What hosts and ssh write, and how it is told. */
test.each([
  [
    'ERROR: Repository not found.\nfatal: Could not read from remote repository.',
    'RepositoryNotFound',
    /private repository/,
  ],
  [
    "ERROR: The project you were looking for could not be found or you don't have permission to view it.",
    'RepositoryNotFound',
    /private repository/,
  ],
  [
    'ERROR: The key you are authenticating with has been marked as read only.',
    'Unauthorized',
    /read only\. Allow it to write/,
  ],
  [
    'ERROR: This deploy key does not have write access to this project.',
    'Unauthorized',
    /read only\. Allow it to write/,
  ],
  ['git@github.com: Permission denied (publickey).', 'Unauthorized', /the host refuses the key/],
  ["Could not create file '/x': Permission denied", 'LocalFailure', /Permission denied/],
  [
    'No user exists for uid 4711\r\nfatal: Could not read from remote repository.',
    'LocalFailure',
    /\/etc\/passwd, and 4711/,
  ],
  ['sh: 1: ssh: not found', 'LocalFailure', /openssh-client/],
  ['ssh: Could not resolve hostname git.example.com: Name or service not known', 'Unreachable', /Could not resolve/],
] as const)('%j is %s', (errors, reason, message) => {
  const outcome = { end: 'exited', code: 128, succeeded: false, output: Buffer.alloc(0), errors } as const;
  expect(failureOf(outcome, 'fetching', [])).toMatchObject({ reason, message: expect.stringMatching(message) });
});
