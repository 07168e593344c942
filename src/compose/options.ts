import type { ClusterName, FleetName } from '../model/fleet/ids.ts';
import type { ReplicasConfig } from '../model/fleet/relay-config.ts';
import type { JsonObject } from '../model/text/json.ts';
import type { HttpAddress, ListenAddress } from '../server/listen-address.ts';

/** An API server, a user and a namespace. Members that are absent are found by kubectl's rules. */
export interface KubeTarget {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace?: string | undefined;
}

/** The API server of a cluster with an agent, by the flags of `cluster register` and `deregister`. */
export interface AgentPlace {
  readonly agentKubeconfig?: string;
  readonly agentContext?: string;
  readonly agentNamespace: string;
}

/** Output of a long-running root, and properties of its process. */
export interface RunIo {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** `out` is a terminal that shows colours. */
  readonly colour: boolean;
  /** A person reads `err` on a terminal. Absent: it is none. */
  readonly isTerminal?: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly version: string;
  /** Called before a part of the process is opened, with its name; the part fails with what it throws. For tests. */
  readonly opening?: (part: string) => void | Promise<void>;
}

/** Abort at the first and at the second signal that asks the process to end. */
export interface StopSignals {
  readonly first: AbortSignal;
  readonly second: AbortSignal;
}

/** How a log is written. `auto`: `text` on a terminal, else `json`. */
export type LogFormat = 'auto' | 'text' | 'json';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Flags of `fleetrelay serve`, each by its name; a flag wins over the configuration file. */
export interface ServeOptions {
  /** The configuration file. */
  readonly config?: string;
  /** Address of the git repository, without credentials. */
  readonly repo?: string;
  readonly branch?: string;
  /** Sub-folder of the repository or folder. */
  readonly path?: string;
  readonly folder?: string;
  readonly repoUsername?: string;
  readonly repoTokenFile?: string;
  readonly hookSecretFile?: string;
  /** Seconds. */
  readonly poll?: number;
  /** Custom resources of a cluster are a source. The next two name the cluster; default: as kubectl finds it. */
  readonly customResources?: true;
  readonly kubeconfig?: string;
  readonly context?: string;
  /** Only the custom resources of this namespace. */
  readonly namespace?: string;
  readonly fleet?: FleetName;
  readonly dataDir?: string;
  /** Listener for agents. */
  readonly listen?: ListenAddress;
  /** The path of a socket may be relative. */
  readonly http?: HttpAddress;
  /** Listener for health and metrics. */
  readonly metrics?: ListenAddress;
  /** Listener for Envoys. */
  readonly xds?: ListenAddress;
  readonly apiTokenFile?: string;
  readonly tlsCertFile?: string;
  readonly tlsKeyFile?: string;
  /** Names and addresses of the generated certificate, beside the host's own. */
  readonly tlsName: readonly string[];
  /** At most two. */
  readonly relaySecretFile: readonly string[];
  /** No TLS for agents; on loopback only, unless `insecureListenAnywhere`. */
  readonly insecure?: true;
  readonly insecureListenAnywhere?: true;
  /** `store` of a RelayConfig. */
  readonly store?: JsonObject;
  readonly storePasswordFile?: string;
  readonly replicas?: ReplicasConfig['mode'];
  /** HOST:PORT or URL of this replica's API. */
  readonly advertise?: string;
  readonly logLevel: LogLevel;
  /** Absent: `auto`. */
  readonly logFormat?: LogFormat;
}

/** Options of `fleetrelay agent`. */
export type AgentOptions = DirectoryAgentOptions | KubernetesAgentOptions;

/** Options of an agent of any kind of cluster. */
export interface CommonAgentOptions {
  readonly cluster: ClusterName;
  readonly server: ListenAddress;
  /** Absent: the token is in `RELAY_TOKEN`, if it is set. */
  readonly tokenFile?: string | undefined;
  readonly caFile?: string | undefined;
  /** A client certificate that another program renews; absent: the server issues one. */
  readonly certificate?: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** Folder of the last output snapshot. */
  readonly dataDir?: string | undefined;
  /** Listener for health and metrics; absent: none. */
  readonly health?: ListenAddress | undefined;
  readonly insecure: boolean;
  readonly logLevel: LogLevel;
  /** Absent: `auto`. */
  readonly logFormat?: LogFormat | undefined;
}

export interface DirectoryAgentOptions extends CommonAgentOptions {
  /** The folder that is the cluster. */
  readonly directory: string;
}

export interface KubernetesAgentOptions extends CommonAgentOptions {
  readonly kubernetes: {
    /** File; absent, and no `context`: the cluster of the pod that this runs in, else kubectl's rules. */
    readonly kubeconfig?: string | undefined;
    readonly context?: string | undefined;
    /** The agent's namespace; default: the namespace of the context or ServiceAccount, else `fleetrelay`. */
    readonly namespace?: string | undefined;
    /** Several replicas elect a leader; without it there must be only one. */
    readonly leaderElect: boolean;
    /** Objects in the agent's namespace are applied as all others. Absent: they are refused. */
    readonly allowOwnNamespace?: boolean | undefined;
  };
  /** What each domain is told, by its name, as its options of `fleetrelay agent` say. */
  readonly domains: Readonly<Record<string, unknown>>;
}
