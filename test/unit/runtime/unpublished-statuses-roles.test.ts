import { expect, it } from 'vitest';
import { createUnpublishedStatuses } from '../../../src/runtime/status/unpublished-statuses.ts';
import { careWorld, SHOOT } from '../../support/care-world.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

/** Who records statuses that are published nowhere, and when. */

function recorder() {
  const world = careWorld();
  const clock = createVirtualClock();
  const written: string[] = [];
  let sink: () => void = () => undefined;
  const state = { leads: true, isPublished: false, isSettled: true };
  createUnpublishedStatuses({
    engine: world.engine,
    loop: {
      addSink: (_phase: string, added: () => void) => {
        sink = added;
      },
    } as never,
    observed: { written: (_kind, key) => void written.push(key) },
    clock,
    hasBranch: true,
    customSources: new Set(),
    policy: () => ({ enabled: state.isPublished }) as never,
    leads: () => state.leads,
    isSettled: () => state.isSettled,
  });
  return { clock, written, state, commit: () => sink() };
}

it('a server that has lost the lead in the meantime records nothing', async () => {
  const { clock, written, state, commit } = recorder();
  commit();
  state.leads = false;
  await clock.advance(1_000);
  expect(written).toEqual([]);
  state.leads = true;
  commit();
  await clock.advance(1_000);
  expect(written).toEqual([SHOOT]);
});

it('a policy that ends the publication makes all statuses recorded', async () => {
  const { clock, written, state, commit } = recorder();
  state.isPublished = true;
  commit();
  await clock.advance(1_000);
  expect(written).toEqual([]);
  state.isPublished = false;
  commit();
  await clock.advance(1_000);
  expect(written).toEqual([SHOOT]);
});
