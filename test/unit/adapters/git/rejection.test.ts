import { describe, expect, test } from 'vitest';
import { outcomeOfRejection } from '../../../../src/adapters/git/rejection.ts';

const lock = "cannot lock ref 'refs/heads/fleetrelay': Unable to create '/repo/refs/heads/fleetrelay.lock'";
const judged = (message: string): string =>
  outcomeOfRejection({ branch: 'fleetrelay', expected: null, message }, new Map()).type;

describe('a push of a branch that is where it was', () => {
  test.each([
    `${lock}: File exists.`,
    "cannot lock ref 'refs/heads/fleetrelay': is at 1234 but expected 5678",
    'failed to update ref',
    `failed to update ref: error: ${lock}: File exists.`,
  ])('is tried again after %j', (message) => {
    expect(judged(message)).toBe('race');
  });
  test.each([
    `${lock}: Permission denied`,
    `failed to update ref: error: ${lock}: No space left on device`,
    `${lock}: Read-only file system`,
    'pre-receive hook declined: failed to lock the release calendar',
  ])('is refused by %j', (message) => {
    expect(judged(message)).toBe('refused');
  });
});
