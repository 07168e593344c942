import { describe, expect, it } from 'vitest';
import { createGraph } from '../../../src/engine/collections/graph.ts';
import { createLoop } from '../../../src/runtime/loop.ts';
import { type Arrange, RECORDER_PHASES, SINK_PHASES } from '../../../src/runtime/phases.ts';
import { silentLog } from '../../support/silent-log.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

/** A loop that cuts slices after a number of records, and whose turns a test plays one by one. */
function createScene(records: number, arrange?: Arrange) {
  const clock = createVirtualClock();
  const turns: (() => void)[] = [];
  const schedule = (_milliseconds: number, turn: () => void): (() => void) => {
    turns.push(turn);
    return () => undefined;
  };
  const graph = createGraph();
  const input = graph.input<number>('input');
  const doubled = graph.derive<number, number>({
    name: 'doubled',
    from: input,
    compute: ({ partition, key, value }, _read, emit) => emit(partition, key, value * 2),
  });
  const loop = createLoop({
    engine: { advance: graph.advance, graph },
    clock: { ...clock, schedule },
    log: silentLog,
    ...(arrange && { arrange }),
    beginSlice: () => {
      let left = records;
      return () => --left < 0;
    },
  });
  const keys = ['a', 'b', 'c', 'd'];
  const stageAll = (value: number): void => {
    for (const key of keys) input.set('', key, value);
  };
  const seen = (): readonly (number | undefined)[] => keys.map((key) => doubled.get('', key));
  return { loop, input, stageAll, seen, turn: () => turns.shift()?.(), waiting: () => turns.length };
}

const all = (value: number): readonly number[] => [value, value, value, value];
const none = [undefined, undefined, undefined, undefined];

