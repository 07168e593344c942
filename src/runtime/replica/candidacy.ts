import { createElector } from '../../election/elector.ts';
import { objectOf } from '../../model/text/json.ts';
import type { Fence, FencedLease, Lease } from '../../ports/lease.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import type { ServerCore } from '../core.ts';
import type { ServerBus } from '../events.ts';
import { isLeaderRecord } from '../ledger/records.ts';
import type { WriteGuard } from '../stored/group.ts';
import { jsonWrite, readJson } from '../stored/json-record.ts';

export type Candidacy = ReturnType<typeof createCandidacy>;

/** The part of a replica in the leader election of the servers, and its right to write the records of the leader. */
export function createCandidacy(
  deps: Pick<ServerCore, 'journal' | 'clock' | 'log'> & { readonly lease: FencedLease; readonly events: ServerBus },
  id: string,
) {
  const { lease, journal, events } = deps;
  let lastFence = 0;
  let hasAnotherLed = false;

  const elector = createElector(deps, { changed: () => events.emit('election') });
  /** Number of the current turn of this replica as leader, from 1; undefined: it does not lead. */
  const turn = (): number | undefined => elector.term()?.number;
  /** Lets a batch pass only while this replica leads and no other one has led since. */
  const guard: WriteGuard = {
    check: () => (turn() === undefined ? undefined : lease.fence()?.check),
    refused: () => elector.resign('another replica has led since'),
  };
  /** Writes the records of the fleet. What a follower puts here is not written: the leader puts the same. */
  const fleet = journal.group(guard);
  /**
   * Forgets the leader's records of this replica if another one has led since. The numbers of the fences show that as well,
   * unless the store was lost and counts them anew.
   */
  const forgetOutdated = (): void => {
    hasAnotherLed ||= elector.otherLeader() !== undefined;
    const fence = turn() === undefined ? undefined : lease.fence()?.term;
    if (fence === undefined || (fence === lastFence && !hasAnotherLed)) return;
    if (fence !== lastFence + 1 || hasAnotherLed) fleet.forget(isLeaderRecord);
    lastFence = fence;
    hasAnotherLed = false;
  };
  events.on('election', () => {
    forgetOutdated();
    fleet.resume();
  });
  return {
    id,
    turn,
    guard,
    fleet,
    start: elector.start,
    stop: elector.stop,
    /** The identity of the leader, as far as it is known. */
    leader: (): string | undefined => (turn() === undefined ? elector.otherLeader() : id),
  };
}

const FENCE_KEY = 'fence';

/**
 * Adds a fence in the store to a lease that is kept elsewhere. The holder writes its identity and a number to the record
 * `fence`; its batches pass only while that record is unchanged. While the store does not answer, the lease is held without
 * a fence: then nothing can be written either.
 */
export function withFence(lease: Lease, store: SnapshotStore, identity: string): FencedLease {
  let mine: Fence | undefined;
  return {
    fence: () => mine,
    acquire: async () => {
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
