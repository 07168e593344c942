import { expect, it } from 'vitest';
import type { EngineDiagnostic } from '../../../src/engine/domain.ts';
import { engineDiagnostics } from '../../../src/engine/status/diagnostics.ts';
import { inOrder, MOST_LISTED, withMore } from '../../../src/engine/status/listed.ts';
import { locatedDiagnostics } from '../../../src/runtime/api/locator.ts';
import { createEngineWorld } from '../../support/engine-world.ts';
import { clusterYaml, configMapYaml } from '../../support/manifests.ts';

const COUNT = MOST_LISTED + 500;

function worldOfUnplaced() {
  const world = createEngineWorld();
  world.file('east.yaml', clusterYaml('east'));
  for (let at = 0; at < COUNT; at += 1) world.file(`f${at}.yaml`, configMapYaml(`c${at}`, '1'));
  world.engine.commit();
  return world.engine;
}

it('a server lists a part of the findings of one source and reason, and says how many others there are', () => {
  const engine = worldOfUnplaced();
  expect(engineDiagnostics(engine)).toHaveLength(COUNT);
  const listed = engineDiagnostics(engine, MOST_LISTED);
  expect(listed).toHaveLength(MOST_LISTED + 1);
  expect(listed.filter(({ message }) => message.startsWith('the same is found 500 more times'))).toHaveLength(1);
  expect(new Set(listed.map(({ reason }) => reason))).toEqual(new Set(['GoesNowhere']));
});

it('lines are looked for in some files at a time', async () => {
  const engine = worldOfUnplaced();
  let open = 0;
  let most = 0;
  const located = await locatedDiagnostics(engine, {
    find: async ({ path }) => {
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
      return { path, line: 1, column: 1 };
    },
  });
  expect(located).toHaveLength(COUNT);
  expect(most).toBeLessThanOrEqual(32);
});

it('the number of findings that are left out is said even when those that remain are below the limit', () => {
  const found = ['a', 'b', 'c'].map((path) => ({
    ...{ severity: 'error', reason: 'NotAllowed', message: 'no' },
    at: [{ source: 'main', path, identity: '' }],
  })) as unknown as readonly EngineDiagnostic[];
  const listed = inOrder(withMore(found, 200), MOST_LISTED);
  expect(listed.map(({ message }) => message)).toEqual([
    ...['no', 'no', 'no'],
    'the same is found 200 more times in this source, and is not listed; fleetrelay validate lists all',
  ]);
});
