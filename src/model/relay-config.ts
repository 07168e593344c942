import type { FleetPolicy, GuardLimits } from './desired.ts';
import type { CustomKind } from './engine-kinds.ts';
import type { FleetName, SourceName } from './ids.ts';

/** Where a secret is found; never the secret itself. */
export type SecretReference =
  | { readonly type: 'env'; readonly name: string }
  | { readonly type: 'file'; readonly path: string };

/** A user name is no secret, and may stand for itself. */
export type UsernameReference = SecretReference | { readonly type: 'text'; readonly text: string };

/** What a git server asks for. A token stands alone or goes with a user name; a password needs a user name. */
export interface CredentialReferences {
  readonly username?: UsernameReference;
  readonly password?: SecretReference;
  readonly token?: SecretReference;
}

/** A place that desired state comes from. */
export type SourceConfig =
  | {
      readonly type: 'git';
      readonly name: SourceName;
      /** http(s) address or local path, free of credentials. */
      readonly url: string;
      /** Absent: the repository's default branch. */
      readonly branch?: string;
      /** Sub-folder, without slashes at the ends; empty for the whole tree. */
      readonly path: string;
      readonly credentials?: CredentialReferences;
      /** Certificates (PEM) to trust instead of the machine's. */
      readonly caFile?: string;
      readonly pollIntervalSeconds: number;
      readonly hookSecret?: SecretReference;
    }
  | { readonly type: 'files'; readonly name: SourceName; readonly path: string }
  | {
      readonly type: 'kubernetes';
      readonly name: SourceName;
      /** Absent, and no context: the cluster that the server runs in, or else what kubectl takes. */
      readonly kubeconfig?: string;
      readonly context?: string;
      /** Absent: all. */
      readonly namespaces?: readonly string[];
      readonly kinds: readonly CustomKind[];
    };

/** An address to listen on; port 0 lets the system choose. */
export interface BindAddress {
  readonly address: string;
  readonly port: number;
}

/**
 * How the connection of agents is secured. `mtls`: both ends show a certificate. `tls`: the server shows a certificate,
 * an agent a token. `insecure`: plain text, on loopback only unless `confirmed`.
 */
export type RelayTls =
  | { readonly mode: 'insecure' /** Said twice: may listen on more than loopback. */; readonly confirmed: boolean }
  | { readonly mode: 'tls'; readonly certificate: CertificateSource }
  | { readonly mode: 'mtls'; readonly certificate: CertificateSource; readonly clients: ClientCertificates };

/**
 * Where agents have their certificates from. `issued`: of our own CA, which is made beside the server, or given; an agent
 * enrols with a token. `given`: agents bring certificates that `caFile` has signed, and nobody enrols.
 */
export type ClientCertificates =
  | {
      readonly type: 'issued';
      readonly signing?: { readonly certFile: string; readonly keyFile: string };
      readonly lifetimeSeconds: number;
    }
  | { readonly type: 'given'; readonly caFile: string };

/** How long certificates of agents are good for unless something else is said: 90 days. */
export const CLIENT_CERTIFICATE_SECONDS = 7_776_000;

/** `generated`: made on first start, for the host's own names and these. */
export type CertificateSource =
  | { readonly type: 'generated'; readonly names: readonly string[] }
  | { readonly type: 'files'; readonly certFile: string; readonly keyFile: string; readonly caFile: string };

/** Where status commits go: the repository of a git source (absent: the first one), or another one. */
export type StatusTarget =
  | { readonly type: 'source'; readonly source?: SourceName }
  | { readonly type: 'url'; readonly url: string };

/** How far a FleetPolicy may loosen what protects the fleet. What is absent is not bounded. */
export interface PolicyBounds {
  readonly guards: Partial<GuardLimits>;
  readonly safeModes: readonly FleetPolicy['safeMode']['mode'][];
}

/** Where the ledger and the snapshots are kept. */
export type StoreConfig =
  | { readonly type: 'memory' }
  | { readonly type: 'sqlite'; readonly path?: string }
  | RedisStoreConfig;

/** A Redis server, or several behind sentinels. */
export interface RedisStoreConfig {
  readonly type: 'redis';
  /** The server; with `sentinel`: the sentinels. */
  readonly nodes: readonly RedisNode[];
  readonly sentinel?: {
    /** The name that the sentinels know the master by. */
    readonly master: string;
    readonly username?: UsernameReference;
    readonly password?: SecretReference;
  };
  readonly username?: UsernameReference;
  readonly password?: SecretReference;
  readonly database: number;
  /** Present: the connection is encrypted. */
  readonly tls?: RedisTls;
  /** Of every key, without the separator. */
  readonly prefix: string;
}

export interface RedisNode {
  readonly host: string;
  readonly port: number;
}

export interface RedisTls {
  /** Certificates (PEM) to trust instead of the machine's. */
  readonly caFile?: string;
  /** Client certificate, together with `keyFile`. */
  readonly certFile?: string;
  readonly keyFile?: string;
  /** Name that the certificate must be for; absent: the host that is dialled. */
  readonly serverName?: string;
}

/** Whether several servers work as one fleet's server, and how they elect their leader. */
export interface ReplicasConfig {
  readonly mode: 'one' | 'several';
  readonly lease: 'store' | 'kubernetes';
  /** HOST:PORT or URL of this replica's HTTP, for the clients of the others. */
  readonly advertise?: string;
}

/** What a person may do: `read` asks, `operate` also acts. */
export type Role = 'read' | 'operate';

/** Somebody who shows a token. */
export interface PersonConfig {
  readonly name: string;
  readonly role: Role;
  readonly token: SecretReference;
}

/** The API for people and the hooks. */
export interface HttpConfig {
  readonly listen: BindAddress;
  readonly people: readonly PersonConfig[];
  /** `clientCaFile`: people may show a certificate: its CN is the name, its O `fleetrelay:read` or `fleetrelay:operate`. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string; readonly clientCaFile?: string };
}

/** What agents connect to. */
export interface RelayListenConfig {
  readonly listen: BindAddress;
  readonly tls: RelayTls;
  /** What tokens of clusters are derived from; every one counts, the first makes new ones. At most two; none: one is made. */
  readonly secrets: readonly SecretReference[];
  /** One token for all, as in Gloo's setups: it can enrol a name that is not bound, and nothing else. */
  readonly sharedToken?: SecretReference;
}

/** What the server's own file says, with defaults filled in. Paths are as written: relative to the file's folder. */
export interface RelayConfig {
  readonly fleet: FleetName;
  readonly dataDirectory: string;
  /** In order: of two declarations of one key the earlier source wins. Custom resources come last. */
  readonly sources: readonly SourceConfig[];
  readonly store: StoreConfig;
  readonly replicas: ReplicasConfig;
  readonly relay: RelayListenConfig;
  readonly http: HttpConfig;
  /** Health and metrics, for whoever can connect. */
  readonly metrics: { readonly listen: BindAddress };
  /** Where acts of people are noted; absent: audit.log in the data directory. */
  readonly audit: { readonly file?: string };
  readonly statusGit: {
    readonly enabled: boolean;
    readonly target: StatusTarget;
    readonly branch: string;
    readonly credentials?: CredentialReferences;
    readonly author: { readonly name: string; readonly email: string };
  };
  /** Status and events of custom resources, where they are a source. */
  readonly statusKubernetes: { readonly enabled: boolean };
  readonly bounds: PolicyBounds;
}
