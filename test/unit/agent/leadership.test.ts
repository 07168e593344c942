import { describe, expect, test } from 'vitest';
import { createLeadership, type Leadership } from '../../../src/agent/leadership/leadership.ts';
import type { Turn } from '../../../src/agent/leadership/leadership-turns.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import { createMemoryLease, type MemoryLease } from '../../support/memory-lease.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

interface Replica {
  readonly leadership: Leadership;
  readonly log: ReturnType<typeof createRecordingLog>;
  /** What the turns have done, in order. */
  readonly events: string[];
  turn(): Turn;
  /** The next turn does not begin. */
  failing: boolean;
  /** What ending a turn takes. */
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
      const turns: Turn[] = [];
      const replica: Replica = {
        log,
        events,
        failing: false,
        endMs: 0,
        turn: () => turns.at(-1) as Turn,
        leadership: createLeadership({ lease: lease.of(name), clock, log }, async (turn) => {
          turns.push(turn);
          events.push(`begins ${turn.mayWrite()}`);
          if (replica.failing) throw new Error('it cannot');
          return async () => {
            events.push(`ends ${turn.mayWrite()}`);
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
  test('one leads, the other stands by and says who leads', async () => {
    const { clock, replica } = world();
    const [a, b] = [replica('a'), replica('b')];
    expect(a.leadership.standing()).toMatchObject({ type: 'unknown' });
    a.leadership.start();
    b.leadership.start();
    await clock.advance(60_000);
    expect(a.leadership.standing()).toEqual({ type: 'leading' });
    expect(b.leadership.standing()).toEqual({ type: 'following', leader: 'a' });
    expect([a.events, b.events]).toEqual([['begins true'], []]);
    expect(a.turn().mayWrite()).toBe(true);
    expect(b.log.lines.filter(({ text }) => text === 'info: standing by')).toHaveLength(1);
  });

  test('a clean stop: what leads ends first and may write until then; the other takes over at once', async () => {
    const { clock, replica } = world();
    const [a, b] = [replica('a'), replica('b')];
    a.endMs = 3_000;
    a.leadership.start();
    b.leadership.start();
    await clock.advance(5_000);
    const stopped = a.leadership.stop();
    await clock.advance(2_900);
    expect(a.events).toEqual(['begins true', 'ends true']);
    expect(b.leadership.standing().type).toBe('following');
    await clock.advance(1_200);
    await stopped;
    expect(a.turn().mayWrite()).toBe(false);
    expect(a.turn().over.aborted).toBe(true);
    expect(b.leadership.standing()).toEqual({ type: 'leading' });
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
      expect(b.leadership.standing()).not.toEqual({ type: 'following', leader: 'a' });
      expect((await lease.of('c').acquire()).type).toBe('taken');
    }
  });

  test('a lease that cannot be renewed: the turn goes on to its deadline and no longer, and comes back', async () => {
    const { clock, lease, replica } = world();
    const a = replica('a');
    a.leadership.start();
    await clock.advance(2_500);
    lease.trouble = 'the API server is away';
    const first = a.turn();
    await clock.advance(5_000);
    expect(a.leadership.standing()).toEqual({ type: 'leading' });
    expect(first.mayWrite()).toBe(true);
    // Renewed last at 2 s, for 6 s.
    await clock.advance(500);
    expect(first.mayWrite()).toBe(false);
    expect(first.over.aborted).toBe(true);
    expect(a.events).toEqual(['begins true', 'ends false', 'ended']);
    await clock.advance(1_000);
    expect(a.leadership.standing()).toEqual({ type: 'unknown', message: 'the API server is away' });
    expect(a.log.lines.filter(({ text }) => text.startsWith('warn: the lease could not'))).toHaveLength(1);
    lease.trouble = undefined;
    await clock.advance(2_000);
    expect(a.leadership.standing()).toEqual({ type: 'leading' });
    expect(a.turn()).not.toBe(first);
    expect([first.mayWrite(), a.turn().mayWrite()]).toEqual([false, true]);
  });

  test('an answer that hangs does not keep a turn alive', async () => {
    const clock = createVirtualClock();
    const log = createRecordingLog();
    let asked = 0;
    const turns: Turn[] = [];
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
      async (turn) => {
        turns.push(turn);
        return async () => {};
      },
    );
    leadership.start();
    await clock.advance(6_999);
    expect(turns[0]?.mayWrite()).toBe(true);
    expect(leadership.standing()).toEqual({ type: 'leading' });
    await clock.advance(1);
    expect(turns[0]?.mayWrite()).toBe(false);
    expect(turns[0]?.over.aborted).toBe(true);
    expect(leadership.standing()).toMatchObject({
      type: 'unknown',
      message: 'this replica leads no more: the lease was not renewed in time',
    });
  });

  test('who has lost a turn does not call itself the leader while it is still ending it', async () => {
    const { clock, lease, replica } = world();
    const [a, b] = [replica('a'), replica('b')];
    a.endMs = 20_000;
    a.leadership.start();
    await clock.advance(100);
    lease.trouble = 'the API server is away';
    await clock.advance(7_000);
    expect(a.events).toEqual(['begins true', 'ends false']);
    lease.trouble = undefined;
    b.leadership.start();
    await clock.advance(5_000);
    expect(b.leadership.standing()).toEqual({ type: 'leading' });
    expect(a.events).toEqual(['begins true', 'ends false']);
    expect(a.leadership.standing()).toMatchObject({ type: 'unknown' });
  });

  test('who was asleep may not write when it wakes, before anybody has told it so', async () => {
    const { clock, lease } = world();
    // The sleeper has a clock whose timers stand still while time goes on.
    let skipped = 0;
    const asleep = { ...clock, monotonic: () => clock.monotonic() + skipped };
    const turns: Turn[] = [];
    const leadership = createLeadership(
      { lease: lease.of('sleeper'), clock: asleep, log: createRecordingLog() },
      async (turn) => {
        turns.push(turn);
        return async () => {};
      },
    );
    leadership.start();
    await clock.settle();
    expect(turns[0]?.mayWrite()).toBe(true);
    skipped = 6_000;
    expect(turns[0]?.mayWrite()).toBe(false);
  });

  test('another one has the lease all of a sudden: the turn ends', async () => {
    const { clock, lease, replica } = world();
    const a = replica('a');
    a.leadership.start();
    await clock.advance(1_500);
    const turn = a.turn();
    // Somebody has edited the object by hand.
    await lease.of('a').release();
    await lease.of('thief').acquire();
    await clock.advance(1_000);
    expect(turn.mayWrite()).toBe(false);
    expect(a.leadership.standing()).toEqual({ type: 'following', leader: 'thief' });
  });

  test('a turn that cannot begin is given up, so that another replica gets it; it is tried again later', async () => {
    const { clock, replica } = world();
    const [a, b] = [replica('a'), replica('b')];
    a.failing = true;
    a.leadership.start();
    await clock.settle();
    expect(a.leadership.standing()).toEqual({
      type: 'unknown',
      message: 'this replica leads no more: it could not begin',
    });
    b.leadership.start();
    await clock.advance(3_500);
    expect(b.leadership.standing()).toEqual({ type: 'leading' });
    expect(a.log.lines.map(({ text }) => text)).toContain('error: this replica could not begin to lead');
    a.failing = false;
    await b.leadership.stop();
    await clock.advance(40_000);
    expect(a.leadership.standing()).toEqual({ type: 'leading' });
  });

  test('a lone replica whose turns cannot begin tries again and again, with longer pauses', async () => {
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
    expect(a.leadership.standing()).toEqual({ type: 'leading' });
  });

  test('who resigns ends its turn and rests', async () => {
    const { clock, replica } = world();
    const [a, b] = [replica('a'), replica('b')];
    a.leadership.start();
    await clock.settle();
    b.leadership.start();
    await clock.advance(1_500);
    a.turn().resign('another process has taken the inventory over');
    expect(a.turn().mayWrite()).toBe(false);
    await clock.advance(3_000);
    expect(b.leadership.standing()).toEqual({ type: 'leading' });
    expect(a.leadership.standing()).toEqual({ type: 'following', leader: 'b' });
    expect(a.events).toEqual(['begins true', 'ends false', 'ended']);
  });

  test('no new turn begins before the old one has ended', async () => {
    const { clock, lease, replica } = world();
    const a = replica('a');
    a.endMs = 20_000;
    a.leadership.start();
    await clock.advance(500);
    lease.trouble = 'away';
    await clock.advance(7_000);
    lease.trouble = undefined;
    await clock.advance(15_000);
    expect(a.events).toEqual(['begins true', 'ends false']);
    await clock.advance(7_000);
    expect(a.events).toEqual(['begins true', 'ends false', 'ended', 'begins true']);
  });

  test('stopping while a turn is still beginning ends it, and gives the lease back', async () => {
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
    expect(a.leadership.standing()).toEqual({ type: 'leading' });
    expect(a.events).toEqual(['begins true']);
  });
});
