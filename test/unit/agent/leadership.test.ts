import { describe, expect, test } from 'vitest';
import { createLeadership, type Leadership, type LedTerm } from '../../../src/agent/leadership.ts';
import type { Lease } from '../../../src/ports/lease.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import { createMemoryLease, type MemoryLease } from '../../support/memory-lease.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

interface Replica {
  readonly leadership: Leadership;
  readonly log: ReturnType<typeof createRecordingLog>;
  /** Starts and ends of the terms, in order. */
  readonly events: string[];
  term(): LedTerm;
  /** The next term fails to start. */
  failing: boolean;
  /** Milliseconds that the end of a term takes. */
  endMs: number;
}

function world(): { clock: VirtualClock; lease: MemoryLease; replica: (name: string) => Replica } {
  const clock = createVirtualClock();
  const lease = createMemoryLease(clock);
  return {
    clock,
    lease,
    replica: (name) => {
      const log = createRecordingLog();
      const events: string[] = [];
      const terms: LedTerm[] = [];
      const replica: Replica = {
        log,
        events,
        failing: false,
        endMs: 0,
        term: () => terms.at(-1) as LedTerm,
        leadership: createLeadership({ lease: lease.of(name), clock, log }, async (term) => {
          terms.push(term);
          events.push(`begins ${term.mayWrite()}`);
          if (replica.failing) throw new Error('it cannot');
          return async () => {
            events.push(`ends ${term.mayWrite()}`);
            if (replica.endMs > 0) await clock.sleep(replica.endMs);
            events.push('ended');
          };
        }),
      };
      return replica;
    },
  };
}

