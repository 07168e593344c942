import type { DirectoryCluster } from '../../adapters/directory/cluster.ts';
import type { KubeClient } from '../../adapters/kubernetes/api/types.ts';
import type { KubernetesAccess } from '../../adapters/kubernetes/cluster/cluster.ts';
import type { Trim } from '../../adapters/kubernetes/cluster/live/trim.ts';
import type { CreateAgentPart } from '../../agent/agent-part.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import type { MetricSet } from '../../server/metric-set.ts';
import type { KubernetesAgentOptions, RunIo } from '../options.ts';

/** A process that may be the agent of a cluster. */
export interface AgentProcess {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The metrics of the process. A domain adds its metrics once, although the process can become the agent several times. */
  readonly metrics: MetricSet;
}

/** One of the processes that may be the agent of a Kubernetes cluster. */
export interface AgentReplica {
  /** For requests at any time, also while another replica leads. */
  readonly client: KubeClient;
  /** The agent's own. */
  readonly namespace: string;
  readonly options: KubernetesAgentOptions;
  readonly io: Pick<RunIo, 'cwd' | 'version'>;
}

/** The time in which a replica is the agent. */
export interface AgentTerm {
  /** Its requests end with the term. */
  readonly client: KubeClient;
  readonly cluster: KubernetesAccess;
}

/** What a domain does in a replica of an agent. */
export interface DomainOfReplica {
  /** What the agent tells the server that it can do besides. */
  readonly capabilities?: readonly string[];
  /**
   * Why the replica does not serve what does not depend on the server; undefined: it does, and the replica is ready. Absent: the
   * replica serves no such thing.
   */
  readonly problem?: () => string | undefined;
  /** The parts of the agent in a term. */
  readonly parts: (term: AgentTerm) => readonly CreateAgentPart[];
  /** Called when the process ends. */
  readonly stop?: () => Promise<void>;
}

/** What a domain does in the agents of clusters. */
export interface AgentDomain {
  /** What the agent of a Kubernetes cluster keeps of live objects of others, of kinds that the domain reads; absent: all. */
  readonly trim?: Trim;
  /** The parts of the agent of a folder. */
  readonly ofDirectory?: (cluster: DirectoryCluster) => readonly CreateAgentPart[];
  /** Begins with a replica; undefined: the options ask for nothing of the domain. Rejects with a text for a person. */
  readonly ofReplica?: (replica: AgentReplica) => Promise<DomainOfReplica | undefined>;
}

/** Adds the metrics of a domain to a process, once. */
export type OpenAgentDomain = (process: AgentProcess) => AgentDomain;
