import { expect, it } from 'vitest';
import { createFollowedApprovals } from '../../../src/runtime/removals/followed-approvals.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const OBJECT = ['east', '/ConfigMap/web/a'] as const;

it('an ended approval is told from an equal one of the same object, and from its other ended ones', async () => {
  const clock = createVirtualClock();
  const followed = createFollowedApprovals(clock);
  // A RemovalApproval with an expiry that was deleted and added again.
  const given = { digest: 'd', by: 'main:approvals/a.yaml', expiresAt: clock.now() + 60_000 };
  const [first, second, third] = [1, 2, 3].map((after) => ({ ...given, grantedAt: clock.now() + after }));
  if (first === undefined || second === undefined || third === undefined) throw new Error('there are three');
  followed.replicate(...OBJECT, first);
  followed.replicate(...OBJECT, { ...first, ended: true });
  followed.replicate(...OBJECT, second);
  expect([first, second, third].map((each) => followed.hasEnded(...OBJECT, each))).toEqual([true, false, false]);
  followed.replicate(...OBJECT, { ...second, ended: true });
  expect([first, second, third].map((each) => followed.hasEnded(...OBJECT, each))).toEqual([true, true, false]);
  await clock.advance(60_000);
  followed.replicate(...OBJECT, undefined);
  expect([first, second, third].map((each) => followed.hasEnded(...OBJECT, each))).toEqual([false, false, false]);
});
