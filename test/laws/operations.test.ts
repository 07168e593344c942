import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BEGIN, createShootWorld, type ShootWorld } from '../support/shoot-world.ts';

const RUNS = 60;
const TASK_TIMEOUT = 120;
const RETRY_DURATION = 12 * 3600;
const names = ['a', 'b', 'c'] as const;

type Step =
  | { readonly type: 'declare'; readonly name: string; readonly data: string }
  | { readonly type: 'report'; readonly name: string; readonly works: boolean }
  | { readonly type: 'connect'; readonly connected: boolean }
  | { readonly type: 'ask'; readonly request: 'reconcile' | 'retry' }
  | { readonly type: 'wait'; readonly seconds: number };

const name = fc.constantFrom(...names);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ type: fc.constant('declare' as const), name, data: fc.constantFrom('1', '2') }),
  fc.record({ type: fc.constant('report' as const), name, works: fc.boolean() }),
  fc.record({ type: fc.constant('connect' as const), connected: fc.boolean() }),
  fc.record({ type: fc.constant('ask' as const), request: fc.constantFrom('reconcile' as const, 'retry' as const) }),
  fc.record({ type: fc.constant('wait' as const), seconds: fc.constantFrom(1, 59, 60, 61, 119, 120, 121, 600) }),
  fc.record({ type: fc.constant('wait' as const), seconds: fc.constantFrom(1, 60, RETRY_DURATION) }),
);

/** Does what a history says, and returns since when each object has not been applied; milliseconds. */
function play(world: ShootWorld, history: readonly Step[], after: (open: ReadonlyMap<string, number>) => void): void {
  const declared = new Map<string, string>();
  const open = new Map<string, number>();
  for (const one of history) {
    if (one.type === 'declare') {
      if (declared.get(one.name) !== one.data) open.set(one.name, world.now());
      declared.set(one.name, one.data);
      world.declare(one.name, 'blue', 'web', one.data);
      world.settle();
    } else if (one.type === 'report' && declared.has(one.name)) {
      if (one.works) open.delete(one.name);
      else if (!open.has(one.name)) open.set(one.name, world.now());
      world.report(one.name, one.works ? {} : { state: 'failed', reason: 'ServerError' });
    } else if (one.type === 'connect') {
      world.connect('blue', one.connected);
      world.settle();
    } else if (one.type === 'ask') world.ask(one.request);
    else if (one.type === 'wait') world.wait(one.seconds);
    after(open);
  }
}

const histories = fc.array(step, { minLength: 1, maxLength: 20 });

describe('the operation of a Shoot, in any history', () => {
  test('no task is an error before it was open for the task timeout, and none stays an error once it is applied', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const world = createShootWorld();
        play(world, history, (open) => {
          for (const [task] of world.errors()) {
            const since = open.get(String(task).replace('Apply ConfigMap/web/', ''));
            expect(since, `${String(task)} is applied`).toBeDefined();
            expect(world.now() - (since ?? 0)).toBeGreaterThanOrEqual(TASK_TIMEOUT * 1000);
          }
        });
      }),
      { numRuns: RUNS },
    );
  });

  test('none is Failed before its retries have ended, and every open task is an error in the end', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const world = createShootWorld();
        play(world, history, () => {
          if (world.operation()?.includes('/Failed') === true) {
            expect(world.now() - BEGIN).toBeGreaterThanOrEqual(RETRY_DURATION * 1000);
          }
        });
        world.connect('blue');
        world.settle();
        world.wait(2 * TASK_TIMEOUT);
        const open = new Set<string>();
        for (const { key, value } of world.engine.progress.entries('blue'))
          if (value.state !== 'applied') open.add(key);
        expect(world.errors()).toHaveLength(open.size);
        if (open.size > 0) expect(world.operation()).toMatch(/\/(Error|Failed) /);
      }),
      { numRuns: RUNS },
    );
  });
});
