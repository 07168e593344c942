/** Agents by the hundred in a process of their own, for a fleet of real processes. */
import { fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { must } from '../../src/model/values/result.ts';
import { parseListenAddress } from '../../src/server/listen-address.ts';
import { type Fleet, tokenFor } from '../../test/support/fleet-processes.ts';
import type { ManyAgentsAnswer, ManyAgentsRequest } from './many-agents.ts';

/** The agents of a fleet. */
export interface ManyAgents {
  /** Objects written in their clusters since this was asked last. */
  writes(): Promise<number>;
  stop(): void;
}

/** Starts an agent for each name; resolves when all are started, not when they are up. */
export async function startManyAgents(fleet: Fleet, names: readonly string[]): Promise<ManyAgents> {
  const child = fork(fileURLToPath(new URL('./many-agents.ts', import.meta.url)), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // As many machines, each with a disk that it syncs by itself.
    env: { ...process.env, UV_THREADPOOL_SIZE: '64' },
  });
  const ask = <Type extends ManyAgentsAnswer['type']>(
    request: ManyAgentsRequest,
    type: Type,
  ): Promise<Extract<ManyAgentsAnswer, { type: Type }>> =>
    new Promise((resolve, reject) => {
      const ended = (code: number | null): void => reject(new Error(`the agents' process ended with ${code}`));
      const listen = (answer: unknown): void => {
        const said = answer as ManyAgentsAnswer;
        if (said.type !== type) return;
        child.off('message', listen);
        child.off('exit', ended);
        resolve(said as Extract<ManyAgentsAnswer, { type: Type }>);
      };
      child.on('message', listen);
      child.once('exit', ended);
      child.send(request);
    });
  const agents = names.map((name) => {
    const tokenFile = join(fleet.sandbox.path, `${name}.token`);
    writeFileSync(tokenFile, tokenFor(name, fleet.dataDir));
    return { name, tokenFile };
  });
  const caFile = join(fleet.dataDir, 'trust', 'ca.crt');
  const server = must(parseListenAddress(fleet.server.relay()));
  const folder = join(fleet.sandbox.path, 'agents');
  await ask({ type: 'start', server, caFile, folder, agents }, 'started');
  return {
    writes: async () => (await ask({ type: 'writes' }, 'writes')).objects,
    stop: () => child.disconnect(),
  };
}
