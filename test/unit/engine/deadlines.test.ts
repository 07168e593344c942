import { expect, it } from 'vitest';
import { createGraph } from '../../../src/engine/collections/graph.ts';
import { type Deadline, hasPassed, OF_PROCESS } from '../../../src/engine/deadlines.ts';
import type { Domain } from '../../../src/engine/domain.ts';
import type { ClusterValue } from '../../../src/engine/fleet/clusters.ts';
import { createEngine } from '../../../src/engine/graph.ts';
import { documentsOf } from '../../support/decoding.ts';
import { clusterYaml } from '../../support/manifests.ts';

/** Has a deadline at a fixed moment for each cluster that is declared. */
const waiting: Domain = {
  name: 'waiting',
  readsLive: {},
  derive: (graph, { clusters }) => ({
    collections: { bySource: [], anywhere: [] },
    deadlines: [
      graph.derive<ClusterValue, Deadline>({
        name: 'waitingDeadlines',
        from: clusters,
        compute: ({ key }, _read, emit) => emit('waiting', key, { at: 1_000 }),
      }),
    ],
  }),
};

it('the deadlines of safe mode and of each domain are one collection', () => {
  const engine = createEngine(createGraph(), [waiting]);
  engine.inputs.fleet.set('', '', { bounds: { guards: {}, safeModes: [], webhookRemediator: false }, role: 'leader' });
  engine.inputs.sources.set('', 'main', { order: 0, read: true });
  const documents = documentsOf(clusterYaml('east'));
  engine.inputs.files.set('main', 'east.yaml', { readable: true, documents, findings: [] });
  engine.inputs.safeStart.set('', '', 500);
  engine.commit();
  const all = () => [...engine.deadlines.partitions()].sort().flatMap((owner) => [...engine.deadlines.entries(owner)]);
  const safeStart = { partition: OF_PROCESS, key: 'safe-mode', value: { at: 680 } };
  expect(all()).toEqual([safeStart, { partition: 'waiting', key: 'east', value: { at: 1_000 } }]);
  engine.inputs.files.delete('main', 'east.yaml');
  engine.commit();
  expect(all()).toEqual([safeStart]);
});

it('a moment has passed once it or a later one of the same deadline has', () => {
  const graph = createGraph();
  const moments = graph.input<number>('moments');
  const elapsed = graph.input<number>('elapsed');
  const passed = graph.derive<number, boolean>({
    name: 'passed',
    from: moments,
    reads: [elapsed],
    compute: ({ key, value: at }, read, emit) => emit('', key, hasPassed(read, elapsed, 'owner', 'x', at)),
  });
  for (const at of [0, 99, 100, 101]) moments.set('', String(at), at);
  const now = (): readonly boolean[] => {
    graph.commit();
    return ['0', '99', '100', '101'].map((key) => passed.get('', key) === true);
  };
  expect(now()).toEqual([false, false, false, false]);
  elapsed.set('owner', 'other', 1_000);
  elapsed.set('another', 'x', 1_000);
  expect(now()).toEqual([false, false, false, false]);
  elapsed.set('owner', 'x', 100);
  expect(now()).toEqual([true, true, true, false]);
});
