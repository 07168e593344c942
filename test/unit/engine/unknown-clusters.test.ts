import { expect, it } from 'vitest';
import { engineDiagnostics } from '../../../src/engine/status/diagnostics.ts';
import { createEngineWorld } from '../../support/engine-world.ts';
import { clusterYaml, placementYaml } from '../../support/manifests.ts';

it('finds the Placements that name an unknown cluster without a look at the others', () => {
  const { engine, file } = createEngineWorld();
  file('east.yaml', clusterYaml('east'));
  for (let at = 0; at < 50; at += 1) file(`p${at}.yaml`, placementYaml(`p${at}`, `a${at}/**`, 'names: [east]'));
  file('lost.yaml', placementYaml('lost', 'lost/**', 'names: [west, north]'));
  engine.commit();
  const walked: string[] = [];
  const placements = {
    ...engine.placements,
    entries: (partition: string) => {
      walked.push(partition);
      return engine.placements.entries(partition);
    },
  };
  const found = () =>
    engineDiagnostics({ ...engine, placements })
      .filter(({ reason }) => reason === 'UnknownCluster')
      .map(({ message }) => message);
  const sentence = (name: string) => `Placement lost names clusters that no KubernetesCluster declares: ${name}`;
  expect(found()).toEqual([sentence('north'), sentence('west')]);
  file('west.yaml', clusterYaml('west'));
  const { computed } = engine.commit();
  expect(found()).toEqual([sentence('north')]);
  expect(walked).toEqual([]);
  expect(computed).toBeLessThan(30);
});
