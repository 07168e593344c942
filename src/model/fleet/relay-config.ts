import type { ClusterSize } from '../limits/quotas.ts';
import type { RevisionLimits } from '../limits/revision-limits.ts';
import type { FleetPolicy, GuardLimits } from './desired.ts';
import type { DriftMode } from './drift.ts';
import type { CustomKind } from './engine-kinds.ts';
import type { FleetName, SourceName } from './ids.ts';
import type { SourceAllow } from './source-rights.ts';

/** Where a secret is; never the secret itself. */
export type SecretReference =
  | { readonly type: 'env'; readonly name: string }
  | { readonly type: 'file'; readonly path: string };

/** A user name is no secret: the configuration may hold its text. */
export type UsernameReference = SecretReference | { readonly type: 'text'; readonly text: string };

/** Credentials for a git server: a password with a user name, or a token with or without one. */
export interface CredentialReferences {
  readonly username?: UsernameReference;
  readonly password?: SecretReference;
  readonly token?: SecretReference;
}

/** How a host is reached by SSH: absolute paths of files that each connection reads as they are then. */
export interface SshFiles {
  /** The private key, without a passphrase. */
  readonly keyFile: string;
  /** The public keys of the host; no other is accepted. */
  readonly knownHostsFile: string;
}

/** A source of desired state, and what its documents may say. */
export type SourceConfig = SourceLocation & { readonly allow?: SourceAllow };

type SourceLocation =
  | {
      readonly type: 'git';
      readonly name: SourceName;
      /** http(s) address, SSH address or local path, without credentials. */
      readonly url: string;
      /** Absent: the repository's default branch. */
      readonly branch?: string;
      /** Sub-folder, without slashes at the ends; empty for the whole tree. */
      readonly path: string;
      readonly credentials?: CredentialReferences;
      /** Present exactly for an SSH address. */
      readonly ssh?: SshFiles;
      /** Certificates (PEM) to trust instead of the machine's. */
      readonly caFile?: string;
      readonly pollIntervalSeconds: number;
      readonly hookSecret?: SecretReference;
      /** Absent: pull requests are not planned. Present only with `branch` and `hookSecret`. */
      readonly pullRequests?: PullRequestsConfig;
    }
  | { readonly type: 'files'; readonly name: SourceName; readonly path: string }
  | {
      readonly type: 'kubernetes';
      readonly name: SourceName;
      /** Absent, and no context: the cluster that the server runs in, else kubectl's rules. */
      readonly kubeconfig?: string;
      readonly context?: string;
      /** Absent: all. */
      readonly namespaces?: readonly string[];
      readonly kinds: readonly CustomKind[];
    };

/** The pull requests of a repository at a host, and what is done about them. */
export interface PullRequestsConfig {
  readonly host: 'github' | 'gitlab' | 'gitea';
  /** Address of its API, without a slash at the end. */
  readonly apiUrl: string;
  /** Path of the repository at the host. */
  readonly repository: string;
  readonly token: SecretReference;
  /** Certificates (PEM) to trust instead of the machine's. */
  readonly caFile?: string;
  readonly comment: boolean;
  readonly status: boolean;
  /** Whether pull requests from other repositories are planned. */
  readonly forks: boolean;
}

/** An address to listen on; port 0 lets the system choose. */
export interface BindAddress {
  readonly address: string;
  readonly port: number;
}

/**
 * Security of the agents' connections. `mtls`: server and agent show a certificate. `tls`: the server shows a certificate,
 * the agent a token. `insecure`: plain text, on loopback only unless `confirmed`.
 */
export type RelayTls =
  | { readonly mode: 'insecure'; readonly confirmed: boolean }
  | { readonly mode: 'tls'; readonly certificate: CertificateSource }
  | { readonly mode: 'mtls'; readonly certificate: CertificateSource; readonly clients: ClientCertificates };

/**
 * The authority of the agents' certificates. `issued`: the server issues them to agents that enrol with a token, by its own
 * CA or by `signing`. `given`: agents have certificates of the CA in `caFile`, and do not enrol.
 */
export type ClientCertificates =
  | {
      readonly type: 'issued';
      readonly signing?: { readonly certFile: string; readonly keyFile: string };
      readonly lifetimeSeconds: number;
    }
  | { readonly type: 'given'; readonly caFile: string };

/** Default lifetime of agents' certificates: 90 days. */
export const CLIENT_CERTIFICATE_SECONDS = 7_776_000;

/** The server's certificate. `generated`: made on first start, for the names of the host and for `names`. */
export type CertificateSource =
  | { readonly type: 'generated'; readonly names: readonly string[] }
  | { readonly type: 'files'; readonly certFile: string; readonly keyFile: string; readonly caFile: string };

/** Bounds of a FleetPolicy's guards, safe mode and care. A guard without a bound may have any limit. */
export interface PolicyBounds {
  readonly guards: Partial<GuardLimits>;
  readonly safeModes: readonly FleetPolicy['safeMode']['mode'][];
  /** Whether a policy may let agents change webhooks that others own. */
  readonly webhookRemediator: boolean;
  /** Of the policy's `drift`; absent: the policy decides. */
  readonly ignoreLiveOptOuts?: boolean;
  /** The mode of the policy's `drift`, which Placements and manifests cannot change then; absent: these decide. */
  readonly driftMode?: DriftMode;
  /** Which approvals of held removals count; absent: all. */
  readonly approvals?: readonly ApprovalWay[];
}

