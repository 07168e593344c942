import { readFileSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { getCACertificates } from 'node:tls';
import { createAgentDisk } from '../../adapters/disk/agent-disk.ts';
import { createGrpcClientTransport, type GrpcClientOptions } from '../../adapters/grpc/client.ts';
import { createCertificateRequests } from '../../adapters/tls/certificate-requests.ts';
import { type Agent, createAgent } from '../../agent/agent.ts';
import { TAKES_SETTINGS } from '../../model/agent.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ClusterApi } from '../../ports/cluster-api.ts';
import type { CredentialStore } from '../../ports/credentials.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import { type ClientCertificates, createRelayClient } from '../../relay/client.ts';
import { displayAddress } from '../../server/listen-address.ts';
import type { CommonAgentOptions, RunIo } from '../options.ts';
import type { AgentMeter } from './agent-metrics.ts';

export interface LinkedAgentDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly cluster: ClusterApi;
  /** Counts what it does; absent: nobody does. */
  readonly meter?: AgentMeter;
  /** Where it keeps a certificate that the server has issued. */
  readonly credentials: CredentialStore;
}

export interface LinkedAgentOptions extends CommonAgentOptions {
  /** Relative paths start here. */
  readonly cwd: string;
  readonly env?: RunIo['env'];
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
  /** When its client certificate runs out, in milliseconds since 1970; undefined: it has none. */
  certificateExpiresAt(): number | undefined;
  /** After the agent was stopped. */
  close(): Promise<void>;
}

/** Gives an opened cluster its agent. Files of tokens, authorities and certificates are read when the server is dialled. */
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
      ...certificatesOf(deps, options),
      version,
      capabilities: [TAKES_SETTINGS, ...capabilities],
    },
  );
  const { meter } = deps;
  const metered = meter?.cluster(deps.cluster) ?? deps.cluster;
  const disk = createAgentDisk(deps, { folder });
  return {
    agent: createAgent({ ...deps, cluster: metered, relay: meter?.relay(relay) ?? relay, disk }),
    certificateExpiresAt: relay.certificateExpiresAt,
    close: () => disk.close(),
  };
}

function certificatesOf(
  { credentials }: LinkedAgentDeps,
  { insecure, certificate, cwd }: LinkedAgentOptions,
): { readonly certificates?: ClientCertificates } {
  if (insecure) return {};
  if (certificate === undefined) {
    return { certificates: { type: 'enrolled', store: credentials, requests: createCertificateRequests() } };
  }
  const { certFile, keyFile } = certificate;
  const read = () => ({
    certificate: readOrSay('certificate', pathFrom(cwd, certFile)).toString('utf8'),
    key: readOrSay('key', pathFrom(cwd, keyFile)).toString('utf8'),
  });
  return { certificates: { type: 'given', read } };
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

/** By the name that Gloo's setups have for it, where no file is named. */
const TOKEN_VARIABLE = 'RELAY_TOKEN';

function tokenOf({ tokenFile, cwd, env = {} }: LinkedAgentOptions): () => string {
  return tokenFile === undefined
    ? () => env[TOKEN_VARIABLE] ?? ''
    : () => readOrSay('token', pathFrom(cwd, tokenFile)).toString('utf8');
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
