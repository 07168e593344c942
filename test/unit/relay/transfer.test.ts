import { expect, test, vi } from 'vitest';
import { DEFAULT_LIMITS } from '../../../src/relay/limits.ts';
import type { Link } from '../../../src/relay/link.ts';
import { createTransfers } from '../../../src/relay/transfer.ts';
import { holdingHead, holdingRecords } from '../../../src/relay/wire/output.ts';
import { createFakeAgent } from '../../support/relay-world.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const holding = createFakeAgent().holding();
const refuseAll = () => {
  throw new Error('no transfer from the peer is due');
};

function countingLink() {
  const over = Promise.withResolvers<never>();
  const { promise } = over;
  const then = vi.spyOn(promise, 'then');
  const link: Link = {
    post: () => undefined,
    send: async () => true,
    end: () => undefined,
    fail: () => undefined,
    probe: async () => true,
    spend: () => undefined,
    isOver: () => false,
    over: promise,
  };
  return {
    link,
    end: () => over.resolve({ code: 'lost', reason: 'Gone', message: '' } as never),
    waiting: () => then.mock.calls.length,
  };
}

test('waits for the end of its link once, however many transfers there are', async () => {
  const { link, waiting } = countingLink();
  const clock = createVirtualClock();
  const transfers = createTransfers({ link, clock, limits: DEFAULT_LIMITS }, refuseAll);
  for (let transfer = 1n; transfer <= 20n; transfer += 1n) {
    const answered = transfers.exchange(holdingHead(holding), holdingRecords(holding));
    await clock.settle();
    transfers.take({ case: 'ack', value: { transfer } } as never);
    expect((await answered).type).toBe('accepted');
  }
  expect(waiting()).toBe(1);
});

test('gives up the transfer that is under way when its link ends', async () => {
  const { link, end } = countingLink();
  const clock = createVirtualClock();
  const transfers = createTransfers({ link, clock, limits: DEFAULT_LIMITS }, refuseAll);
  const answered = transfers.exchange(holdingHead(holding), holdingRecords(holding));
  await clock.settle();
  end();
  expect(await answered).toEqual({ type: 'over' });
});
