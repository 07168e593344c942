import { unreachable } from '../../model/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Lease, LeaseAnswer } from '../../ports/lease.ts';
import type { Log } from '../../ports/log.ts';
import { createTurns, type Lead } from './leadership-turns.ts';

export interface LeadershipDeps {
  readonly lease: Lease;
  readonly clock: Clock;
  readonly log: Log;
}

export interface LeadershipOptions {
  /** Milliseconds between two attempts to take or renew the lease; much less than it lasts. Default 1 s. */
  readonly retryMs?: number;
}

/** `unknown`: the cluster does not say who leads. */
export type Standing =
  | { readonly type: 'leading' }
  | { readonly type: 'following'; readonly leader: string }
  | { readonly type: 'unknown'; readonly message: string };

/** Contends for a lease, and leads while it is held. */
export interface Leadership {
  start(): void;
  standing(): Standing;
  /** Ends the turn, if there is one, and only then gives the lease back. Never rejects. */
  stop(): Promise<void>;
}

const RETRY_MS = 1_000;

export function createLeadership(deps: LeadershipDeps, lead: Lead, options: LeadershipOptions = {}): Leadership {
  const { lease, clock, log } = deps;
  const { retryMs = RETRY_MS } = options;
  const stopping = new AbortController();
  const turns = createTurns(deps, lead);
  let standing: Standing = { type: 'unknown', message: 'the lease was not asked for yet' };
  let contending: Promise<void> = Promise.resolve();
  let trouble: string | undefined;

  return {
    start: () => {
      contending = contend();
    },
    // A turn that is over may still be ending, and the lease was not asked for again.
    standing: () => (standing.type === 'leading' && !turns.isOn() ? notAnyMore(turns.whyOver()) : standing),
    stop: async () => {
      stopping.abort();
      await contending;
      await turns.end();
      await lease.release();
    },
  };

  async function contend(): Promise<void> {
    while (!stopping.signal.aborted) {
      // Whoever is still busy ending a turn does not ask for another one.
      const rest = await turns.settled();
      if (rest > 0) await standBack();
      else heard(await lease.acquire());
      await clock.sleep(Math.max(retryMs, rest), stopping.signal);
    }
  }

  async function standBack(): Promise<void> {
    standing = {
      type: 'unknown',
      message: 'this replica has given its turn up, and leaves the lease to others for a while',
    };
    await lease.release();
  }

  function heard(answer: LeaseAnswer): void {
    if (stopping.signal.aborted) return;
    if (answer.type === 'held') turns.renew(answer.deadline);
    if (answer.type === 'taken') turns.lose(`${answer.holder} has the lease`);
    const before = standing;
    standing = standingAfter(answer, turns.isOn());
    if (standing.type === 'following' && (before.type !== 'following' || before.leader !== standing.leader)) {
      log.info('standing by', { leader: standing.leader });
    }
    const message = answer.type === 'failed' ? answer.message : undefined;
    if (message !== undefined && message !== trouble)
      log.warn('the lease could not be taken or renewed; it is tried again', { reason: message });
    trouble = message;
  }
}

function notAnyMore(reason: string): Standing {
  return { type: 'unknown', message: `this replica leads no more: ${reason}` };
}

/** An older term still runs to its own deadline. */
function standingAfter(answer: LeaseAnswer, isOn: boolean): Standing {
  switch (answer.type) {
    case 'held':
      return { type: 'leading' };
    case 'taken':
      return { type: 'following', leader: answer.holder };
    case 'failed':
      return isOn ? { type: 'leading' } : { type: 'unknown', message: answer.message };
    default:
      return unreachable(answer);
  }
}
