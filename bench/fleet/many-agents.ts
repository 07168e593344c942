/** A process that stands for many machines: in each an agent whose cluster lives in memory. */
import { join } from 'node:path';
import process from 'node:process';
import { createDiskCredentials } from '../../src/adapters/disk/credentials.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createPinoLog } from '../../src/adapters/system/pino-log.ts';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import { createLinkedAgent, type LinkedAgent } from '../../src/compose/agent/linked-agent.ts';
import { parseClusterName } from '../../src/model/fleet/ids.ts';
import { must } from '../../src/model/values/result.ts';
import type { ListenAddress } from '../../src/server/listen-address.ts';
import { createMemoryCluster, type MemoryCluster } from '../../test/support/agent-cluster.ts';

/** What the process is told: start these, or say what was written since it was asked last. */
export type ManyAgentsRequest =
  | {
      readonly type: 'start';
      readonly server: ListenAddress;
      readonly caFile: string;
      /** Folder of the agents' disks. */
      readonly folder: string;
      readonly agents: readonly { readonly name: string; readonly tokenFile: string }[];
    }
  | { readonly type: 'writes' };

/** What it answers. */
export type ManyAgentsAnswer =
  | { readonly type: 'started'; readonly agents: number }
  | { readonly type: 'writes'; readonly objects: number };

const deps = { clock: createSystemClock(), random: createSystemRandom(), log: createPinoLog({ level: 'error' }) };
const running: LinkedAgent[] = [];
const clusters: MemoryCluster[] = [];

process.on('message', (request: ManyAgentsRequest) => {
  if (request.type === 'start') void start(request);
  else answer({ type: 'writes', objects: clusters.reduce((sum, { calls }) => sum + objectWrites(calls.splice(0)), 0) });
});
process.on('disconnect', () => void stop());

async function start({ server, caFile, folder, agents }: Extract<ManyAgentsRequest, { type: 'start' }>): Promise<void> {
  for (const { name, tokenFile } of agents) {
    const cluster = createMemoryCluster(`id-of-${name}`);
    cluster.view();
    clusters.push(cluster);
    const credentials = createDiskCredentials(deps, { folder: join(folder, name) });
    const linked = await createLinkedAgent(
      { ...deps, cluster: cluster.open(), credentials },
      {
        ...{ cluster: must(parseClusterName(name)), server, tokenFile, caFile, insecure: false, logLevel: 'error' },
        ...{ cwd: '/', version: 'bench', instance: deps.random.id(), capabilities: ['kinds-as-written'] },
        folder: join(folder, name),
      },
    );
    running.push(linked);
    await linked.agent.start();
  }
  answer({ type: 'started', agents: running.length });
}

async function stop(): Promise<void> {
  await Promise.all(running.map(({ agent, close }) => agent.stop().then(close)));
  process.exit(0);
}

function objectWrites(calls: readonly string[]): number {
  return calls.filter((call) => call !== 'inventory').length;
}

function answer(message: ManyAgentsAnswer): void {
  process.send?.(message);
}
