// Generated from schemas/relay-config.json by scripts/generate-schemas.ts. Do not edit; run "npm run generate".
/**
 * The management server's own file: where desired state comes from, where state is kept, what is listened on, and how far a repository may loosen the policy. It lies with the server, never in a repository.
 */
export interface RelayConfig {
/**
 * Group and version of the kind.
 */
apiVersion: "fleetrelay.dev/v1alpha1"
/**
 * The kind.
 */
kind: "RelayConfig"
fleet: Fleet
/**
 * Folder for what the server keeps: store, secrets, certificates, clones. Relative to the folder of this file.
 */
dataDirectory: string
/**
 * Where desired state comes from, in the order in which an earlier one wins a conflict; custom resources always come last.
 * 
 * @minItems 1
 * @maxItems 100
 */
sources: Source[]
store: Store
replicas: Replicas
relay: Relay
http: Http
metrics: Metrics
audit: Audit
status: StatusSinks
bounds: Bounds
}
/**
 * The fleet that this server manages.
 */
export interface Fleet {
/**
 * Name of the fleet, a DNS label; stamped on every object, and it names the status branch. Two fleets never take each other's objects.
 */
name: string
}
/**
 * A place that desired state comes from.
 */
export interface Source {
/**
 * Name of the source, a DNS label, unlike the others.
 */
name: string
git?: GitSource
files?: FilesSource
kubernetes?: KubernetesSource
}
/**
 * A branch of a git repository.
 */
export interface GitSource {
/**
 * http(s) address, or path of a local repository. Without user and password: those go under credentials.
 */
url: string
/**
 * The branch; the repository's default branch if left out.
 */
branch?: string
/**
 * Sub-folder of the repository that holds the desired state; paths of Placements begin there.
 */
path: string
credentials?: Credentials
/**
 * Certificates (PEM) to trust instead of the machine's, for an https address. Relative to the folder of this file.
 */
caFile?: string
/**
 * Seconds between two looks at the repository.
 */
pollIntervalSeconds: number
hook?: Hook
}
/**
 * User name and password, or a token. A password or token is in the environment or a file, never in this file.
 */
export interface Credentials {
/**
 * User name.
 */
username?: string
/**
 * Environment variable with the user name.
 */
usernameEnv?: string
/**
 * File with the user name. Relative to the folder of this file.
 */
usernameFile?: string
/**
 * Environment variable with the password.
 */
passwordEnv?: string
/**
 * File with the password. Relative to the folder of this file.
 */
passwordFile?: string
/**
 * Environment variable with the token.
 */
tokenEnv?: string
/**
 * File with the token. Relative to the folder of this file.
 */
tokenFile?: string
}
/**
 * The hook /hooks/git, which triggers a look at once.
 */
export interface Hook {
/**
 * Environment variable with the HMAC secret.
 */
secretEnv?: string
/**
 * File with the HMAC secret. Relative to the folder of this file.
 */
secretFile?: string
}
/**
 * A plain folder that is watched.
 */
export interface FilesSource {
/**
 * The folder. Relative to the folder of this file.
 */
path: string
}
/**
 * The custom resources of a cluster. Wherever it stands in the list, it comes after all others when two declarations are in conflict.
 */
export interface KubernetesSource {
/**
 * File that names the cluster; what kubectl takes if left out, or the cluster that the server runs in. Relative to the folder of this file.
 */
kubeconfig?: string
/**
 * Context of the kubeconfig; its current one if left out.
 */
context?: string
/**
 * Only what lies in these namespaces; all namespaces if left out. Whoever may write custom resources there decides about the fleet.
 * 
 * @minItems 1
 * @maxItems 100
 */
namespaces?: string[]
/**
 * Only these kinds; all of them if left out. While one of them is not installed, the source removes nothing.
 * 
 * @minItems 1
 * @maxItems 6
 */
kinds?: ("KubernetesCluster" | "Placement" | "ServiceMirror" | "FleetPolicy" | "Dataplane" | "Shoot")[]
}
/**
 * Where the ledger and the snapshots are kept.
 */
export interface Store {
/**
 * sqlite: a file. memory: nothing outlasts a restart; the ledger is rebuilt from the agents. redis: shared by several replicas.
 */
type: ("sqlite" | "memory" | "redis")
/**
 * File of the sqlite store; store.db in the data directory if left out. Relative to the folder of this file.
 */
path?: string
redis?: RedisStore
}
/**
 * The Redis server of a store of the type redis.
 */
