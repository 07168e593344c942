import { expect, test } from 'vitest';
import { probeMeter } from '../../../../../src/domains/care/compose/agent.ts';
import type { CareApi, HealthAnswer } from '../../../../../src/domains/care/ports/care-api.ts';
import { createMetricSet } from '../../../../../src/server/metric-set.ts';
import { createVirtualClock } from '../../../../support/virtual-clock.ts';

test('measures the time of answers of the API server; silence has none', async () => {
  const clock = createVirtualClock();
  const metrics = createMetricSet({ cluster: 'east' });
  const probed = probeMeter(metrics, clock);
  const answers: HealthAnswer[] = [
    { type: 'answered', status: 503, text: '', cut: false },
    { type: 'unanswered', error: 'silence' },
  ];
  const askHealth = async () => {
    await clock.sleep(400);
    return answers.shift();
  };
  const care = probed({ askHealth } as unknown as CareApi);
  for (const expected of [...answers]) {
    const answer = care.askHealth?.('/healthz', 1_000);
    await clock.advance(400);
    expect(await answer).toEqual(expected);
  }
  const text = await metrics.registry.metrics();
  expect(text).toContain('fleetrelay_agent_api_server_response_seconds_sum{cluster="east"} 0.4');
  expect(text).toContain('fleetrelay_agent_api_server_response_seconds_count{cluster="east"} 1');
  expect(probed({} as unknown as CareApi)).not.toHaveProperty('askHealth');
});
