import type { FleetPolicy, GuardLimits } from './desired.ts';
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
      readonly kinds: readonly CustomKindName[];
    };

/** The kinds that custom resources can have. */
export const customKindNames = ['KubernetesCluster', 'Placement', 'FleetPolicy', 'Dataplane', 'Shoot'] as const;
export type CustomKindName = (typeof customKindNames)[number];

/** An address to listen on; port 0 lets the system choose. */
export interface BindAddress {
  readonly address: string;
  readonly port: number;
}

/** How the connection of agents is secured. */
export type RelayTls = { readonly mode: 'none' } | { readonly mode: 'server'; readonly certificate: CertificateSource };

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

/** What the server's own file says, with defaults filled in. Paths are as written: relative to the file's folder. */
export interface RelayConfig {
  readonly fleet: FleetName;
  readonly dataDirectory: string;
  /** In order: of two declarations of one key the earlier source wins. Custom resources come last. */
  readonly sources: readonly SourceConfig[];
  readonly store: { readonly type: 'memory' } | { readonly type: 'sqlite'; readonly path?: string };
  readonly relay: { readonly listen: BindAddress; readonly secretFile?: string; readonly tls: RelayTls };
  readonly http: { readonly listen: BindAddress; readonly tokenFile?: string };
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
