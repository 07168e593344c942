import { errorText } from '../../model/error-text.ts';
import { canonicalJson, type JsonValue, parseJsonBytes } from '../../model/json.ts';
import { objectOf, textOf } from '../../model/json-fields.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Fence, FencedLease, LeaseAnswer } from '../../ports/lease.ts';
import type { SnapshotStore, StoredRecord, StoreWrite } from '../../ports/snapshot-store.ts';

export interface StoreLeaseDeps {
  readonly store: SnapshotStore;
  readonly clock: Clock;
}

export interface StoreLeaseOptions {
  /** Key of the record that names the holder; each renewal writes `KEY/renewed`. */
  readonly key: string;
  /** Identity of this process; never used by another process. */
  readonly identity: string;
  /** Milliseconds without a renewal after which another process may take the lease. Default 9 s. */
  readonly durationMs?: number;
  /** Milliseconds that the holder relies on a renewal: less than the duration, for requests take time and clocks drift. Default 6 s. */
  readonly termMs?: number;
}

/** Default of `durationMs`. */
export const LEASE_DURATION_MS = 9_000;
const TERM_MS = 6_000;

/**
 * A lease in a store that several processes share, by compare-and-set. Another holder's lease has expired when this process
 * has observed no change of its records for the duration; clocks of other machines and of the store are not used. Taking the
 * lease writes the record; renewing writes `KEY/renewed` only. So the version of the record is the fence: a holder whose
 * lease has expired and was taken cannot write with it.
 */
export function createStoreLease({ store, clock }: StoreLeaseDeps, options: StoreLeaseOptions): FencedLease {
  const { key, identity, durationMs = LEASE_DURATION_MS, termMs = TERM_MS } = options;
  const beatKey = `${key}/renewed`;
  let mine: Fence | undefined;
  /** Highest observed term; terms continue above it after a loss of the store. */
  let highest = 0;
  let observed: { readonly versions: string; readonly state: State; readonly at: number } | undefined;
  let claims = 0;

  return { acquire: () => attempt(acquire), release, fence: () => mine };

  async function attempt(act: () => Promise<LeaseAnswer>): Promise<LeaseAnswer> {
    try {
      return await act();
    } catch (error) {
      return { type: 'failed', message: errorText(error) };
    }
  }

  async function acquire(): Promise<LeaseAnswer> {
    const deadline = clock.monotonic() + termMs;
    if (mine !== undefined && (await store.write([mine.check, beat()])) === 'written') return heldUntil(deadline);
    mine = undefined;
    const before = observed;
    const state = await look();
    if (state.holder === undefined) {
      // A deletion of the records does not end the term of the last holder.
      const last = before?.state.holder;
      if (before !== undefined && last !== undefined && isAlive(last, before.at)) {
        observed = before;
        return { type: 'taken', holder: last };
      }
    } else if (isAlive(state.holder, observed?.at ?? clock.monotonic())) return { type: 'taken', holder: state.holder };
    return take(state, deadline);
  }

  /** True if another process holds the lease and it has not expired. */
  function isAlive(holder: string, since: number): boolean {
    return holder !== '' && holder !== identity && clock.monotonic() < since + durationMs;
  }

  async function take(state: State, deadline: number): Promise<LeaseAnswer> {
    const term = Math.max(state.term, highest) + 1;
    claims += 1;
    const value = bytesOf({ holder: identity, term, claim: claims });
    const outcome = await store.write([
      { key, value, ifVersion: state.version },
      { ...beat(), ifVersion: state.beatVersion },
    ]);
    const after = await look();
    if (outcome === 'written' && after.holder === identity && after.term === term && after.version !== null) {
      mine = { term, check: { key, ifVersion: after.version } };
      return heldUntil(deadline);
    }
    return after.holder !== undefined && isAlive(after.holder, observed?.at ?? clock.monotonic())
      ? { type: 'taken', holder: after.holder }
      : { type: 'failed', message: 'the lease was changed at the same moment' };
  }

  function heldUntil(deadline: number): LeaseAnswer {
    return clock.monotonic() < deadline
      ? { type: 'held', deadline }
      : { type: 'failed', message: 'the lease was renewed too late' };
  }

  function beat(): StoreWrite {
    return { key: beatKey, value: bytesOf({ by: identity }) };
  }

  async function look(): Promise<State> {
    const [record, renewed] = await Promise.all([store.get(key), store.get(beatKey)]);
    const state = stateOf(record, renewed);
    const versions = `${state.version} ${state.beatVersion}`;
    if (observed?.versions !== versions) observed = { versions, state, at: clock.monotonic() };
    highest = Math.max(highest, state.term);
    return state;
  }

  async function release(): Promise<void> {
    const fence = mine;
    mine = undefined;
    if (fence === undefined) return;
    const value = bytesOf({ holder: '', term: fence.term });
    // If the write fails, other processes wait until the lease expires.
    await store.write([{ ...fence.check, value }]).catch(() => undefined);
  }
}

interface State {
  /** Empty: released. Undefined: no readable record. */
  readonly holder: string | undefined;
  readonly term: number;
  readonly version: string | null;
  readonly beatVersion: string | null;
}

function stateOf(record: StoredRecord | undefined, renewed: StoredRecord | undefined): State {
  const versions = { version: record?.version ?? null, beatVersion: renewed?.version ?? null };
  if (record === undefined) return { holder: undefined, term: 0, ...versions };
  const { holder, term } = objectOf(parseJsonBytes(record.value));
  return { holder: textOf(holder), term: typeof term === 'number' ? term : 0, ...versions };
}

function bytesOf(value: JsonValue): Uint8Array {
  return new TextEncoder().encode(canonicalJson(value));
}
