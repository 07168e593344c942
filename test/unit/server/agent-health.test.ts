import { expect, test } from 'vitest';
import { startAgentHealth } from '../../../src/compose/agent/agent-health.ts';
import { createAgentMeter } from '../../../src/compose/agent/agent-metrics.ts';
import type { ElectionStatus } from '../../../src/election/elector.ts';
import { silentLog } from '../../support/silent-log.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const deps = { clock: createVirtualClock(), log: silentLog };

test('the metrics of an agent call what should be there wanted: held is what is deliberately not changed', async () => {
  const agent = {
    health: () => ({
      connection: { type: 'connecting' as const },
      clusterReadable: true,
      paused: false,
      diagnostics: 0,
      position: { epoch: 1, sequence: 2 },
      objects: { owned: 4, applied: 3, failed: 0, conflict: 1, paused: 0, removing: 0 },
      statuses: { total: 2, applied: 1, failed: 1 },
      driftLeft: { changed: 2, removed: 0 },
    }),
  };
  const listen = { host: '127.0.0.1', port: 0 };
  const health = await startAgentHealth(deps, agent as never, listen, metricSet());
  try {
    const text = await (await fetch(`${health.address}/metrics`, { signal: AbortSignal.timeout(50_000) })).text();
    expect(text).toContain('fleetrelay_agent_objects{state="wanted",cluster="east"} 4');
    expect(text).toContain('fleetrelay_agent_statuses{state="failed",cluster="east"} 1');
    expect(text).not.toContain('state="held"');
    expect(text).toContain('fleetrelay_agent_drift_left{drift="changed",cluster="east"} 2');
    expect(text).toContain('fleetrelay_agent_leader{cluster="east"} 1');
  } finally {
    await health.stop();
  }
});

test('the metrics say when the client certificate runs out, and nothing where there is none', async () => {
  let expiresAt: number | undefined;
  const subject = { health: () => undefined, certificateExpiresAt: () => expiresAt };
  const listen = { host: '127.0.0.1', port: 0 };
  const health = await startAgentHealth(deps, subject, listen, metricSet());
  const metrics = async (): Promise<string> => (await fetch(`${health.address}/metrics`)).text();
  const sample = /^fleetrelay_agent_certificate_expiry_timestamp_seconds\{cluster="east"\} (\S+)$/m;
  try {
    expect(await metrics()).not.toMatch(sample);
    expiresAt = 1_800_000_000_900;
    expect(sample.exec(await metrics())?.[1]).toBe('1800000000');
    expiresAt = undefined;
    expect(await metrics()).not.toMatch(sample);
  } finally {
    await health.stop();
  }
});

test('a replica that stands by is ready and says who leads; one that knows nothing is not', async () => {
  let leadership: ElectionStatus = { type: 'unknown', message: 'the API server does not answer' };
  const subject = { health: () => undefined, leadership: () => leadership };
  const listen = { host: '127.0.0.1', port: 0 };
  const health = await startAgentHealth(deps, subject, listen, metricSet());
  const ask = async (path: string) => {
    const response = await fetch(`${health.address}${path}`, { signal: AbortSignal.timeout(50_000) });
    return { status: response.status, text: await response.text() };
  };
  try {
    expect(await ask('/readyz')).toEqual({
      status: 503,
      text: 'not ready\n- who leads is not known: the API server does not answer\n',
    });
    leadership = { type: 'following', leader: 'pod-1_ab' };
    expect(await ask('/readyz')).toEqual({ status: 200, text: 'standing by; pod-1_ab leads\n' });
    expect((await ask('/metrics')).text).toContain('fleetrelay_agent_leader{cluster="east"} 0');
    leadership = { type: 'leading' };
    expect(await ask('/readyz')).toEqual({ status: 503, text: 'not ready\n- the agent is starting\n' });
    expect((await ask('/metrics')).text).toContain('fleetrelay_agent_leader{cluster="east"} 1');
    expect((await ask('/metrics')).text).not.toMatch(/^fleetrelay_agent_(connected|objects)[{ ]/m);
    expect(await ask('/healthz')).toEqual({ status: 200, text: 'ok\n' });
  } finally {
    await health.stop();
  }
});

test('an agent that puts no drift back before it has heard its server says so', async () => {
  const agent = {
    health: () => ({
      connection: { type: 'waiting' as const, reason: 'Unreachable', message: '', retryInMs: 1_000 },
      clusterReadable: true,
      repairs: false,
    }),
  };
  const listen = { host: '127.0.0.1', port: 0 };
  const health = await startAgentHealth(deps, agent as never, listen, metricSet());
  try {
    const text = await (await fetch(`${health.address}/readyz`, { signal: AbortSignal.timeout(50_000) })).text();
    expect(text.split('\n')).toEqual([
      'not ready',
      '- no connection to the server: Unreachable',
      '- drift is not repaired until the server has answered: until then this process does not know the desired state for certain',
      '',
    ]);
  } finally {
    await health.stop();
  }
});

function metricSet() {
  return createAgentMeter({ version: '1.2.3', cluster: 'east' }, createVirtualClock()).set;
}

test('an agent with a webhook is ready while it serves that, also without a server', async () => {
  let problem: string | undefined = 'the webhook has no certificate yet';
  const subject = { health: () => undefined, serviceProblem: () => problem };
  const listen = { host: '127.0.0.1', port: 0 };
  const health = await startAgentHealth(deps, subject as never, listen, metricSet());
  const ask = async () => {
    const response = await fetch(`${health.address}/readyz`, { signal: AbortSignal.timeout(50_000) });
    return { status: response.status, text: await response.text() };
  };
  try {
    expect(await ask()).toMatchObject({ status: 503, text: expect.stringContaining('no certificate yet') });
    problem = undefined;
    expect(await ask()).toMatchObject({ status: 200, text: expect.stringContaining('the agent is starting') });
  } finally {
    await health.stop();
  }
});