/**
 * How held removals are approved. `file`: by a RemovalApproval in a source. `signedFile`: by one that came with a commit of an
 * approval signer. `api`: by a person through the API.
 */
export type ApprovalWay = 'file' | 'signedFile' | 'api';

/** Whose signatures of commits approve removals, as git verifies them. At least one of the files is named. */
export interface ApprovalSigners {
  /** Their SSH keys: absolute path of a file in the format "ALLOWED SIGNERS" of ssh-keygen. */
  readonly allowedSignersFile?: string;
  /** Their OpenPGP keys: absolute path of a file as `gpg --export` writes it. */
  readonly openpgpKeysFile?: string;
}

/** The store of ledger and snapshots. */
export type StoreConfig =
  | { readonly type: 'memory' }
  | { readonly type: 'sqlite'; readonly path?: string }
  | RedisStoreConfig;

/** A Redis server, or several behind sentinels. */
export interface RedisStoreConfig {
  readonly type: 'redis';
  /** The server, or with `sentinel` the sentinels. */
  readonly nodes: readonly RedisNode[];
  readonly sentinel?: {
    /** Name of the master at the sentinels. */
    readonly master: string;
    readonly username?: UsernameReference;
    readonly password?: SecretReference;
  };
  readonly username?: UsernameReference;
  readonly password?: SecretReference;
  readonly database: number;
  /** Present: the connection is encrypted. */
  readonly tls?: RedisTls;
  /** Prefix of every key, without the separator. */
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
  /** Name that the certificate must have; absent: the host that is dialled. */
  readonly serverName?: string;
}

/** Whether the fleet has several servers, and how they elect their leader. */
export interface ReplicasConfig {
  readonly mode: 'one' | 'several';
  readonly lease: 'store' | 'kubernetes';
  /** HOST:PORT or URL of this replica's API, for clients of other replicas. */
  readonly advertise?: string;
}

/** Rights of a person: `read` may ask, `operate` may also act. */
export type Role = 'read' | 'operate';

/** A person who shows a token. */
export interface PersonConfig {
  readonly name: string;
  readonly role: Role;
  readonly token: SecretReference;
}

/** The API for people and the hooks. */
export interface HttpConfig {
  /** `socket`: absolute path of a Unix socket. */
  readonly listen: BindAddress | { readonly socket: string };
  readonly people: readonly PersonConfig[];
  /** `clientCaFile`: people may show a certificate with their name as CN and `fleetrelay:read` or `fleetrelay:operate` as O. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string; readonly clientCaFile?: string };
}

/** The listener for agents. */
export interface RelayListenConfig {
  readonly listen: BindAddress;
  readonly tls: RelayTls;
  /** Tokens of clusters are derived from the first; tokens of every one are valid. At most two; none: the server makes one. */
  readonly secrets: readonly SecretReference[];
  /** One token for all clusters, as in Gloo's setups: it can enrol a name that is not bound, and nothing else. */
  readonly sharedToken?: SecretReference;
}

/** The listener for Envoys. */
export interface XdsConfig {
  readonly listen: BindAddress;
  /** The clusters that endpoints for Envoys come from, besides the declared data planes. */
  readonly endpointsFromClusters: readonly string[];
}

/** The server's configuration, with defaults. */
export interface RelayConfig {
  readonly fleet: FleetName;
  readonly dataDirectory: string;
  /** In order: of two declarations of one key the earlier source wins. Custom resources come last. */
  readonly sources: readonly SourceConfig[];
  readonly store: StoreConfig;
  readonly replicas: ReplicasConfig;
  readonly relay: RelayListenConfig;
  readonly http: HttpConfig;
  /** The listener for Envoys; absent: there is none. */
  readonly xds?: XdsConfig;
  /** Listener for health and metrics, without authentication. */
  readonly metrics: { readonly listen: BindAddress };
  /** `file`: the audit log; absent: audit.log in the data directory. It is kept in `files` files of at most `fileBytes` each. */
  readonly audit: { readonly file?: string; readonly fileBytes: number; readonly files: number };
  readonly statusGit: {
    readonly enabled: boolean;
    /** Repository of the branch; absent: the repository of a git source. */
    readonly url?: string;
    /** The git source; absent: the first one. */
    readonly source?: string;
    readonly branch: string;
    readonly credentials?: CredentialReferences;
    /** Absent: of the source whose repository it is, if that has an SSH address. */
    readonly ssh?: SshFiles;
    readonly author: { readonly name: string; readonly email: string };
  };
  /** Whether status and events of custom resources are written. */
  readonly statusKubernetes: { readonly enabled: boolean };
  readonly bounds: PolicyBounds;
  /** Present exactly when approvals in signed files count. */
  readonly approvalSigners?: ApprovalSigners;
  readonly git: {
    /** `auto`: native if there is a git program. */
    readonly adapter: 'auto' | 'native' | 'isomorphic';
  };
  readonly limits: {
    /** Of each cluster. */
    readonly cluster: ClusterSize;
    /** For each source. */
    readonly revision: RevisionLimits;
    /** Bytes of the local clone of each repository, with its history. */
    readonly cloneBytes: number;
    /** Most bytes of one delta to a cluster. */
    readonly deltaBytes: number;
  };
}
