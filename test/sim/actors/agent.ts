import { type Agent, createAgent } from '../../../src/agent/agent.ts';
import { KINDS_AS_WRITTEN, TAKES_SETTINGS, TAKES_STATUSES } from '../../../src/model/agent/agent.ts';
import { parseClusterName } from '../../../src/model/fleet/ids.ts';
import { must } from '../../../src/model/values/result.ts';
import type { ClusterApi } from '../../../src/ports/cluster-api.ts';
import { createRelayClient } from '../../../src/relay/client.ts';
import type { RelayClient } from '../../../src/relay/session.ts';
import { connectionToken } from '../../../src/relay/trust/tokens.ts';
import type { Dice } from '../core/dice.ts';
import { createSimLog, type LogLine } from '../core/log.ts';
import { createProcess, type SimProcess } from '../core/process.ts';
import type { SimTime } from '../core/time.ts';
import type { SimCluster } from '../ports/cluster.ts';
import type { SimDisk } from '../ports/disk.ts';
import type { SimNetwork, Weather } from '../ports/network.ts';

/** What an agent's processes are made of. */
export interface AgentParts {
  readonly time: SimTime;
  readonly dice: Dice;
  readonly network: SimNetwork;
  readonly secret: Uint8Array;
  readonly log: (line: LogLine) => void;
  /** Lets checkers listen in, or a planted fault in between. */
  readonly wrapCluster: (cluster: SimCluster, api: ClusterApi) => ClusterApi;
  readonly wrapClient: (cluster: SimCluster, client: RelayClient) => RelayClient;
}

/** The agent of one cluster, with a supervisor that restarts it when it ends. */
export interface SimAgent {
  readonly cluster: SimCluster;
  readonly disk: SimDisk;
  readonly weather: Weather;
  life(): AgentLife | undefined;
  start(): void;
}

export interface AgentLife {
  readonly process: SimProcess;
  /** Undefined until it knows which cluster it is in. */
  agent: Agent | undefined;
}

const RESTART_MS = 1_000;

export function createSimAgent(cluster: SimCluster, disk: SimDisk, parts: AgentParts): SimAgent {
  let life: AgentLife | undefined;
  let lives = 0;
  const agent: SimAgent = {
    cluster,
    disk,
    weather: { latencyMs: 1, jitterMs: 3, reachable: true },
    life: () => life,
    start,
  };
  return agent;

  function start(): void {
    if (life !== undefined) return;
    lives += 1;
    const process = createProcess(parts.time, `${cluster.name}.${lives}`);
    const begun: AgentLife = { process, agent: undefined };
    life = begun;
    process.atDeath(() => {
      life = undefined;
    });
    run(agent, begun, parts).catch((error: unknown) => {
      parts.log({
        process: process.name,
        level: 'warn',
        message: 'it could not start',
        data: { error: String(error) },
      });
      process.kill();
      parts.time.in(RESTART_MS, start);
    });
  }
}

async function run({ cluster, disk, weather }: SimAgent, life: AgentLife, parts: AgentParts): Promise<void> {
  const { process } = life;
  const { clock } = process;
  const log = createSimLog(process.name, parts.log);
  const random = parts.dice.fork(process.name);
  const api = parts.wrapCluster(cluster, cluster.open(process));
  const name = must(parseClusterName(cluster.name));
  const client = createRelayClient(
    { transport: parts.network.client(process, weather), clock, random, log },
    {
      cluster: name,
      clusterId: await api.identity(),
      instance: random.id(),
      token: () => connectionToken(parts.secret, name),
      version: '0.0.0',
      capabilities: [TAKES_SETTINGS, KINDS_AS_WRITTEN, TAKES_STATUSES],
    },
  );
  const relay = parts.wrapClient(cluster, client);
  const agent = createAgent({ cluster: api, relay, disk: disk.open(process), clock, random, log });
  life.agent = agent;
  await agent.start();
}
