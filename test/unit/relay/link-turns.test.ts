import { expect, it } from 'vitest';
import type { MessageStream, StreamEnd } from '../../../src/ports/transport.ts';
import { DEFAULT_LIMITS } from '../../../src/relay/limits.ts';
import { createLink } from '../../../src/relay/link.ts';
import { encodeFrame } from '../../../src/relay/wire/frames.ts';
import { silentLog } from '../../support/silent-log.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

/** A stream on which this number of frames is ready at once. No other frame follows. */
function burst(frames: number): MessageStream {
  const bytes = encodeFrame({ case: 'inputDigestsRequest', value: {} });
  const never = new Promise<StreamEnd>(() => undefined);
  let left = frames;
  return {
    read: () => {
      left -= 1;
      return left < 0 ? new Promise(() => undefined) : Promise.resolve(bytes);
    },
    write: () => Promise.resolve(true),
    end: () => undefined,
    ended: never,
  };
}

it('lets the event loop turn after ten milliseconds of work on frames that are there at once', async () => {
  const events: string[] = [];
  let spent = 0;
  const done = Promise.withResolvers<void>();
  const clock = {
    ...createVirtualClock(),
    monotonic: () => spent,
    sleep: (milliseconds: number) => {
      events.push(`turn ${milliseconds}`);
      return Promise.resolve();
    },
  };
  const link = createLink({
    ...{ stream: burst(5), clock, log: silentLog, limits: DEFAULT_LIMITS, watches: false, saysGoodbye: false },
    onFrame: () => {
      spent += 6;
      events.push('frame');
      if (spent === 30) done.resolve();
    },
  });
  await done.promise;
  link.end({ code: 'done', reason: 'Closed', message: 'the test is over' });
  expect(events).toEqual(['frame', 'frame', 'turn 0', 'frame', 'frame', 'turn 0', 'frame']);
});
