import { expect, test } from 'vitest';
import { type AgentMeter, createAgentMeter } from '../../../src/compose/agent/agent-metrics.ts';
import type { ClusterApi } from '../../../src/ports/cluster-api.ts';
import type { ConnectionState, RelayClient, ServerListener } from '../../../src/relay/session.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const ABOUT = { version: '1.2.3', cluster: 'east' };

test('counts what became of writes, by reason, and passes on what was answered', async () => {
  const meter = createAgentMeter(ABOUT, createVirtualClock());
  const outcomes = [
    { type: 'applied' },
    { type: 'unchanged' },
    { type: 'failed', reason: 'Forbidden', message: '' },
    { type: 'conflict', owner: 'x', message: '' },
  ];
  const cluster = meter.cluster({
    apply: async () => outcomes.shift(),
    remove: async () => ({ type: 'gone' }),
  } as unknown as ClusterApi);
  expect(await cluster.apply({ key: '/ConfigMap/web/a' } as never)).toEqual({ type: 'applied' });
  for (let left = outcomes.length; left > 0; left -= 1) await cluster.apply({ key: '/ConfigMap/web/a' } as never);
  await cluster.remove({ key: '/ConfigMap/web/a' } as never);
  await cluster.remove({ key: '/Service/web/a/status' } as never);
  const text = await meter.set.registry.metrics();
  expect(text).toContain('fleetrelay_agent_object_writes_total{operation="apply",cluster="east"} 1');
  expect(text).toContain('fleetrelay_agent_object_writes_total{operation="remove",cluster="east"} 1');
  expect(text).toContain('fleetrelay_agent_object_writes_total{operation="endStatus",cluster="east"} 1');
  expect(text).toContain('fleetrelay_agent_object_write_failures_total{reason="Forbidden",cluster="east"} 1');
  expect(text).toContain('fleetrelay_agent_object_write_failures_total{reason="Conflict",cluster="east"} 1');
  expect(text).toContain('fleetrelay_agent_info{version="1.2.3",cluster="east"} 1');
});

test('counts deltas, their time, links and pushed input', async () => {
  const clock = createVirtualClock();
  const meter = createAgentMeter(ABOUT, clock);
  const given: ServerListener[] = [];
  const relay = relayInto(meter, given);
  const answers = [{ accepted: true }, { accepted: false, reason: 'AdmissionBehind', message: '' }] as const;
  let next = 0;
  const heard: string[] = [];
  relay.start({
    delta: async () => {
      await clock.sleep(300);
      return answers[next++] ?? answers[0];
    },
    inputAcknowledged: (digest: string) => void heard.push(digest),
    connection: ({ type }: ConnectionState) => void heard.push(type),
  } as unknown as ServerListener);
  for (const _ of answers) {
    const answer = given[0]?.delta({} as never, 'f' as never);
    await clock.advance(300);
    await answer;
  }
  given[0]?.inputAcknowledged('d' as never);
  given[0]?.connection({ type: 'waiting', reason: 'Unreachable', message: '', retryInMs: 1 });
  given[0]?.connection({ type: 'connecting' });
  expect(heard).toEqual(['d', 'waiting', 'connecting']);
  const text = await meter.set.registry.metrics();
  expect(text).toContain('fleetrelay_agent_delta_apply_seconds_sum{cluster="east"} 0.6');
  expect(text).toContain('fleetrelay_agent_deltas_accepted_total{cluster="east"} 1');
  expect(text).toContain('fleetrelay_agent_deltas_refused_total{reason="AdmissionBehind",cluster="east"} 1');
  expect(text).toContain('fleetrelay_agent_inputs_acknowledged_total{cluster="east"} 1');
  expect(text).toContain('fleetrelay_agent_link_failures_total{reason="Unreachable",cluster="east"} 1');
});

test('reasons that others think up make no metric without end', async () => {
  const meter = createAgentMeter(ABOUT, createVirtualClock());
  const given: ServerListener[] = [];
  relayInto(meter, given).start({
    connection: () => undefined,
  } as unknown as ServerListener);
  for (let n = 0; n < 200; n += 1)
    given[0]?.connection({ type: 'waiting', reason: `R${n}`, message: '', retryInMs: 1 });
  const lines = (await meter.set.registry.metrics())
    .split('\n')
    .filter((line) => line.startsWith('fleetrelay_agent_link_failures_total{'));
  expect(lines).toHaveLength(51);
  expect(lines).toContain('fleetrelay_agent_link_failures_total{reason="Other",cluster="east"} 150');
});

/** A link to the server that hands on who listens to it. */
function relayInto(meter: AgentMeter, listeners: ServerListener[]): RelayClient {
  return meter.relay({ start: (listener: ServerListener) => void listeners.push(listener) } as unknown as RelayClient);
}
