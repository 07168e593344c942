import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startAgent } from '../../../src/compose/agent/agent.ts';
import type { OpenAgentDomain } from '../../../src/compose/agent/agent-domain.ts';
import { agentDomains } from '../../../src/domains/agents.ts';
import { parseClusterName } from '../../../src/model/fleet/ids.ts';
import { must } from '../../../src/model/values/result.ts';
import { createRecordingLog } from '../../support/agent-log.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fleetrelay-domains-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Starts the agent of a folder with one object, whose server does not answer. */
async function startWith(domains: readonly OpenAgentDomain[]) {
  writeFileSync(join(folder, 'web.yaml'), 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\n');
  const listen = { host: '127.0.0.1', port: 0 };
  return startAgent(
    {
      cluster: must(parseClusterName('east')),
      directory: folder,
      server: { host: '127.0.0.1', port: 9 },
      insecure: true,
      health: listen,
      logLevel: 'error',
    },
    { cwd: folder, version: '1.2.3' },
    createRecordingLog(),
    domains,
  );
}

async function families(address: string | undefined): Promise<readonly string[]> {
  const text = await fetch(`${address}/metrics`).then((answer) => answer.text());
  return [...text.matchAll(/^# TYPE (\S+)/gm)].flatMap(([, name]) => name ?? []);
}

test('an agent without domains runs: only their metrics and reports are missing', async () => {
  const bare = await startWith([]);
  const { connection, clusterReadable } = bare.agent.health();
  expect(clusterReadable).toBe(true);
  expect(['connecting', 'waiting']).toContain(connection.type);
  const without = await families(bare.health);
  await bare.stop();
  const complete = await startWith(agentDomains);
  const all = await families(complete.health);
  await complete.stop();
  expect(all.filter((name) => !without.includes(name))).toEqual([
    'fleetrelay_injections_total',
    'fleetrelay_agent_webhook_configured',
    'fleetrelay_agent_api_server_response_seconds',
  ]);
  expect(without.filter((name) => !all.includes(name))).toEqual([]);
});

test('a domain adds a metric to the process and a part to the agent', async () => {
  const calls: string[] = [];
  const counting: OpenAgentDomain = ({ metrics }) => {
    metrics.gauge('files_of_test', 'Always 1.', [], () => [[{}, 1]]);
    return {
      ofDirectory: ({ look }) => [
        () => ({
          load: async () => void calls.push(`load ${(await look()).objects.size}`),
          observe: ({ objects }) => void calls.push(`observe ${objects.size}`),
          stop: () => void calls.push('stop'),
        }),
      ],
    };
  };
  const started = await startWith([counting]);
  expect(calls.slice(0, 2)).toEqual(['load 1', 'observe 1']);
  expect(await families(started.health)).toContain('files_of_test');
  await started.stop();
  expect(calls.at(-1)).toBe('stop');
});
