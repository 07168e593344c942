import { canonicalJson, type JsonValue, objectOf, parseJsonBytes, textOf } from '../../model/text/json.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Fence, FencedLease } from '../../ports/lease.ts';
import type { SnapshotStore, StoreWrite } from '../../ports/snapshot-store.ts';
import { acquireObserved, type LeaseTimes, type LeaseView } from '../lease/observed-lease.ts';

interface StoreLeaseOptions extends LeaseTimes {
  /** Key of the record that names the holder; each renewal writes `KEY/renewed`. */
  readonly key: string;
}

interface Stored extends LeaseView {
  readonly term: number;
  /** Versions of the two records; null: there is none. */
  readonly versions: readonly [string | null, string | null];
}

/**
 * A lease in a store that several processes share, by compare-and-set. Taking the lease writes the record; renewing writes
 * `KEY/renewed` only. So the version of the record is the fence: a holder whose lease has expired and was taken cannot write
 * with it.
 */
export function createStoreLease(
  { store, clock }: { readonly store: SnapshotStore; readonly clock: Clock },
  options: StoreLeaseOptions,
): FencedLease {
  const { key, identity } = options;
  const beat: StoreWrite = { key: `${key}/renewed`, value: bytesOf({ by: identity }) };
  let mine: Fence | undefined;
  /** Highest observed term; terms continue above it after a loss of the store. */
  let highest = 0;
  let claims = 0;

  const renew = async (): Promise<boolean> => {
    if (mine !== undefined && (await store.write([mine.check, beat])) === 'written') return true;
    mine = undefined;
    return false;
  };
  const read = async (): Promise<Stored> => {
    const [record, renewed] = await Promise.all([store.get(key), store.get(beat.key)]);
    const { holder, term } = objectOf(record === undefined ? undefined : parseJsonBytes(record.value));
    const versions = [record?.version ?? null, renewed?.version ?? null] as const;
    const found = typeof term === 'number' ? term : 0;
    highest = Math.max(highest, found);
    return { holder: record && textOf(holder), term: found, versions, version: versions.join(' ') };
  };
  const take = async (found: Stored): Promise<boolean> => {
    const term = highest + 1;
    claims += 1;
    const [ifVersion, ifBeat] = found.versions;
    const value = bytesOf({ holder: identity, term, claim: claims });
    const outcome = await store.write([
      { key, value, ifVersion },
      { ...beat, ifVersion: ifBeat },
    ]);
    const after = await read();
    const [version] = after.versions;
    if (outcome !== 'written' || after.holder !== identity || after.term !== term || version === null) return false;
    mine = { term, check: { key, ifVersion: version } };
    return true;
  };

  return {
    fence: () => mine,
    acquire: acquireObserved(clock, { renew, read, take }, options),
    release: async () => {
      const fence = mine;
      mine = undefined;
      if (fence === undefined) return;
      const value = bytesOf({ holder: '', term: fence.term });
      // If the write fails, other processes wait until the lease expires.
      await store.write([{ ...fence.check, value }]).catch(() => undefined);
    },
  };
}

function bytesOf(value: JsonValue): Uint8Array {
  return new TextEncoder().encode(canonicalJson(value));
}
