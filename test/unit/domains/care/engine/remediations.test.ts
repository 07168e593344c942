import { expect, it } from 'vitest';
import { REMEDIATIONS } from '../../../../../src/domains/care/model/reports.ts';
import { agentReportKey } from '../../../../../src/model/agent/agent-report.ts';
import { objectDigest } from '../../../../../src/model/text/digest.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { createEngineWorld } from '../../../../support/engine-world.ts';

const REMEDIATIONS_KEY = agentReportKey(REMEDIATIONS);

it('the view of remediations has what all agents report, in the order of time', () => {
  const { engine } = createEngineWorld();
  const report = (cluster: string, changes: readonly JsonObject[]): void => {
    const value = { kind: 'Remediations', status: { changes } } as JsonObject;
    engine.inputs.live.set(cluster, REMEDIATIONS_KEY, { key: REMEDIATIONS_KEY, value, digest: objectDigest(value) });
  };
  const row = (id: string, time: string): JsonObject => ({ id, time, configuration: 'K/n', outcome: 'changed' });
  report('green', [row('1', '2026-01-01T00:00:01Z'), row('2', '2026-01-01T00:00:03Z')]);
  report('blue', [row('1', '2026-01-01T00:00:02Z')]);
  engine.commit();
  const view = engine.domains.flatMap(({ report: { shows } }) => shows?.views?.remediations ?? [])[0] ?? expect.fail();
  expect(view().map(({ cluster, id }) => `${cluster}/${id}`)).toEqual(['green/1', 'blue/1', 'green/2']);
  expect(view({ cluster: ['blue'] })).toEqual([
    {
      ...{
        time: '2026-01-01T00:00:02Z',
        cluster: 'blue',
        configuration: 'K/n',
        webhook: '',
        field: '',
        from: null,
        to: null,
      },
      ...{ dryRun: false, outcome: 'changed', message: '', id: '1' },
    },
  ]);
});