describe('leadership', () => {
  test('one replica leads, the other stands by and names the leader', async () => {
    const { clock, replica } = world();
    const [a, b] = [replica('a'), replica('b')];
    expect(a.leadership.status()).toMatchObject({ type: 'unknown' });
    a.leadership.start();
    b.leadership.start();
    await clock.advance(60_000);
    expect(a.leadership.status()).toEqual({ type: 'leading' });
    expect(b.leadership.status()).toEqual({ type: 'following', leader: 'a' });
    expect([a.events, b.events]).toEqual([['begins true'], []]);
    expect(a.term().mayWrite()).toBe(true);
    expect(b.log.lines.filter(({ text }) => text === 'info: standing by')).toHaveLength(1);
  });

  test("a clean stop: the leader's work ends first and may write until then; the other replica leads at once", async () => {
    const { clock, replica } = world();
    const [a, b] = [replica('a'), replica('b')];
    a.endMs = 3_000;
    a.leadership.start();
    b.leadership.start();
    await clock.advance(5_000);
    const stopped = a.leadership.stop();
    await clock.advance(2_900);
    expect(a.events).toEqual(['begins true', 'ends true']);
    expect(b.leadership.status().type).toBe('following');
    await clock.advance(1_200);
    await stopped;
    expect(a.term().mayWrite()).toBe(false);
    expect(a.term().over.aborted).toBe(true);
    expect(b.leadership.status()).toEqual({ type: 'leading' });
    expect(b.events).toEqual(['begins true']);
  });

  test('a crash: the other leads within 15 seconds, and never while the first one may write', async () => {
    for (const crashAt of [0, 250, 1_000, 1_999, 5_500]) {
      const { clock, lease, replica } = world();
      // A replica that crashes is one that is not heard of any more.
      const crashing = lease.of('a');
      const early = replica('early');
      let deadline = 0;
      for (let at = 0; at <= crashAt; at += 1_000) {
        const held = await crashing.acquire();
        if (held.type === 'held') deadline = held.deadline;
        if (at === 0) early.leadership.start();
        await clock.advance(Math.min(1_000, crashAt - at));
      }
      const b = replica('b');
      b.leadership.start();
      await clock.advance(deadline - clock.monotonic());
      expect([early.events, b.events]).toEqual([[], []]);
      await clock.advance(crashAt + 15_000 - clock.monotonic());
      expect(b.leadership.status()).not.toEqual({ type: 'following', leader: 'a' });
      expect((await lease.of('c').acquire()).type).toBe('taken');
    }
  });

  test('a lease that cannot be renewed: the term lasts until its deadline, and a new term starts later', async () => {
    const { clock, lease, replica } = world();
    const a = replica('a');
    a.leadership.start();
    await clock.advance(2_500);
    lease.problem = 'the API server is away';
    const first = a.term();
    await clock.advance(5_000);
    expect(a.leadership.status()).toEqual({ type: 'leading' });
    expect(first.mayWrite()).toBe(true);
    // Renewed last at 2 s, for 6 s.
    await clock.advance(500);
    expect(first.mayWrite()).toBe(false);
    expect(first.over.aborted).toBe(true);
    expect(a.events).toEqual(['begins true', 'ends false', 'ended']);
    await clock.advance(1_000);
    expect(a.leadership.status()).toEqual({ type: 'unknown', message: 'the API server is away' });
    expect(a.log.lines.filter(({ text }) => text.startsWith('warn: the lease could not'))).toHaveLength(1);
    lease.problem = undefined;
    await clock.advance(2_000);
    expect(a.leadership.status()).toEqual({ type: 'leading' });
    expect(a.term()).not.toBe(first);
    expect([first.mayWrite(), a.term().mayWrite()]).toEqual([false, true]);
  });

  test('an answer that hangs does not keep a term alive', async () => {
    const clock = createVirtualClock();
    const log = createRecordingLog();
    let asked = 0;
    const terms: LedTerm[] = [];
    const leadership = createLeadership(
      {
        lease: {
          acquire: () => {
            asked += 1;
            return asked === 1 ? Promise.resolve({ type: 'held', deadline: 7_000 }) : new Promise(() => {});
          },
          release: async () => {},
        },
        clock,
        log,
      },
      async (term) => {
        terms.push(term);
        return async () => {};
      },
    );
    leadership.start();
    await clock.advance(6_999);
    expect(terms[0]?.mayWrite()).toBe(true);
    expect(leadership.status()).toEqual({ type: 'leading' });
    await clock.advance(1);
    expect(terms[0]?.mayWrite()).toBe(false);
    expect(terms[0]?.over.aborted).toBe(true);
    expect(leadership.status()).toMatchObject({
      type: 'unknown',
      message: 'this replica leads no more: the lease was not renewed in time',
    });
  });

  test('an answer that arrives after the term has ended starts no term; the work of the next term starts', async () => {
    const clock = createVirtualClock();
    const lease = createMemoryLease(clock).of('a');
    let delayMs = 0;
    const events: string[] = [];
    const leadership = createLeadership(
      {
        lease: {
          acquire: async () => {
            if (delayMs > 0) await clock.sleep(delayMs);
            delayMs = 0;
            return lease.acquire();
          },
          release: lease.release,
        },
        clock,
        log: createRecordingLog(),
      },
      async (term) => {
        events.push(`begins ${term.mayWrite()}`);
        return async () => {
          await clock.sleep(3_000);
          events.push('ended');
        };
      },
    );
    leadership.start();
    await clock.advance(500);
    // The next request is answered after the end of the term, while the work of the term is still ending.
    delayMs = 6_000;
    await clock.advance(8_000);
    expect(leadership.status()).toMatchObject({ type: 'unknown' });
    await clock.advance(4_000);
    expect(events).toEqual(['begins true', 'ended', 'begins true']);
    expect(leadership.status()).toEqual({ type: 'leading' });
  });

  test('a replica that has lost its term does not report that it leads while it still ends the term', async () => {
    const { clock, lease, replica } = world();
    const [a, b] = [replica('a'), replica('b')];
    a.endMs = 20_000;
    a.leadership.start();
    await clock.advance(100);
    lease.problem = 'the API server is away';
    await clock.advance(7_000);
    expect(a.events).toEqual(['begins true', 'ends false']);
    lease.problem = undefined;
    b.leadership.start();
    await clock.advance(5_000);
    expect(b.leadership.status()).toEqual({ type: 'leading' });
    expect(a.events).toEqual(['begins true', 'ends false']);
    expect(a.leadership.status()).toMatchObject({ type: 'unknown' });
  });

  test('a suspended process may not write when it resumes, before any answer of the lease', async () => {
    const { clock, lease } = world();
    // The sleeper has a clock whose timers stand still while time goes on.
    let skipped = 0;
    const asleep = { ...clock, monotonic: () => clock.monotonic() + skipped };
    const terms: LedTerm[] = [];
    const leadership = createLeadership(
      { lease: lease.of('sleeper'), clock: asleep, log: createRecordingLog() },
      async (term) => {
        terms.push(term);
        return async () => {};
      },
    );
    leadership.start();
    await clock.settle();
    expect(terms[0]?.mayWrite()).toBe(true);
    skipped = 6_000;
    expect(terms[0]?.mayWrite()).toBe(false);
  });

  test('a suspended process that renews its own lease begins another term; the old term may not write again', async () => {
    const clock = createVirtualClock();
    let skipped = 0;
    const asleep = { ...clock, monotonic: () => clock.monotonic() + skipped };
    const terms: LedTerm[] = [];
    const acquire: Lease['acquire'] = async () => ({ type: 'held', deadline: asleep.monotonic() + 6_000 });
    const leadership = createLeadership(
      { lease: { acquire, release: async () => {} }, clock: asleep, log: createRecordingLog() },
      async (term) => {
        terms.push(term);
        return async () => {};
      },
    );
    leadership.start();
    await clock.settle();
    skipped = 6_000;
    await clock.advance(2_500);
    expect(terms.map((term) => term.mayWrite())).toEqual([false, true]);
    expect(terms[0]?.over.aborted).toBe(true);
  });

  test('the term ends when another replica has the lease', async () => {
    const { clock, lease, replica } = world();
    const a = replica('a');
    a.leadership.start();
    await clock.advance(1_500);
    const term = a.term();
    // A person has edited the Lease object.
    await lease.of('a').release();
    await lease.of('thief').acquire();
    await clock.advance(1_000);
    expect(term.mayWrite()).toBe(false);
    expect(a.leadership.status()).toEqual({ type: 'following', leader: 'thief' });
  });

  test('a term that cannot start is resigned, so that another replica leads; the first one contends again later', async () => {
    const { clock, replica } = world();
    const [a, b] = [replica('a'), replica('b')];
    a.failing = true;
    a.leadership.start();
    await clock.settle();
    expect(a.leadership.status()).toEqual({
      type: 'unknown',
      message: 'this replica leads no more: it could not begin',
    });
    b.leadership.start();
    await clock.advance(3_500);
    expect(b.leadership.status()).toEqual({ type: 'leading' });
    expect(a.log.lines.map(({ text }) => text)).toContain('error: this replica could not begin to lead');
    a.failing = false;
    await b.leadership.stop();
    await clock.advance(40_000);
    expect(a.leadership.status()).toEqual({ type: 'leading' });
  });

  test('a lone replica whose terms cannot start contends again, with back-off', async () => {
    const { clock, replica } = world();
    const a = replica('a');
    a.failing = true;
    a.leadership.start();
    await clock.advance(10_000);
    const early = a.events.length;
    expect(early).toBeGreaterThanOrEqual(2);
    await clock.advance(600_000);
    expect(a.events.length - early).toBeGreaterThan(10);
    expect(a.events.length - early).toBeLessThan(30);
    a.failing = false;
    await clock.advance(40_000);
    expect(a.leadership.status()).toEqual({ type: 'leading' });
  });

  test('a replica that resigns ends its term and pauses', async () => {
    const { clock, replica } = world();
    const [a, b] = [replica('a'), replica('b')];
    a.leadership.start();
    await clock.settle();
    b.leadership.start();
    await clock.advance(1_500);
    a.term().resign('another process has taken the inventory over');
    expect(a.term().mayWrite()).toBe(false);
    await clock.advance(3_000);
    expect(b.leadership.status()).toEqual({ type: 'leading' });
    expect(a.leadership.status()).toEqual({ type: 'following', leader: 'b' });
    expect(a.events).toEqual(['begins true', 'ends false', 'ended']);
  });

  test('the lease is never released while a term runs: a request is under way when the leader resigns', async () => {
    const clock = createVirtualClock();
    const lease = createMemoryLease(clock).of('a');
    const terms: LedTerm[] = [];
    const releases: boolean[] = [];
    const leadership = createLeadership(
      {
        lease: {
          acquire: async () => {
            await clock.sleep(500);
            return lease.acquire();
          },
          release: async () => {
            releases.push(terms.some((term) => term.mayWrite()));
            await lease.release();
          },
        },
        clock,
        log: createRecordingLog(),
      },
      async (term) => {
        terms.push(term);
        return async () => {};
      },
    );
    leadership.start();
    // The second request is under way from 1.5 s to 2 s.
    await clock.advance(1_700);
    terms[0]?.resign('another process has taken the inventory over');
    await clock.advance(10_000);
    expect(releases).toEqual([false]);
    expect(terms.map((term) => term.mayWrite())).toEqual([false, true]);
  });

  test('no new term begins before the old one has ended', async () => {
    const { clock, lease, replica } = world();
    const a = replica('a');
    a.endMs = 20_000;
    a.leadership.start();
    await clock.advance(500);
    lease.problem = 'away';
    await clock.advance(7_000);
    lease.problem = undefined;
    await clock.advance(15_000);
    expect(a.events).toEqual(['begins true', 'ends false']);
    await clock.advance(7_000);
    expect(a.events).toEqual(['begins true', 'ends false', 'ended', 'begins true']);
  });

  test('stopping while a term still starts ends the term and releases the lease', async () => {
    const clock = createVirtualClock();
    const lease = createMemoryLease(clock);
    const events: string[] = [];
    const leadership = createLeadership(
      { lease: lease.of('a'), clock, log: createRecordingLog() },
      async ({ over }) => {
        await clock.sleep(1_000_000, over);
        events.push('begun');
        return async () => void events.push('ended');
      },
    );
    leadership.start();
    await clock.advance(3_000);
    const stopped = leadership.stop();
    await clock.advance(0);
    await stopped;
    expect(events).toEqual(['begun', 'ended']);
    expect(await lease.of('b').acquire()).toMatchObject({ type: 'held' });
  });

  test('stopping a follower takes nothing from the leader', async () => {
    const { clock, replica } = world();
    const [a, b] = [replica('a'), replica('b')];
    a.leadership.start();
    await clock.settle();
    b.leadership.start();
    await clock.advance(2_000);
    const stopped = b.leadership.stop();
    await clock.advance(0);
    await stopped;
    await clock.advance(30_000);
    expect(a.leadership.status()).toEqual({ type: 'leading' });
    expect(a.events).toEqual(['begins true']);
  });
});
