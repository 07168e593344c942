import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/graph.ts';
import { selects } from '../../../src/engine/placement/matching.ts';
import { summarise, tallyOfList } from '../../../src/engine/status/progress.ts';
import type { ObjectResult } from '../../../src/model/agent/agent.ts';
import type { ConditionValue } from '../../../src/model/fleet/conditions.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import { compareText } from '../../../src/model/text/json.ts';
import { createEngineWorld } from '../../support/engine-world.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../support/manifests.ts';

const CLUSTERS = ['east', 'west'] as const;
const typo = 'kind: ConfigMap\nmetadata: {name: [\n';

type World = ReturnType<typeof createEngineWorld>;
type Step = (world: World) => void;

const one = <Value>(...values: readonly Value[]): fc.Arbitrary<Value> => fc.constantFrom(...values);

/** A file of an object: written, broken or gone. */
const objectFile: fc.Arbitrary<Step> = fc
  .tuple(one('a', 'b'), one('x', 'y', 'z'), one<string | null>('1', '2', typo, null))
  .map(([folder, name, data]) => ({ file }) => {
    const text = data === null || data === typo ? data : configMapYaml(`${folder}${name}`, data);
    file(`${folder}/${name}.yaml`, text);
  });
const placementFile: fc.Arbitrary<Step> = fc
  .tuple(one('p', 'q'), one('a/**', 'b/**', '**'), one('selector: {}', 'names: [east]', 'names: [south]', null))
  .map(([name, path, clusters]) => ({ file }) => {
    file(`fleet/${name}.yaml`, clusters === null ? null : placementYaml(name, path, clusters));
  });
const clusterFile: fc.Arbitrary<Step> = fc.tuple(one(...CLUSTERS), fc.boolean()).map(
  ([name, isThere]) =>
    ({ file }) =>
      file(`fleet/${name}.yaml`, isThere ? clusterYaml(name) : null),
);
const connection: fc.Arbitrary<Step> = fc
  .tuple(one(...CLUSTERS), fc.boolean())
  .map(([name, connected]) => ({ engine: { inputs } }) => {
    const agent = { connected, since: 1, problem: '', warm: true, assumedWarm: false, kindsAsWritten: true };
    inputs.agents.set('', name, agent);
  });
/** What an agent reports of an object that it should hold. */
const result: fc.Arbitrary<Step> = fc
  .tuple(one(...CLUSTERS), fc.nat(5), one<ObjectResult['state']>('applied', 'failed', 'conflict', 'paused'))
  .map(([cluster, at, state]) => ({ engine }) => {
    const outputs = [...engine.outputs.entries(cluster)].sort((a, b) => compareText(a.key, b.key));
    const found = outputs[at % Math.max(1, outputs.length)];
    if (found?.value.type !== 'object') return;
    const { key, value } = found;
    const { digest, origins, scope } = value;
    engine.inputs.ledger.set(cluster, key, { digest, origins, scope, phase: 'accepted' });
    const health = { state: at % 2 === 0 ? ('current' as const) : ('failed' as const), message: '' };
    const said = {
      key: key as ObjectKey,
      digest,
      state,
      reason: 'Rejected',
      message: `no ${state} ${key} in ${cluster}`,
    };
    engine.inputs.results.set(cluster, key, { ...said, ...(state === 'applied' ? { health } : {}) });
  });

const step = fc.oneof(
  { weight: 3, arbitrary: objectFile },
  { weight: 2, arbitrary: placementFile },
  clusterFile,
  connection,
  { weight: 4, arbitrary: result },
);

/** The status of a Placement, counted anew from everything that its clusters should hold. */
function countedAnew(engine: Engine, name: string): readonly ConditionValue[] {
  const placement = engine.placements.get('', name);
  const all = (placement?.clusters ?? []).flatMap((cluster) =>
    [...engine.progress.entries(cluster)]
      .filter(({ value }) => value.origins.some((origin) => placement !== undefined && selects(placement, origin)))
      .sort((a, b) => compareText(a.key, b.key))
      .map(({ value }) => value),
  );
  return summarise(tallyOfList(all));
}

it('counts of a Placement cover all objects under its paths, after every commit of any history', () => {
  fc.assert(
    fc.property(fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { maxLength: 25 }), (commits) => {
      const world = createEngineWorld();
      for (const name of CLUSTERS) world.file(`fleet/${name}.yaml`, clusterYaml(name));
      world.file('fleet/p.yaml', placementYaml('p', 'a/**'));
      world.engine.commit();
      for (const steps of commits) {
        for (const stage of steps) stage(world);
        world.engine.commit();
        for (const { key: name } of world.engine.placements.entries('')) {
          const conditions = world.engine.statuses.get('Placement', name)?.conditions ?? [];
          const summary = conditions.filter(({ type }) => ['Ready', 'Reconciling', 'Stalled'].includes(type));
          expect(summary).toEqual(countedAnew(world.engine, name));
        }
      }
    }),
    { numRuns: 150 },
  );
});