export interface RedisStore {
/**
 * Host and port of the server; with sentinel: of every sentinel.
 * 
 * @minItems 1
 * @maxItems 16
 */
nodes: string[]
sentinel?: RedisSentinel
/**
 * User name at the server.
 */
username?: string
/**
 * Environment variable with the user name at the server.
 */
usernameEnv?: string
/**
 * File with the user name at the server. Relative to the folder of this file.
 */
usernameFile?: string
/**
 * Environment variable with the password at the server.
 */
passwordEnv?: string
/**
 * File with the password at the server. Relative to the folder of this file.
 */
passwordFile?: string
/**
 * Number of the database.
 */
database: number
/**
 * What every key begins with: several fleets can share a server.
 */
prefix: string
tls?: RedisTls
}
/**
 * The nodes are sentinels, which know where the master is.
 */
export interface RedisSentinel {
/**
 * Name that the sentinels know the master by.
 */
master: string
/**
 * User name at the sentinels.
 */
username?: string
/**
 * Environment variable with the user name at the sentinels.
 */
usernameEnv?: string
/**
 * File with the user name at the sentinels. Relative to the folder of this file.
 */
usernameFile?: string
/**
 * Environment variable with the password at the sentinels.
 */
passwordEnv?: string
/**
 * File with the password at the sentinels. Relative to the folder of this file.
 */
passwordFile?: string
}
/**
 * The connection is encrypted if this is here, be it empty.
 */
export interface RedisTls {
/**
 * Certificates (PEM) to trust instead of the machine's. Relative to the folder of this file.
 */
caFile?: string
/**
 * Client certificate (PEM); needs keyFile. Relative to the folder of this file.
 */
certFile?: string
/**
 * Key (PEM) of the client certificate. Relative to the folder of this file.
 */
keyFile?: string
/**
 * Name that the certificate of the server must be for; the host that is dialled if left out.
 */
serverName?: string
}
/**
 * Several servers that work as one; they share a store.
 */
export interface Replicas {
/**
 * several: other replicas may run beside this one; needs a store of the type redis, and is the default there. one: this is the only one.
 */
mode?: ("one" | "several")
/**
 * Where the leader is elected. kubernetes: a Lease of the cluster that the server runs in.
 */
lease: ("store" | "kubernetes")
/**
 * HOST:PORT or URL at which clients reach the API of this replica; others name it when it leads.
 */
advertise?: string
}
/**
 * What agents connect to.
 */
export interface Relay {
listen: RelayListen
/**
 * The secrets that the tokens of clusters are derived from; one is made on first start if left out. Tokens of both are good, which is how a secret is replaced: the new one goes first, the old one stays until every agent has its new token.
 * 
 * @minItems 1
 * @maxItems 2
 */
secrets?: RelaySecret[]
sharedToken?: SharedToken
tls: RelayTls
}
/**
 * Where agents are listened for.
 */
export interface RelayListen {
/**
 * Host name or IP address to bind.
 */
address: string
/**
 * Port; 0 lets the system choose.
 */
port: number
}
/**
 * A secret: at least 64 lower-case hex digits.
 */
export interface RelaySecret {
/**
 * Environment variable with the secret.
 */
secretEnv?: string
/**
 * File with the secret. Relative to the folder of this file.
 */
secretFile?: string
}
/**
 * A token that any cluster may show which is not bound yet, as in the setups of Gloo; good for enrolling only.
 */
export interface SharedToken {
/**
 * Environment variable with the token.
 */
tokenEnv?: string
/**
 * File with the token. Relative to the folder of this file.
 */
tokenFile?: string
}
/**
 * How the connection is secured.
 */
export interface RelayTls {
/**
 * mtls: server and agent show a certificate; a token is good for enrolling only. tls: the server shows a certificate, an agent its token. insecure: plain text, on loopback only.
 */
mode: ("mtls" | "tls" | "insecure")
certificate?: ServerCertificate
/**
 * Host names and IP addresses that a generated certificate is made for, beside the host's own.
 */
names: string[]
clients?: ClientCertificates
/**
 * With mode insecure: plain text on other addresses than loopback, too.
 */
insecureListenAnywhere: boolean
}
/**
 * The server's certificate; one is made on first start if left out.
 */
export interface ServerCertificate {
/**
 * Certificate (PEM). Relative to the folder of this file.
 */
certFile: string
/**
 * Key (PEM). Relative to the folder of this file.
 */
keyFile: string
/**
 * CA certificate (PEM) that agents trust. Relative to the folder of this file.
 */
caFile: string
}
/**
 * The certificates of agents, with mode mtls.
 */
export interface ClientCertificates {
/**
 * CA certificate (PEM) of certificates that agents bring along; nobody enrols then. Relative to the folder of this file.
 */
caFile?: string
signing?: SigningCertificate
/**
 * Seconds that a certificate of an agent is good for; it is renewed at two thirds of it.
 */
lifetimeSeconds: number
}
/**
 * The CA that certificates of agents are signed with; one is made on first start if left out.
 */
