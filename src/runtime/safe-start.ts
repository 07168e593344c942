import type { Engine } from '../engine/graph.ts';
import { defaultFleetPolicy } from '../model/fleet-policy.ts';
import type { Clock } from '../ports/clock.ts';
import type { Loop } from './loop.ts';

/**
 * Watches the safe start window of this process, and stages that it is over. It begins when agents are let in, since
 * before that none could have come; its length follows the policy as long as it runs. Returns what is to be called after
 * each commit.
 */
export function createSafeStart(deps: {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly mayStart: () => boolean;
  readonly clock: Clock;
}): () => void {
  const { engine, loop, mayStart, clock } = deps;
  let began: number | undefined;
  let waitsFor: number | undefined;
  let cancel: (() => void) | undefined;

  const isOver = (): boolean => engine.inputs.fleet.get('', '')?.startWindowOver === true;
  const end = (): void => {
    loop.settle();
    const settings = engine.inputs.fleet.get('', '');
    if (settings === undefined || settings.startWindowOver) return;
    loop.transact(() => engine.inputs.fleet.set('', '', { ...settings, startWindowOver: true }));
    loop.settle();
  };

  return () => {
    if (isOver() || !mayStart()) return;
    began ??= clock.monotonic();
    const { safeMode } = engine.policy.get('', '')?.value ?? defaultFleetPolicy;
    if (safeMode.safeStartWindowSeconds === waitsFor) return;
    waitsFor = safeMode.safeStartWindowSeconds;
    cancel?.();
    const left = began + waitsFor * 1000 - clock.monotonic();
    cancel = clock.schedule(Math.max(0, left), end);
  };
}
