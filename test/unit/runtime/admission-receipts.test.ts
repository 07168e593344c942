import { expect, test } from 'vitest';
import type { Receipt } from '../../../src/model/fleet/receipt.ts';
import { createAdmissionReceipts } from '../../../src/runtime/replica/admission-receipts.ts';

/** A replica that has admitted what it has read. `commit`: a commit of the loop. */
function replica() {
  const state = { leads: true, group: undefined as { receipt: () => Receipt } | undefined };
  let commit = (): void => undefined;
  const receiptOf = createAdmissionReceipts({
    loop: {
      addSink: (_phase: string, sink: () => void): void => {
        commit = sink;
      },
    },
    journal: { failure: () => 'the disk is full' },
    own: { all: () => [{ source: { name: 'main' }, reading: { revision: 'r1' } }] },
    staged: { publishedSource: () => ({ revision: { revision: 'r1' } }) },
    publisher: { group: () => state.group },
    leads: () => state.leads,
  } as never);
  return { state, receiptOf, commit: () => commit() };
}

async function written({ written }: Receipt): Promise<boolean | 'open'> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  return Promise.race([written, Promise.resolve('open' as const)]);
}

test('a leader that cannot write yet lets the caller wait, with the reason, until the store has the admission', async () => {
  const { state, receiptOf, commit } = replica();
  const receipt = receiptOf('main');
  commit();
  expect([await written(receipt), receipt.problem()]).toEqual(['open', 'the disk is full']);
  state.group = {
    receipt: () => ({ written: Promise.resolve(true), problem: () => undefined, cancel: () => undefined }),
  };
  commit();
  expect(await written(receipt)).toBe(true);
});

test('a process that has lost the lead answers that it did not write the admission', async () => {
  const { state, receiptOf, commit } = replica();
  const receipt = receiptOf('main');
  state.leads = false;
  commit();
  expect(await written(receipt)).toBe(false);
});