describe('a commit in slices', () => {
  it('shows nothing before its barrier, and everything to recorders and sinks', () => {
    const { loop, stageAll, seen, turn, waiting } = createScene(1);
    const told: string[] = [];
    loop.addRecorder('judgements', () => {
      told.push(`recorder ${seen()}`);
      return false;
    });
    loop.addSink('readers', () => void told.push(`sink ${seen()}`));
    loop.begin();
    loop.transact(() => stageAll(1), {
      committed: () => void told.push(`committed ${seen()}`),
      published: () => void told.push(`published ${seen()}`),
    });
    let turns = 0;
    for (; told.length < 4; turns += 1) {
      expect(seen()).toEqual(none);
      turn();
    }
    expect(turns).toBeGreaterThan(4);
    expect(told).toEqual([`committed ${all(2)}`, `recorder ${all(2)}`, `published ${all(2)}`, `sink ${all(2)}`]);
    while (waiting() > 0) turn();
    expect(seen()).toEqual(all(2));
    expect(told).toHaveLength(4);
  });

  it('lets the event loop turn while it stages a large change, and shows no part of it', () => {
    const { loop, input, seen, turn } = createScene(1);
    loop.begin();
    const staged: string[] = [];
    const staging = function* (): Generator<undefined> {
      for (const key of ['a', 'b', 'c', 'd']) {
        input.set('', key, 1);
        staged.push(key);
        yield;
      }
    };
    const told: string[] = [];
    loop.transact(() => undefined, { staging: staging(), published: () => void told.push('published') });
    expect(staged).toEqual([]);
    const perTurn: number[] = [];
    for (let before = 0; staged.length < 4; before = staged.length) {
      turn();
      perTurn.push(staged.length - before);
      // Another change comes in between, and is in the next commit.
      if (staged.length === 2) loop.transact(() => input.set('', 'a', 5));
      expect(seen()).toEqual(none);
    }
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(2);
    for (let turns = 0; turns < 20 && told.length === 0; turns += 1) turn();
    expect(told).toEqual(['published']);
    expect(seen()).toEqual(all(2));
    for (let turns = 0; turns < 20; turns += 1) turn();
    expect(seen()).toEqual([10, 2, 2, 2]);
  });

  it('leaves what is staged meanwhile to the next commit, where the last write counts', () => {
    const { loop, input, stageAll, seen, turn, waiting } = createScene(1);
    const committed: string[] = [];
    const states: (readonly (number | undefined)[])[] = [];
    loop.addSink('readers', () => void states.push(seen()));
    loop.begin();
    loop.transact(() => stageAll(1), { committed: () => void committed.push('first') });
    turn();
    loop.transact(() => stageAll(2), { committed: () => void committed.push('second') });
    turn();
    loop.transact(() => stageAll(3), { committed: () => void committed.push('third') });
    expect(input.latest('', 'a')).toBe(3);
    while (waiting() > 0) turn();
    expect(states).toEqual([all(2), all(6)]);
    expect(committed).toEqual(['first', 'second', 'third']);
  });

  it('has what recorders stage in it, also if it is cut between two of them', () => {
    const { loop, input, stageAll, seen, turn, waiting } = createScene(1);
    const states: (readonly (number | undefined)[])[] = [];
    for (const [from, to] of [
      ['a', 'b'],
      ['b', 'c'],
    ] as const)
      loop.addRecorder('judgements', () => {
        const next = (input.get('', from) ?? 0) + 1;
        if (input.get('', to) === next) return false;
        input.set('', to, next);
        return true;
      });
    loop.addSink('readers', () => void states.push(seen()));
    loop.begin();
    loop.transact(() => stageAll(1));
    while (waiting() > 0) turn();
    expect(states).toEqual([[2, 4, 6, 2]]);
  });

  it('turns the event loop between two pieces of a recorder, which sees what is committed', () => {
    const { loop, input, stageAll, seen, turn, waiting } = createScene(0);
    const told: string[] = [];
    loop.addRecorder('judgements', function* () {
      const isFirst = input.get('', 'a') === 1;
      for (const piece of ['one', 'two']) {
        told.push(`${piece} ${seen()}`);
        yield undefined;
      }
      if (isFirst) stageAll(2);
      return isFirst;
    });
    const states: (readonly (number | undefined)[])[] = [];
    loop.addSink('readers', () => void states.push(seen()));
    loop.begin();
    loop.transact(() => stageAll(1));
    while (waiting() > 0) {
      turn();
      if (states.length === 0) expect(seen()).toEqual(none);
    }
    expect(told).toEqual([`one ${all(2)}`, `two ${all(2)}`, `one ${all(4)}`, `two ${all(4)}`]);
    expect(states).toEqual([all(4)]);
  });

  it('is run to its end by settle, with what was staged meanwhile', () => {
    const { loop, stageAll, seen, turn } = createScene(1);
    loop.begin();
    loop.transact(() => stageAll(1));
    turn();
    loop.transact(() => stageAll(2));
    loop.settle();
    expect(seen()).toEqual(all(4));
  });

  it('that fits into one slice is done at once by settled', () => {
    const { loop, stageAll, seen } = createScene(1_000);
    loop.begin();
    loop.transact(() => stageAll(1));
    void loop.settled();
    expect(seen()).toEqual(all(2));
  });

  it('resolves settled after the sinks of the commit that has everything staged before', async () => {
    const { loop, stageAll, seen, turn, waiting } = createScene(1);
    const told: string[] = [];
    loop.addSink('readers', () => void told.push(`sink ${seen()}`));
    loop.begin();
    loop.transact(() => stageAll(1));
    turn();
    loop.transact(() => stageAll(2));
    const settled = loop.settled().then(() => told.push('settled'));
    while (waiting() > 0) turn();
    await settled;
    expect(told).toEqual([`sink ${all(2)}`, `sink ${all(4)}`, 'settled']);
    await loop.settled();
  });

  it('turns the event loop between two pieces of a sink, and between two sinks', () => {
    const { loop, stageAll, turn, waiting } = createScene(0);
    const told: string[] = [];
    loop.addSink('readers', function* () {
      for (const piece of ['one', 'two']) {
        told.push(piece);
        yield undefined;
      }
    });
    loop.addSink('readers', () => void told.push('another sink'));
    loop.begin();
    loop.transact(() => stageAll(1));
    const byTurn: string[] = [];
    while (waiting() > 0) {
      turn();
      byTurn.push(told.splice(0).join('+'));
    }
    expect(byTurn.filter((each) => each !== '')).toEqual(['one', 'two', 'another sink']);
  });

  it('rejects settled if the commit fails, and commits again afterwards', async () => {
    const { loop, stageAll, seen, turn } = createScene(1);
    let isBroken = true;
    loop.addRecorder('judgements', () => {
      if (isBroken) throw new Error('a record cannot be written');
      return false;
    });
    loop.begin();
    loop.transact(() => stageAll(1));
    const outcome = loop.settled().then(
      () => 'resolved',
      (error: unknown) => `${error}`,
    );
    let failures = 0;
    for (let turns = 0; failures === 0 && turns < 100; turns += 1) {
      try {
        turn();
      } catch {
        failures += 1;
      }
    }
    expect(failures).toBe(1);
    expect(await Promise.race([outcome, new Promise((resolve) => setImmediate(resolve, 'still waits'))])).toBe(
      'Error: a record cannot be written',
    );
    isBroken = false;
    loop.transact(() => stageAll(2));
    loop.settle();
    expect(seen()).toEqual(all(4));
  });

  it('rejects settled, and does not throw, if the commit fails that it has begun', async () => {
    const { loop, stageAll } = createScene(1_000);
    loop.addRecorder('judgements', () => {
      throw new Error('a record cannot be written');
    });
    loop.begin();
    loop.transact(() => stageAll(1));
    await expect(loop.settled()).rejects.toThrow('a record cannot be written');
  });

  it('ends with an error, and not endlessly, if recorders stage changes without end', () => {
    const { loop, input, stageAll } = createScene(1_000);
    let value = 1;
    loop.addRecorder('judgements', () => {
      value += 1;
      input.set('', 'a', value);
      return true;
    });
    loop.begin();
    loop.transact(() => stageAll(1));
    expect(loop.settle).toThrow('recorders stage changes without end');
  });
});

describe('the phases of a loop', () => {
  it('run in their order, also if their members were added in another one', () => {
    const { loop, stageAll } = createScene(1_000);
    const told: string[] = [];
    for (const phase of RECORDER_PHASES.toReversed()) {
      loop.addRecorder(phase, () => {
        told.push(phase);
        return false;
      });
    }
    for (const phase of SINK_PHASES.toReversed()) loop.addSink(phase, () => void told.push(phase));
    loop.begin();
    loop.transact(() => stageAll(1));
    loop.settle();
    expect(told).toEqual([...RECORDER_PHASES, ...SINK_PHASES]);
  });

  it('arrange the members of each phase alone', () => {
    const { loop, stageAll } = createScene(1_000, (members) => members.toReversed());
    const told: string[] = [];
    for (const name of ['deltas 1', 'deltas 2']) loop.addSink('deltas', () => void told.push(name));
    for (const name of ['windows 1', 'windows 2']) loop.addSink('windows', () => void told.push(name));
    loop.begin();
    loop.transact(() => stageAll(1));
    loop.settle();
    expect(told).toEqual(['windows 2', 'windows 1', 'deltas 2', 'deltas 1']);
  });
});
