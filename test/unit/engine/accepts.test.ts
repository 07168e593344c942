import { expect, it } from 'vitest';
import type { Domain } from '../../../src/engine/domain.ts';
import { createDeclarationRecorder } from '../../../src/runtime/ledger/recorders.ts';
import { createEngineWorld } from '../../support/engine-world.ts';
import { placementYaml } from '../../support/manifests.ts';

/** Refuses that a Placement gets other paths once its status says that it is locked. */
const locks: Domain = {
  name: 'locks',
  readsLive: {},
  accepts: {
    Placement: ({ before, after, observed }) =>
      observed?.fields.locked === true && before.paths.join() !== after.paths.join()
        ? { reason: 'Locked', message: 'its paths are locked' }
        : undefined,
  },
  derive: () => ({ collections: { bySource: [], anywhere: [] } }),
};

it('a change that a domain refuses is not taken: what was declared holds, and says why', () => {
  const { engine, file } = createEngineWorld([locks]);
  const record = createDeclarationRecorder(engine, { put: () => undefined } as never);
  const commit = (): void => {
    do engine.commit();
    while (record());
  };
  const paths = () => engine.declarations.get('Placement', 'apps')?.value.paths;
  const accepted = () => engine.statuses.get('Placement', 'apps')?.conditions[0];
  file('apps.yaml', placementYaml('apps', 'a/**'));
  commit();
  file('apps.yaml', placementYaml('apps', 'b/**'));
  commit();
  expect(paths()).toEqual(['b/**']);

  engine.inputs.observed.set('Placement', 'apps', { conditions: [], fields: { locked: true } });
  commit();
  expect(paths()).toEqual(['b/**']);
  file('apps.yaml', placementYaml('apps', 'c/**'));
  commit();
  expect(paths()).toEqual(['b/**']);
  expect(accepted()).toEqual({ type: 'Accepted', status: 'False', reason: 'Locked', message: 'its paths are locked' });
  expect(engine.inputs.lastKnownGood.get('Placement', 'apps')?.value).toMatchObject({ paths: ['b/**'] });

  // What is not refused is taken, such as other clusters.
  file('apps.yaml', placementYaml('apps', 'b/**', 'names: [east]'));
  commit();
  expect(accepted()?.status).toBe('True');
  expect(engine.declarations.get('Placement', 'apps')?.value.clusters.names).toEqual(['east']);

  file('apps.yaml', placementYaml('apps', 'c/**'));
  engine.inputs.observed.delete('Placement', 'apps');
  commit();
  expect(paths()).toEqual(['c/**']);
  expect(accepted()?.status).toBe('True');
});
