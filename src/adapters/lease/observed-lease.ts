import { errorText } from '../../model/text/messages.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LeaseAnswer } from '../../ports/lease.ts';

/** A lease as it was read. */
export interface LeaseView {
  /** Empty: no process holds it. Undefined: there is no record. */
  readonly holder: string | undefined;
  /** Milliseconds that the holder has asked for; absent: as long as the observer's own. */
  readonly durationMs?: number;
  /** Differs after each renewal. */
  readonly version: string;
}

/** The record of a lease, in a place with compare-and-set. Each call rejects if the place does not answer. */
export interface LeaseRecord<View extends LeaseView> {
  /** Renews the lease without reading it. False: this process does not hold it. */
  renew?(): Promise<boolean>;
  read(): Promise<View>;
  /** Writes this process as the holder, on condition that the record is as it was read. False: it is not. */
  take(found: View): Promise<boolean>;
}

export interface LeaseTimes {
  /** Identity of this process; never used by another process. */
  readonly identity: string;
  /** Milliseconds without a renewal after which another process may take the lease; whole seconds. Default 9 s. */
  readonly durationMs?: number;
  /** Milliseconds that the holder relies on a renewal: less than the duration, for requests take time and clocks drift. Default 6 s. */
  readonly termMs?: number;
}

export const LEASE_DURATION_MS = 9_000;
export const LEASE_TERM_MS = 6_000;

/**
 * Returns the `acquire` of a lease. The lease of another holder has expired when this process has observed no change of the
 * record for its duration; clocks of other machines are not used.
 */
export function acquireObserved<View extends LeaseView>(
  clock: Clock,
  record: LeaseRecord<View>,
  { identity, durationMs = LEASE_DURATION_MS, termMs = LEASE_TERM_MS }: LeaseTimes,
): () => Promise<LeaseAnswer> {
  let observed: { readonly view: View; readonly at: number } | undefined;

  const read = async (): Promise<View> => {
    const view = await record.read();
    if (view.holder !== undefined && view.version !== observed?.view.version)
      observed = { view, at: clock.monotonic() };
    return view;
  };
  /** The other process that holds the lease; a deletion of the record does not end the term of its last holder. */
  const otherHolder = (): string | undefined => {
    if (observed === undefined) return undefined;
    const { holder = '', durationMs: theirs = durationMs } = observed.view;
    return holder !== '' && holder !== identity && clock.monotonic() < observed.at + theirs ? holder : undefined;
  };
  const heldFrom = (begun: number): LeaseAnswer =>
    clock.monotonic() < begun + termMs
      ? { type: 'held', deadline: begun + termMs }
      : { type: 'failed', message: 'the lease was renewed too late' };
  const acquire = async (): Promise<LeaseAnswer> => {
    let begun = clock.monotonic();
    if ((await record.renew?.()) === true) return heldFrom(begun);
    const found = await read();
    const before = otherHolder();
    if (before !== undefined) return { type: 'taken', holder: before };
    begun = clock.monotonic();
    if (await record.take(found)) return heldFrom(begun);
    // Another process was faster; or this one was, and the answer was lost.
    await read();
    const after = otherHolder();
    return after === undefined
      ? { type: 'failed', message: 'the lease was changed at the same moment' }
      : { type: 'taken', holder: after };
  };
  return () => acquire().catch((error: unknown) => ({ type: 'failed', message: errorText(error) }));
}
