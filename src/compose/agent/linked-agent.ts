import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { getCACertificates } from 'node:tls';
import { createAgentDisk } from '../../adapters/disk/agent-disk.ts';
import { createGrpcClientTransport, type GrpcClientOptions } from '../../adapters/grpc/client.ts';
import { createCertificateRequests } from '../../adapters/tls/certificate-requests.ts';
import { createAgent } from '../../agent/agent.ts';
import type { CreateAgentPart } from '../../agent/agent-part.ts';
import {
  TAKES_ATTEMPTS,
  TAKES_DRIFT_MODE,
  TAKES_DRIFT_MODE_BOUND,
  TAKES_HEALTH_CHECKS,
  TAKES_LIVE_OPT_OUTS,
  TAKES_OBJECT_DRIFT_MODE,
  TAKES_SETTINGS,
  TAKES_STATUSES,
  TAKES_STOPPED,
} from '../../model/agent/agent.ts';
import { given } from '../../model/values/given.ts';
import type { ClusterApi } from '../../ports/cluster-api.ts';
import type { CredentialStore } from '../../ports/credentials.ts';
import { type ClientCertificateSource, createRelayClient } from '../../relay/client.ts';
import type { ClientTrustDeps } from '../../relay/trust/client-trust.ts';
import { displayAddress } from '../../server/listen-address.ts';
import type { CommonAgentOptions, RunIo } from '../options.ts';
import type { AgentMeter } from './agent-metrics.ts';

export interface LinkedAgentDeps extends Omit<ClientTrustDeps, 'transport'> {
  readonly cluster: ClusterApi;
  /** Counts the work of the agent. */
  readonly meter?: AgentMeter;
  /** Keeps the certificate that the server issues. */
  readonly credentials: CredentialStore;
  /** Work of the agent beside the reconciliation of objects; absent: none. */
  readonly parts?: readonly CreateAgentPart[];
}

export interface LinkedAgentOptions extends CommonAgentOptions, Pick<RunIo, 'cwd' | 'version'> {
  readonly env?: RunIo['env'];
  /** Random, one per process. */
  readonly instance: string;
  /** Capabilities that not every agent has. */
  readonly capabilities: readonly string[];
  /** The agent's namespace, if it refuses objects in it. */
  readonly ownNamespace?: string;
  /** Folder of its disk, which is created. */
  readonly folder: string;
}

/** An agent with its end of the relay and its disk. */
export type LinkedAgent = Awaited<ReturnType<typeof createLinkedAgent>>;

/** Makes the agent of an opened cluster. Files of tokens, authorities and certificates are read at each dial. */
export async function createLinkedAgent(deps: LinkedAgentDeps, options: LinkedAgentOptions) {
  const { server, cluster, instance, version, capabilities, folder, ownNamespace } = options;
  const clusterId = await deps.cluster.identity();
  const transport = createGrpcClientTransport({ server: displayAddress(server), security: security(options) });
  const about = {
    cluster,
    clusterId,
    instance,
    version,
    capabilities: [
      TAKES_SETTINGS,
      TAKES_STOPPED,
      TAKES_ATTEMPTS,
      TAKES_DRIFT_MODE,
      TAKES_DRIFT_MODE_BOUND,
      TAKES_OBJECT_DRIFT_MODE,
      TAKES_LIVE_OPT_OUTS,
      TAKES_HEALTH_CHECKS,
      ...(deps.cluster.takesStatuses === true ? [TAKES_STATUSES] : []),
      ...capabilities,
    ],
    ...given({ ownNamespace }),
  };
  const token = tokenOf(options);
  const relay = createRelayClient({ ...deps, transport }, { ...about, token, ...certificatesOf(deps, options) });
  const { meter } = deps;
  const metered = meter?.cluster(deps.cluster) ?? deps.cluster;
  const disk = createAgentDisk(deps, { folder });
  return {
    /** Not started. */
    agent: createAgent({ ...deps, cluster: metered, relay: meter?.relay(relay) ?? relay, disk }),
    /** When its client certificate expires, in milliseconds since 1970; undefined: it has none. */
    certificateExpiresAt: relay.certificateExpiresAt,
    /** Called after the agent was stopped. */
    close: () => disk.close(),
  };
}

function certificatesOf(
  { credentials }: LinkedAgentDeps,
  { insecure, certificate, cwd }: LinkedAgentOptions,
): { readonly certificates?: ClientCertificateSource } {
  if (insecure) return {};
  if (certificate === undefined) {
    return { certificates: { type: 'enrolled', store: credentials, requests: createCertificateRequests() } };
  }
  const { certFile, keyFile } = certificate;
  const read = () => ({
    certificate: readNamed('certificate', resolve(cwd, certFile)).toString('utf8'),
    key: readNamed('key', resolve(cwd, keyFile)).toString('utf8'),
  });
  return { certificates: { type: 'given', read } };
}

function security({ caFile, insecure, cwd }: LinkedAgentOptions): GrpcClientOptions['security'] {
  if (insecure) return { type: 'insecure' };
  if (caFile === undefined) return { type: 'tls', ca: () => Buffer.from(getCACertificates('default').join('\n')) };
  return { type: 'tls', ca: () => readNamed('certificate authority', resolve(cwd, caFile)) };
}

/** The name that Gloo uses; read if no file is named. */
const TOKEN_VARIABLE = 'RELAY_TOKEN';

function tokenOf({ tokenFile, cwd, env = {} }: LinkedAgentOptions): () => string {
  return tokenFile === undefined
    ? () => env[TOKEN_VARIABLE] ?? ''
    : () => readNamed('token', resolve(cwd, tokenFile)).toString('utf8');
}

/** Reads a file at each dial, so that a replaced or late file takes effect. */
function readNamed(what: string, path: string): Buffer {
  // A pipe could be read once, and would hold the process until another program writes to it.
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) {
    throw new Error(`the ${what} file ${path} is no file that can be read again at each dial`);
  }
  try {
    return readFileSync(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new Error(`the ${what} file ${path} cannot be read (${code})`, { cause: error });
  }
}
