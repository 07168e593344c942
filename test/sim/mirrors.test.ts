import { expect, test } from 'vitest';
import { playMirrors } from './mirrors/play.ts';
import { mirrorFailuresOf } from './play-seeds.ts';
import type { Tampering } from './world.ts';

const MIRRORED = ['/Service', 'discovery.k8s.io/EndpointSlice'];

test('services are mirrored through seeded faults: seeds 1 to 6', async () => {
  expect(await mirrorFailuresOf(1, 6)).toEqual([]);
});

test('services of declared data planes are mirrored through seeded faults: seeds 1 to 3', async () => {
  expect(await mirrorFailuresOf(1, 3, { hasMachines: true })).toEqual([]);
});

test('a planted fault is caught: the file of a data plane that cannot be read is taken for one that is gone', async () => {
  const source: Tampering['source'] = (_world, own) => ({
    ...own,
    start: (listener, admitted, remembered) => {
      const observe: typeof listener.observe = (observation) => {
        const changes = observation.changes.map(({ path, file }) => ({
          path,
          file: path.startsWith('machines/') && file?.readable === false ? null : file,
        }));
        listener.observe({ ...observation, state: 'complete', changes });
      };
      own.start({ ...listener, observe }, admitted, remembered);
    },
  });
  const found: string[] = [];
  for (let seed = 1; seed <= 10 && found.length === 0; seed += 1) {
    const violations = await playMirrors(seed, { tampering: { source } }, { hasMachines: true });
    found.push(...violations.map(({ checker }) => checker));
  }
  expect(found).toContain('lasting machines');
});

test('what a server has of a cluster without its kinds is in the store once the kinds are known: seed 95', async () => {
  expect(await playMirrors(95)).toEqual([]);
});

test('a planted fault is caught: a snapshot that is missing is taken for one of an empty cluster', async () => {
  const source: Tampering['source'] = (world, own) => ({
    ...own,
    start: (listener, admitted, remembered) => {
      const plant = (): void => {
        for (const { life } of world.servers) {
          const inputs = life()?.server?.engine.inputs;
          for (const { cluster } of inputs === undefined ? [] : world.agents) {
            if (inputs?.snapshots.get('', cluster.name) !== undefined) continue;
            inputs?.snapshots.set('', cluster.name, { since: 0 });
            for (const kind of MIRRORED) {
              inputs?.kinds.set(cluster.name, kind, { kind, state: 'complete', message: '', scope: 'Namespaced' });
            }
          }
        }
        world.time.in(100, plant);
      };
      plant();
      own.start(listener, admitted, remembered);
    },
  });
  const found: string[] = [];
  for (let seed = 1; seed <= 30 && found.length === 0; seed += 1) {
    found.push(...(await playMirrors(seed, { tampering: { source } })).map(({ checker }) => checker));
  }
  expect(found).toContain('lasting mirrors');
});
