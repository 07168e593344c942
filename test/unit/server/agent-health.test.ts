import { expect, test } from 'vitest';
import { startAgentHealth } from '../../../src/compose/agent-health.ts';

test('the metrics of an agent call what should be there wanted: held is what is deliberately not changed', async () => {
  const agent = {
    health: () => ({
      connection: { type: 'connecting' as const },
      clusterReadable: true,
      paused: false,
      troubles: 0,
      position: { epoch: 1, sequence: 2 },
      objects: { held: 4, applied: 3, failed: 0, conflict: 1, paused: 0, removing: 0 },
    }),
  };
  const listen = { host: '127.0.0.1', port: 0 };
  const health = await startAgentHealth(agent as never, listen, { version: '1.2.3', cluster: 'east' });
  try {
    const text = await (await fetch(`${health.address}/metrics`, { signal: AbortSignal.timeout(5_000) })).text();
    expect(text).toContain('fleetrelay_agent_objects{state="wanted",cluster="east"} 4');
    expect(text).not.toContain('state="held"');
  } finally {
    await health.stop();
  }
});