export interface SigningCertificate {
/**
 * Certificate (PEM) of the CA. Relative to the folder of this file.
 */
certFile: string
/**
 * Key (PEM) of the CA. Relative to the folder of this file.
 */
keyFile: string
}
/**
 * The API that the commands ask, and hooks.
 */
export interface Http {
listen: HttpListen
/**
 * Who may ask the API, each with a token. Without any, and without client certificates, everybody on this machine may.
 * 
 * @minItems 1
 * @maxItems 1000
 */
people?: Person[]
tls?: HttpTls
}
/**
 * Where HTTP is listened for; another address than loopback demands people or client certificates.
 */
export interface HttpListen {
/**
 * Host name or IP address to bind.
 */
address: string
/**
 * Port; 0 lets the system choose.
 */
port: number
}
/**
 * Somebody who shows a token.
 */
export interface Person {
/**
 * Name, as the audit log has it; unlike the others.
 */
name: string
/**
 * read: may ask. operate: may also approve, accept, replace and suspend.
 */
role: ("read" | "operate")
/**
 * Environment variable with the token.
 */
tokenEnv?: string
/**
 * File with the token. Relative to the folder of this file.
 */
tokenFile?: string
}
/**
 * The API over TLS.
 */
export interface HttpTls {
/**
 * Certificate (PEM), with what is between it and the root. Relative to the folder of this file.
 */
certFile: string
/**
 * Key (PEM). Relative to the folder of this file.
 */
keyFile: string
/**
 * CA certificates (PEM) of people who show a certificate instead of a token: its CN is the name, its O fleetrelay:read or fleetrelay:operate. Relative to the folder of this file.
 */
clientCaFile?: string
}
/**
 * Health (/healthz, /readyz) and metrics (/metrics), open to whoever can connect.
 */
export interface Metrics {
listen: MetricsListen
}
/**
 * Where they are served.
 */
export interface MetricsListen {
/**
 * Host name or IP address to bind.
 */
address: string
/**
 * Port; 0 lets the system choose.
 */
port: number
}
/**
 * The log of what people did.
 */
export interface Audit {
/**
 * File, a JSON document a line; audit.log in the data directory if left out. Relative to the folder of this file.
 */
file?: string
}
/**
 * Where status is written back to.
 */
export interface StatusSinks {
git: GitStatus
kubernetes: KubernetesStatus
}
/**
 * Status as commits on a branch of its own.
 */
export interface GitStatus {
/**
 * Whether status commits are written.
 */
enabled: boolean
/**
 * Name of the git source whose repository takes the status branch; the first git source if left out. Not together with url.
 */
source?: string
/**
 * Another repository that takes the status branch, as in sources.
 */
url?: string
/**
 * The status branch; fleetrelay/status/ and the fleet's name if left out. Never a branch that is read as desired state.
 */
branch?: string
credentials?: Credentials
author: Author
}
/**
 * Author of the status commits.
 */
export interface Author {
/**
 * Name.
 */
name: string
/**
 * E-mail address.
 */
email: string
}
/**
 * Status and events of the custom resources that are read.
 */
export interface KubernetesStatus {
/**
 * Whether they are written.
 */
enabled: boolean
}
/**
 * How far a FleetPolicy in a repository may loosen what protects the fleet; what goes beyond is cut to the bound, and said.
 */
export interface Bounds {
guards: GuardBounds
safeMode: SafeModeBounds
}
/**
 * The loosest limits that a FleetPolicy may set; no bound if left out.
 */
export interface GuardBounds {
/**
 * Bound of guards.maxRemovalsPerCluster.
 */
maxRemovalsPerCluster?: number
/**
 * Bound of guards.maxRemovalPercentPerCluster.
 */
maxRemovalPercentPerCluster?: number
/**
 * Bound of guards.maxRemovalsPerFleet.
 */
maxRemovalsPerFleet?: number
/**
 * Bound of guards.maxRemovalPercentPerFleet.
 */
maxRemovalPercentPerFleet?: number
/**
 * Bound of guards.percentFromOwned.
 */
percentFromOwned?: number
/**
 * The shortest window that a FleetPolicy may set: a shorter one is looser.
 */
windowSeconds?: number
}
/**
 * Which modes a FleetPolicy may set.
 */
export interface SafeModeBounds {
/**
 * Allowed modes.
 * 
 * @minItems 1
 */
modes: ("strict" | "scoped" | "off")[]
}

import type { SchemaValidator } from '../src/manifest/schema-validator.ts';
export declare const validate: SchemaValidator<RelayConfig>;
