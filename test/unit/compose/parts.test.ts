import { expect, test } from 'vitest';
import { type Parts, runParts, type Started } from '../../../src/compose/parts.ts';
import { recordingLog } from '../../support/running-server.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const CLOSE_MS = 10_000;

function process() {
  const stop = new AbortController();
  const log = recordingLog();
  const clock = createVirtualClock();
  const closed: string[] = [];
  const run = (start: (parts: Parts) => Promise<Started>): Promise<number> =>
    runParts({ clock, log, signal: stop.signal, what: 'process', closeMs: CLOSE_MS }, start);
  const openAll = async (parts: Parts, names: readonly string[]): Promise<Started> => {
    for (const name of names) {
      await parts.open(
        name,
        () => name,
        (part) => closed.push(part),
      );
    }
    return {};
  };
  return { stop, log, clock, closed, run, openAll };
}

const forEver = (): Promise<never> => new Promise(() => undefined);

test('parts are closed in reverse order at the signal', async () => {
  const { stop, clock, closed, run, openAll } = process();
  const running = run((parts) => openAll(parts, ['a', 'b', 'c']));
  await clock.settle();
  stop.abort();
  expect(await running).toBe(0);
  expect(closed).toEqual(['c', 'b', 'a']);
});

test('a part that fails closes the parts before it, and the process ends with its error', async () => {
  const { closed, run, openAll } = process();
  const running = run(async (parts) => {
    await openAll(parts, ['a', 'b']);
    return parts.open('c', () => {
      throw new Error('c is not to be had');
    });
  });
  await expect(running).rejects.toThrow('c is not to be had');
  expect(closed).toEqual(['b', 'a']);
});

test('a part that cannot be closed is named, and the others are closed', async () => {
  const { stop, clock, log, closed, run, openAll } = process();
  const running = run(async (parts) => {
    await openAll(parts, ['a']);
    await parts.open(
      'b',
      () => 0,
      () => {
        throw new Error('b sticks');
      },
    );
    return openAll(parts, ['c']);
  });
  await clock.settle();
  stop.abort();
  expect(await running).toBe(0);
  expect(closed).toEqual(['c', 'a']);
  expect(log.lines.join('\n')).toContain('a part could not be closed {"part":"b","error":"b sticks"}');
});

test('a part that does not close is named when its time is up, and the others are closed', async () => {
  const { stop, clock, closed, run, openAll } = process();
  const running = run(async (parts) => {
    await openAll(parts, ['a']);
    await parts.open('b', () => 0, forEver);
    return openAll(parts, ['c']);
  });
  const refused = expect(running).rejects.toThrow('not everything could be closed in time: b');
  await clock.settle();
  stop.abort();
  await clock.advance(CLOSE_MS);
  await refused;
  expect(closed).toEqual(['c', 'a']);
});

test('what is opened after the end of the process is refused', async () => {
  const { stop, clock, closed, run, openAll } = process();
  const late = Promise.withResolvers<void>();
  const after = Promise.withResolvers<unknown>();
  const running = run(async (parts) => {
    await openAll(parts, ['a']);
    await late.promise;
    await openAll(parts, ['b']).catch(after.resolve);
    return {};
  });
  await clock.settle();
  stop.abort();
  expect(await running).toBe(0);
  late.resolve();
  expect(await after.promise).toEqual(new Error('the process is to end'));
  expect(closed).toEqual(['a']);
});

test('a process that cannot continue closes its parts and says why', async () => {
  const { closed, log, run, openAll } = process();
  const running = run(async (parts) => ({
    ...(await openAll(parts, ['a'])),
    over: Promise.resolve('another server has the store'),
  }));
  await expect(running).rejects.toThrow('another server has the store');
  expect(closed).toEqual(['a']);
  expect(log.lines.join('\n')).toContain('the process cannot continue');
});

test('a part that fails to open after the signal is no part that could not be closed', async () => {
  const { stop, clock, log, closed, run, openAll } = process();
  const opening = Promise.withResolvers<never>();
  const running = run(async (parts) => {
    await openAll(parts, ['a']);
    return parts.open(
      'b',
      () => opening.promise,
      () => closed.push('b'),
    );
  });
  await clock.settle();
  stop.abort();
  await clock.settle();
  opening.reject(new Error('b is not to be had'));
  expect(await running).toBe(0);
  expect(closed).toEqual(['a']);
  expect(log.lines.join('\n')).not.toContain('could not be closed');
});

test('parts that do not close are named too when the signal has ended the start with an error', async () => {
  const { stop, clock, run } = process();
  const running = run((parts) => {
    const start = Promise.withResolvers<never>();
    stop.signal.addEventListener('abort', () => start.reject(new Error('the start was cut short')));
    void parts.open('a', () => 0, forEver);
    return start.promise;
  });
  const refused = expect(running).rejects.toThrow('not everything could be closed in time: a');
  await clock.settle();
  stop.abort();
  await clock.advance(CLOSE_MS);
  await refused;
});
