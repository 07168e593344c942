import { readFileSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { getCACertificates } from 'node:tls';
import { createAgentDisk } from '../../adapters/disk/agent-disk.ts';
import { createGrpcClientTransport, type GrpcClientOptions } from '../../adapters/grpc/client.ts';
import { type Agent, createAgent } from '../../agent/agent.ts';
import { TAKES_SETTINGS } from '../../model/agent.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ClusterApi } from '../../ports/cluster-api.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import { createRelayClient } from '../../relay/client.ts';
import { displayAddress } from '../../server/listen-address.ts';
import type { CommonAgentOptions } from '../options.ts';

export interface LinkedAgentDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly cluster: ClusterApi;
}

export interface LinkedAgentOptions extends CommonAgentOptions {
  /** Relative paths start here. */
  readonly cwd: string;
  readonly version: string;
  /** One random id a process. */
  readonly instance: string;
  /** Beside those that every agent has. */
  readonly capabilities: readonly string[];
  /** Of its disk; made if it is not there. */
  readonly folder: string;
}

/** An agent with its way to the server and its disk; not started. */
export interface LinkedAgent {
  readonly agent: Agent;
  /** After the agent was stopped. */
  close(): Promise<void>;
}

/** Gives an opened cluster its agent. Files of tokens and authorities are read when the server is dialled. */
export async function createLinkedAgent(deps: LinkedAgentDeps, options: LinkedAgentOptions): Promise<LinkedAgent> {
  const { server, cluster, instance, version, capabilities, folder } = options;
  const transport = createGrpcClientTransport({ server: displayAddress(server), security: security(options) });
  const relay = createRelayClient(
    { ...deps, transport },
    {
      cluster,
      clusterId: await deps.cluster.identity(),
      instance,
      token: tokenOf(options),
      version,
      capabilities: [TAKES_SETTINGS, ...capabilities],
    },
  );
  const disk = createAgentDisk(deps, { folder });
  return { agent: createAgent({ ...deps, relay, disk }), close: () => disk.close() };
}

/** A path as it was given, from the folder that the process was started in. */
export function pathFrom(cwd: string, path: string): string {
  return isAbsolute(path) ? path : resolve(cwd, path);
}

function security({ caFile, insecure, cwd }: LinkedAgentOptions): GrpcClientOptions['security'] {
  if (insecure) return { type: 'insecure' };
  if (caFile === undefined) return { type: 'tls', ca: () => Buffer.from(getCACertificates('default').join('\n')) };
  return { type: 'tls', ca: () => readOrSay('certificate authority', pathFrom(cwd, caFile)) };
}

function tokenOf({ tokenFile, cwd }: LinkedAgentOptions): () => string {
  return tokenFile === undefined ? () => '' : () => readOrSay('token', pathFrom(cwd, tokenFile)).toString('utf8');
}

/** Read at each dial: a file that is replaced takes effect, and one that comes late does no harm. */
function readOrSay(what: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new Error(`the ${what} file ${path} cannot be read (${code})`, { cause: error });
  }
}
