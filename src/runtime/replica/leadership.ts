import type { Clock } from '../../ports/clock.ts';
import type { FencedLease, LeaseAnswer } from '../../ports/lease.ts';
import type { Log } from '../../ports/log.ts';

/** Contends for the lease of the fleet's leader, and knows whether this process has it. */
export interface Leadership {
  start(): void;
  /** Of the turn that this process has; it grows with each turn. Undefined: somebody else leads, or nobody. */
  turn(): number | undefined;
  /** Who leads, as far as is known. */
  leader(): string | undefined;
  /** The turn is over before its time: what was written with its fence was refused. */
  giveUp(reason: string): void;
  /** Gives the lease back. Never rejects. */
  stop(): Promise<void>;
}

const RETRY_MS = 1_000;

/** `changed` is called when a turn begins or ends, or another leader is seen. */
export function createLeadership(
  deps: { readonly lease: FencedLease; readonly clock: Clock; readonly log: Log; readonly changed: () => void },
  identity: string,
): Leadership {
  const { lease, clock, log, changed } = deps;
  const stopping = new AbortController();
  let contending: Promise<void> = Promise.resolve();
  let turns = 0;
  let deadline: number | undefined;
  let term: number | undefined;
  let holder: string | undefined;
  let trouble: string | undefined;
  let cancelEnd = (): void => undefined;

  const leads = (): boolean => deadline !== undefined && clock.monotonic() < deadline;
  const end = (reason: string): void => {
    cancelEnd();
    if (deadline === undefined) return;
    deadline = undefined;
    if (holder === identity) holder = undefined;
    log.warn('this replica leads no more', { reason });
    changed();
  };
  const hold = (until: number): void => {
    const now = lease.fence()?.term;
    // Somebody else may have led meanwhile: what was known then must be read anew.
    if (deadline !== undefined && (!leads() || now !== term)) end('its turn ended and began anew');
    const begins = deadline === undefined;
    deadline = until;
    term = now;
    holder = identity;
    cancelEnd();
    cancelEnd = clock.schedule(Math.max(0, until - clock.monotonic()), () => end('the lease was not renewed in time'));
    if (!begins) return;
    turns += 1;
    log.info('this replica leads', { turn: turns });
    changed();
  };
  const heard = (answer: LeaseAnswer): void => {
    if (answer.type === 'held') hold(answer.deadline);
    if (answer.type === 'taken') {
      const before = holder;
      end(`${answer.holder} has the lease`);
      holder = answer.holder;
      if (holder !== before) {
        log.info('another replica leads', { leader: holder });
        changed();
      }
    }
    const message = answer.type === 'failed' ? answer.message : undefined;
    if (message !== undefined && message !== trouble)
      log.warn('the lease of the leader could not be taken or renewed; it is tried again', { reason: message });
    trouble = message;
  };
  const contend = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      heard(await lease.acquire());
      await clock.sleep(RETRY_MS, stopping.signal);
    }
  };

  return {
    start: () => {
      contending = contend();
    },
    turn: () => (leads() ? turns : undefined),
    leader: () => (holder === identity && !leads() ? undefined : holder),
    giveUp: end,
    stop: async () => {
      stopping.abort();
      await contending;
      end('this replica stops');
      await lease.release();
    },
  };
}
