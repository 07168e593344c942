import type { Input } from '../../../engine/collections/types.ts';
import { createKeyedCount } from '../../../model/limits/keyed-limit.ts';
import { given } from '../../../model/values/given.ts';
import type { SharedRecord } from '../../../runtime/ledger/records.ts';
import { fields, isFlag, isText, isTime } from '../../../runtime/ledger/shapes.ts';
import type { Replica } from '../../../runtime/replica/replica.ts';
import { createSharedInput, type SharedInputDeps } from '../../../runtime/shared-input.ts';
import type { StreamState } from '../model/dataplane-health.ts';

interface StreamDeps extends SharedInputDeps {
  readonly input: Input<StreamState>;
  /** Id of this replica; empty: the only server. */
  readonly id: string;
  readonly replica: Pick<Replica, 'leads' | 'isAlive'>;
}

/** Whether a data plane has an open stream, as the replica notes it that has seen the last change. */
type StreamRecord = {
  /** Id of the replica; empty: the only server. */
  readonly replica: string;
  readonly open: boolean;
  /** When `open` last changed, in milliseconds since 1970. */
  readonly since: number;
  /** Why its Envoy has refused the endpoints that it was sent last; absent: it has not. */
  readonly rejected?: string;
  /** Why the last stream has ended; absent: one is open. */
  readonly ended?: string;
};

/** Whether declared data planes are connected, by their `MESH/NAME`. */
export const streamRecords: SharedRecord = {
  prefix: 'dataplane-streams/',
  shape: fields({ replica: isText, open: isFlag, since: isTime }),
};

/** Time for an Envoy to come back after its server has ended, until it counts as disconnected. */
export const RETURN_MS = 30_000;
const LOOK_MS = 1_000;
const SERVER_ENDED = `its server has ended, and it has not come back within ${RETURN_MS / 1000} s`;

/**
 * Knows which data planes are connected: those with an open stream at any replica. A replica that has a stream says so again
 * when another one reports the end of its own. After the end of a server, its data planes stay connected for
 * {@link RETURN_MS}; then the leader notes the end of those that have not come back.
 */
export function createDataplaneStreams(deps: StreamDeps) {
  const { clock, id, replica } = deps;
  /** Open streams of this process. */
  const here = createKeyedCount();
  /** When the server of an open stream was first missing, by data plane. */
  const missing = new Map<string, { readonly monotonic: number; readonly at: number }>();
  let cancel = (): void => undefined;
  let isStopping = false;

  const shared = createSharedInput<StreamRecord, StreamState>(deps, streamRecords, {
    input: deps.input,
    staged: ({ replica: _replica, open, ...rest }) => ({ connected: open, ...rest }),
    changed: (key) => assert(key),
  });
  /** This process has a stream: if another one does not know that, it is told. */
  const assert = (key: string): void => {
    if (here.of(key) === 0 || shared.get(key)?.open === true) return;
    shared.set(key, { replica: id, open: true, since: clock.now() });
  };
  const isServed = (key: string, record: StreamRecord): boolean =>
    here.of(key) > 0 || (record.replica !== id && replica.isAlive(record.replica));
  const look = (): void => {
    const now = clock.monotonic();
    for (const [key, record] of shared.entries()) {
      if (!record.open || isServed(key, record)) {
        missing.delete(key);
        continue;
      }
      const first = missing.get(key) ?? { monotonic: now, at: clock.now() };
      missing.set(key, first);
      if (now - first.monotonic < RETURN_MS || !replica.leads()) continue;
      missing.delete(key);
      shared.set(key, closedRecord(id, first.at, SERVER_ENDED));
    }
    cancel = clock.schedule(LOOK_MS, look);
  };

  return {
    /** A stream is open. Returns the function that says that it has ended, and why. */
    opened: (key: string): ((why: string) => void) => {
      const close = here.open(key);
      missing.delete(key);
      const record = shared.get(key);
      // It comes back after a restart, or to another replica: it was connected all the time.
      const since = record?.open === true ? record.since : clock.now();
      // The newest stream decides which replica notes the end: the others keep quiet about theirs.
      shared.set(key, { replica: id, open: true, since });
      let isOver = false;
      return (ended) => {
        // The streams end with this process, and their Envoys come back to the next one.
        if (isOver || isStopping) return;
        isOver = true;
        close();
        if (here.of(key) > 0) return;
        // Another replica that has a stream too does not change.
        if (shared.get(key)?.replica === id) shared.set(key, closedRecord(id, clock.now(), ended));
      };
    },
    /** An Envoy has refused the endpoints that it was sent (the reason), or has accepted the next ones (undefined). */
    rejected: (key: string, reason: string | undefined): void => {
      const record = shared.get(key);
      if (record === undefined) return;
      const { rejected: _before, ...rest } = record;
      shared.set(key, { ...rest, ...given({ rejected: reason }) });
    },
    forget: shared.delete,
    known: (): readonly string[] => [...shared.entries()].map(([key]) => key),
    /** Starts to follow other replicas. Returns what stops it, which is called before the streams of this process end. */
    start: (): (() => Promise<void>) => {
      const unfollow = shared.follow();
      look();
      return () => {
        isStopping = true;
        cancel();
        return unfollow();
      };
    },
  };
}

function closedRecord(replica: string, since: number, ended: string): StreamRecord {
  return { replica, open: false, since, ended };
}
