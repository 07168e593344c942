import { expect, it } from 'vitest';
import { createStatusPublisher } from '../../../src/runtime/status/status-publisher.ts';
import { silentLog } from '../../support/silent-log.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

function publishing() {
  const clock = createVirtualClock();
  const done: string[] = [];
  let settled = false;
  /** What a rendering waits for. */
  const rendering = { wait: Promise.resolve() };
  const publisher = createStatusPublisher({
    renderer: {
      load: async () => void done.push('load'),
      note: () => undefined,
      hasWork: () => false,
      published: () => undefined,
      render: async () => {
        done.push('render');
        await rendering.wait;
        return new Map();
      },
    },
    sink: {
      readAll: async () => {
        done.push('read');
        return { ok: true, files: new Map() };
      },
      update: () => void done.push('update'),
      setMinInterval: () => undefined,
      condition: () => ({ state: 'synced', message: '', commit: null }),
    },
    summary: () => '',
    policy: () => ({ enabled: true, minIntervalSeconds: 1 }),
    isComplete: () => true,
    isSettled: () => settled,
    parse: () => null,
    clock,
    log: silentLog,
  });
  publisher.start();
  return {
    ...{ clock, done, publisher, rendering },
    settle: () => {
      settled = true;
    },
  };
}

it('reads the branch when the agents have reconnected, and not while they wait for this process', async () => {
  const { clock, done, publisher, settle } = publishing();
  await clock.advance(10_000);
  expect(done).toEqual([]);
  expect(publisher.waiting()).toContain('waiting for agents');
  settle();
  await clock.advance(300);
  expect(done).toEqual(['read', 'load', 'render', 'update']);
  expect(publisher.waiting()).toBeUndefined();
});

it('waits at most 20 s for agents that do not reconnect', async () => {
  const { clock, done } = publishing();
  await clock.advance(20_000);
  expect(done).toEqual([]);
  await clock.advance(600);
  expect(done).toEqual(['read', 'load', 'render', 'update']);
});

it('that leads again while files are still rendered reads the branch after that', async () => {
  const { clock, done, publisher, settle, rendering } = publishing();
  const { promise, resolve } = Promise.withResolvers<void>();
  rendering.wait = promise;
  settle();
  await clock.advance(300);
  publisher.stop();
  publisher.start();
  await clock.advance(3_000);
  expect(done).toEqual(['read', 'load', 'render']);
  resolve();
  await clock.advance(300);
  expect(done).toEqual(['read', 'load', 'render', 'update', 'read', 'load', 'render', 'update']);
});
