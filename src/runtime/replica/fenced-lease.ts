import { objectOf } from '../../model/json-fields.ts';
import type { Fence, FencedLease, Lease, LeaseAnswer } from '../../ports/lease.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import { jsonWrite, readJson } from './records.ts';

const FENCE_KEY = 'fence';

/**
 * A fence in the store for a lease that is kept elsewhere: who has the lease writes its name there, and whatever it writes
 * later holds only while the name is still its own. While the store cannot be asked, the lease is held without a fence:
 * then nothing can be written either.
 */
export function withFence(lease: Lease, store: SnapshotStore, identity: string): FencedLease {
  let mine: Fence | undefined;
  return {
    fence: () => mine,
    acquire: async (): Promise<LeaseAnswer> => {
      const answer = await lease.acquire();
      if (answer.type === 'taken') mine = undefined;
      if (answer.type === 'held') mine = await takeFence(store, identity, mine).catch(() => mine);
      return answer;
    },
    release: async () => {
      mine = undefined;
      await lease.release();
    },
  };
}

async function takeFence(store: SnapshotStore, identity: string, mine: Fence | undefined): Promise<Fence | undefined> {
  const found = await readJson(store, FENCE_KEY);
  if (mine !== undefined && mine.check.ifVersion === found.version) return mine;
  const { term } = objectOf(found.value);
  const next = Math.max(typeof term === 'number' ? term : 0, mine?.term ?? 0) + 1;
  await store.write([jsonWrite(FENCE_KEY, { holder: identity, term: next }, found.version)]);
  const after = await readJson(store, FENCE_KEY);
  const taken = objectOf(after.value);
  return taken.holder === identity && taken.term === next && after.version !== null
    ? { term: next, check: { key: FENCE_KEY, ifVersion: after.version } }
    : undefined;
}
