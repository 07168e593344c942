import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type RunningAgent, startAgent } from '../../src/compose/agent/agent.ts';
import type { AgentOptions } from '../../src/compose/options.ts';
import { parseClusterName } from '../../src/model/fleet/ids.ts';
import { must } from '../../src/model/values/result.ts';
import { parseListenAddress } from '../../src/server/listen-address.ts';
import { createRecordingLog } from '../support/agent-log.ts';
import { startFleet, until } from '../support/fleet-processes.ts';
import { clusterYaml } from '../support/manifests.ts';

const files = {
  'fleet/east.yaml': clusterYaml('east'),
  'clusters/east/widget.yaml': 'apiVersion: example.org/v1\nkind: Widget\nmetadata:\n  name: w\nsize: 1\n',
};
const PLACE = 'Widget.example.org//w';

test('without TLS and token: kinds as they are written, stamped with the fleet, and no other fleet may change them', async () => {
  const ours = await startFleet(files, { serve: ['--insecure'] });
  const theirs = await startFleet(
    { ...files, 'clusters/east/widget.yaml': files['clusters/east/widget.yaml'].replace('size: 1', 'size: 2') },
    { serve: ['--insecure', '--fleet', 'another'] },
  );
  const directory = join(ours.sandbox.path, 'clusters', 'east');
  const cluster = must(parseClusterName('east'));
  const log = createRecordingLog();
  const running: RunningAgent[] = [];
  const agentOf = async (address: string): Promise<void> => {
    const server = must(parseListenAddress(address));
    const options: AgentOptions = { cluster, server, directory, insecure: true, logLevel: 'info' };
    running.push(await startAgent(options, { cwd: '/', version: '0.0.0' }, log));
  };
  try {
    await agentOf(ours.server.relay());
    const written = await until('the widget is there', () => ours.live('east', PLACE));
    expect(written).toContain('fleetrelay.dev/fleet: test\n');
    await until('it is reported', async () => (await ours.status()).summary.includes('1 of 1'));
    await running.pop()?.stop();
    await agentOf(theirs.server.relay());
    const isRefusal = ({ reason }: Readonly<Record<string, unknown>>) => reason === 'OtherFleet';
    await until('the agent says why not', () => log.lines.find(({ data }) => isRefusal(data)));
    await until('the server says why not', () => theirs.server.logs.find(isRefusal));
    expect(await ours.live('east', PLACE)).toBe(written);
  } finally {
    await Promise.all(running.map((agent) => agent.stop()));
    await ours.stop();
    await theirs.stop();
  }
});
