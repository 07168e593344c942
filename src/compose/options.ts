import type { ClusterName, FleetName } from '../model/ids.ts';
import type { ReplicasConfig, StoreConfig } from '../model/relay-config.ts';
import type { ListenAddress } from '../server/listen-address.ts';

/** What a long-running root writes to, and what it is told about the process. */
export interface RunIo {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** A person looks at `out`, and wants colours. */
  readonly colour: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly version: string;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** What `fleetrelay serve` is told. Everything but `logLevel` may come from the configuration file instead; what is given here wins. */
export interface ServeOptions {
  readonly configFile?: string;
  /** Address of the git repository, without credentials. */
  readonly repo?: string;
  readonly branch?: string;
  /** Sub-folder of the repository or folder. */
  readonly path?: string;
  readonly watch?: string;
  readonly repoUsername?: string;
  readonly repoTokenFile?: string;
  readonly hookSecretFile?: string;
  readonly pollSeconds?: number;
  /** Desired state from custom resources as well: those of this cluster. */
  readonly customResources?: { readonly kubeconfig?: string; readonly context?: string; readonly namespace?: string };
  readonly fleet?: FleetName;
  readonly dataDir?: string;
  /** Of the relay. */
  readonly listen?: ListenAddress;
  readonly http?: ListenAddress;
  /** Of health and metrics. */
  readonly metrics?: ListenAddress;
  readonly apiTokenFile?: string;
  readonly tlsCertFile?: string;
  readonly tlsKeyFile?: string;
  /** Names and addresses that a certificate made on first start is valid for, besides the obvious ones. */
  readonly tlsNames: readonly string[];
  /** At most two. */
  readonly relaySecretFiles: readonly string[];
  /** Relay without TLS; on loopback only, unless it may listen anywhere. */
  readonly insecure: boolean;
  readonly insecureListenAnywhere: boolean;
  /** A path in it is as written. */
  readonly store?: StoreConfig;
  readonly storePasswordFile?: string;
  readonly replicas?: ReplicasConfig['mode'];
  /** HOST:PORT or URL at which the API of this replica is reached. */
  readonly advertise?: string;
  readonly logLevel: LogLevel;
}

/** What `fleetrelay agent` is told. */
export type AgentOptions = DirectoryAgentOptions | KubernetesAgentOptions;

/** What every agent is told, whatever its cluster is. */
export interface CommonAgentOptions {
  readonly cluster: ClusterName;
  readonly server: ListenAddress;
  /** Left out: what `RELAY_TOKEN` says, if it says anything. */
  readonly tokenFile?: string;
  readonly caFile?: string;
  /** A client certificate that somebody else sees to; left out: the server issues one, if it does so. */
  readonly certificate?: { readonly certFile: string; readonly keyFile: string };
  /** Where it keeps what it was sent last. */
  readonly dataDir?: string;
  /** Where health and metrics are served; nowhere if left out. */
  readonly health?: ListenAddress;
  readonly insecure: boolean;
  readonly logLevel: LogLevel;
}

export interface DirectoryAgentOptions extends CommonAgentOptions {
  /** The folder that is the cluster. */
  readonly directory: string;
}

export interface KubernetesAgentOptions extends CommonAgentOptions {
  readonly kubernetes: {
    /** File; left out, with `context`: the pod that this runs in, else kubectl's rules. */
    readonly kubeconfig?: string;
    readonly context?: string;
    /** The agent's own; default: of the context or ServiceAccount, else `fleetrelay`. */
    readonly namespace?: string;
    /** Of several replicas one leads. Without it there must never be two. */
    readonly leaderElect: boolean;
  };
}

/** What `fleetrelay demo` is told. */
export interface DemoOptions {
  /** Play the whole story and end; otherwise go on until stopped. */
  readonly once: boolean;
  /** `json` and `yaml`: one document at the end, with `once` only. */
  readonly output: 'text' | 'json' | 'yaml';
  /** Where to work; a new temporary folder if left out. */
  readonly directory?: string;
  /** Leave the folder behind. */
  readonly keep: boolean;
  /** On real API servers instead of folders. */
  readonly kubernetes: boolean;
}

/** What `fleetrelay cluster token` is told. */
export interface ClusterTokenRequest {
  readonly cluster: ClusterName;
  /** The server's data directory, which knows of renewals, and holds the relay secret unless `relaySecretFile` does. */
  readonly dataDir?: string;
  readonly relaySecretFile?: string;
  /** Of the token; absent: the one that the data directory has. */
  readonly generation?: number;
  readonly cwd: string;
}
