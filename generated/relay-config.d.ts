// Generated from schemas/relay-config.json by scripts/generate-schemas.ts. Do not edit; run "npm run generate".
/**
 * Configuration of the management server: sources of desired state, store, listeners, and bounds of the FleetPolicy. The server reads it from a file of its own, never from a repository.
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
 * Folder of the server's data: store, secrets, certificates, clones. Relative to the folder of this file.
 */
dataDirectory: string
/**
 * Sources of desired state. If two declarations conflict, the earlier source wins; custom resources are always the last sources.
 * 
 * @minItems 1
 * @maxItems 100
 */
sources: Source[]
store: Store
replicas: Replicas
relay: Relay
http: Http
xds?: Xds
metrics: Metrics
audit: Audit
status: StatusSinks
git: Git
limits: Limits
bounds: Bounds
}
/**
 * The fleet that this server manages.
 */
export interface Fleet {
/**
 * Name of the fleet, a DNS label. It is stamped on every applied object and is a part of the status branch's name. Two fleets never change each other's objects.
 */
name: string
}
/**
 * A source of desired state.
 */
export interface Source {
/**
 * Name of the source, a DNS label; unique.
 */
name: string
allow?: SourceAllow
git?: GitSource
files?: FilesSource
kubernetes?: KubernetesSource
}
/**
 * What the documents of the source may say. In every list, * stands for any characters. Without it, an only source may say everything. Of several sources the first one may, too, except that a Placement selects files of its own source only; documents of the others may not be of the kinds KubernetesCluster, FleetPolicy, ServiceMirror, RemovalApproval, Dataplane and Shoot. (Sources of custom resources come last.) A document that is refused has no effect and is reported. What was in force before stays, and nothing is removed: to narrow a list deletes nothing.
 */
export interface SourceAllow {
/**
 * Only documents of these kinds, as Kind.group; a kind of the core group or one that the engine reads also as Kind. By default the first source may have every kind, and the others all but KubernetesCluster, FleetPolicy, ServiceMirror, RemovalApproval, Dataplane and Shoot. Another source than the first one has Shoots only of clusters (and Seeds) that it declares itself, or that a source of files declares.
 * 
 * @maxItems 1000
 */
kinds?: string[]
/**
 * Only objects in these namespaces; of Namespaces the name counts. Other objects without a namespace then need their kind in kinds. By default all.
 * 
 * @maxItems 1000
 */
namespaces?: string[]
/**
 * Only these keys of labels of KubernetesClusters, by which Placements of others may select. By default all for the first source, none for the others.
 * 
 * @maxItems 1000
 */
labelKeys?: string[]
/**
 * Only KubernetesClusters with these names. Also allows the kind KubernetesCluster, unless kinds is given. By default all.
 * 
 * @maxItems 1000
 */
declares?: string[]
/**
 * Only Dataplanes of these meshes; their kind has to be in kinds. By default all for the first source, none for the others.
 * 
 * @maxItems 1000
 */
meshes?: string[]
/**
 * Only Dataplanes with these services (kuma.io/service). By default all of its meshes. The first of the sources with an endpoint of a service has the service, where data planes of clusters count for the first source; endpoints of another source count only if it names the service here without *, or the owner in files.
 * 
 * @maxItems 1000
 */
services?: string[]
/**
 * Only these clusters are reached by its Placements, its folders clusters/NAME, its ServiceMirrors (from and to) and its Shoots (the cluster and the Seed). By default all.
 * 
 * @maxItems 1000
 */
targets?: string[]
/**
 * Other sources whose files its Placements select, by exact name. By default none.
 * 
 * @maxItems 1000
 */
files?: string[]
}
/**
 * A branch of a git repository.
 */
export interface GitSource {
/**
 * http(s) address, SSH address (USER@HOST:PATH or ssh://USER@HOST:PORT/PATH, with ssh), or path of a local repository relative to the folder of this file. It must not hold a password, nor an http(s) address a user; they belong under credentials.
 */
url: string
/**
 * The branch; by default the repository's default branch.
 */
branch?: string
/**
 * Sub-folder of the repository with the desired state; paths of Placements are relative to it.
 */
path: string
credentials?: Credentials
ssh?: Ssh
/**
 * Certificates (PEM) to trust instead of the machine's, for an https address. Relative to the folder of this file.
 */
caFile?: string
/**
 * Seconds between two looks at the repository.
 */
pollIntervalSeconds: number
hook?: Hook
pullRequests?: PullRequests
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
 * Key and known hosts for an SSH address, which only the git program can use. Each connection reads both files as they are then.
 */
export interface Ssh {
/**
 * File with the private key (a deploy key), without a passphrase. Relative to the folder of this file.
 */
keyFile: string
/**
 * File with the host's public keys, as ssh-keyscan writes it; no other key is accepted. Relative to the folder of this file.
 */
knownHostsFile: string
}
/**
 * The hook /hooks/git, which triggers a look at the repository at once. Without it callers need a token of the API with the role operate.
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
 * Pull requests (at GitLab: merge requests) into the branch: the hook of the source makes the server plan them, comment on them, and set the status of their newest commit. Needs branch and hook.
 */
export interface PullRequests {
/**
 * API of the host; gitea is also for Forgejo.
 */
host: ("github" | "gitlab" | "gitea")
/**
 * http(s) address of the API; by default at the host of url: https://api.github.com for github.com, else the paths /api/v3 (github), /api/v4 (gitlab) and /api/v1 (gitea).
 */
apiUrl?: string
/**
 * Path of the repository at the host; by default the path of url without .git.
 */
repository?: string
/**
 * Environment variable with the token of an account of its own.
 */
tokenEnv?: string
/**
 * File with the token of an account of its own. Relative to the folder of this file.
 */
tokenFile?: string
/**
 * Certificates (PEM) to trust instead of the machine's, for an https address; by default the caFile of the repository. Relative to the folder of this file.
 */
caFile?: string
/**
 * Whether the plan is written into a comment, which later plans replace.
 */
comment: boolean
/**
 * Whether the status of the newest commit is set.
 */
status: boolean
/**
 * Whether pull requests from other repositories are planned: then each person who may open one makes the server read and evaluate files of their choice.
 */
forks: boolean
}
/**
 * A folder that is watched.
 */
export interface FilesSource {
/**
 * The folder. Relative to the folder of this file.
 */
path: string
}
/**
 * The custom resources of a cluster. In a conflict, declarations of all other sources win, whatever the order of the sources.
 */
export interface KubernetesSource {
/**
 * kubeconfig file of the cluster; by default the cluster that the server runs in, else kubectl's rules. Relative to the folder of this file.
 */
kubeconfig?: string
/**
 * Context of the kubeconfig; by default its current one.
 */
context?: string
/**
 * Only custom resources of these namespaces; by default all. Users who may write custom resources there control the fleet.
 * 
 * @minItems 1
 * @maxItems 100
 */
namespaces?: string[]
/**
 * Only these kinds; by default all. While the definition of one of them is not installed, the source removes nothing.
 * 
 * @minItems 1
 * @maxItems 6
 */
kinds?: ("KubernetesCluster" | "Placement" | "ServiceMirror" | "FleetPolicy" | "Dataplane" | "Shoot")[]
}
/**
 * Store of the ledger and the snapshots.
 */
export interface Store {
/**
 * sqlite: a file. memory: nothing outlasts a restart; the ledger is rebuilt from the agents. redis: shared by several replicas.
 */
type: ("sqlite" | "memory" | "redis")
/**
 * File of the sqlite store; by default store.db in the data directory. Relative to the folder of this file.
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
 * Prefix of every key; with different prefixes, several fleets can share a server.
 */
prefix: string
tls?: RedisTls
}
/**
 * The nodes are sentinels, which name the master.
 */
export interface RedisSentinel {
/**
 * Name of the master at the sentinels.
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
 * If given, also if empty, the connection is encrypted.
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
 * Name that the certificate of the server must have; by default the host that is dialled.
 */
serverName?: string
}
/**
 * Several servers of one fleet, which share a store.
 */
export interface Replicas {
/**
 * several: other replicas may run beside this one; needs a store of the type redis, where it is the default. one: this is the only server.
 */
mode?: ("one" | "several")
/**
 * Where the leader is elected. kubernetes: a Lease of the cluster that the server runs in.
 */
lease: ("store" | "kubernetes")
/**
 * HOST:PORT or URL of this replica's API. Other replicas name it to clients while this one is the leader.
 */
advertise?: string
}
/**
 * The listener for agents, and its trust.
 */
export interface Relay {
listen: RelayListen
/**
 * Secrets from which the tokens of clusters are derived; by default one is made on first start. New tokens are derived from the first, and tokens of both are valid. To replace a secret, put the new one first, and keep the old one until every agent has a new token.
 * 
 * @minItems 1
 * @maxItems 2
 */
secrets?: RelaySecret[]
sharedToken?: SharedToken
tls: RelayTls
}
/**
 * Address of the listener for agents.
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
 * A token with which every cluster can enrol whose name is not bound yet, as in Gloo's setups. It is valid for nothing else.
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
 * Security of the agents' connections.
 */
export interface RelayTls {
/**
 * mtls: server and agent show a certificate; a token is valid for enrolling only. tls: the server shows a certificate, the agent its token. insecure: plain text, on loopback only.
 */
mode: ("mtls" | "tls" | "insecure")
certificate?: ServerCertificate
/**
 * Host names and IP addresses of a generated certificate, beside the names and addresses of the host.
 */
names: string[]
clients?: ClientCertificates
/**
 * With mode insecure: plain text on any address, not only on loopback.
 */
insecureListenAnywhere: boolean
}
/**
 * The server's certificate; by default one is made on first start.
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
 * CA certificate (PEM) of certificates that agents already have; then agents do not enrol. Relative to the folder of this file.
 */
caFile?: string
signing?: SigningCertificate
/**
 * Lifetime of an agent's certificate in seconds. It is renewed at two thirds of its life.
 */
lifetimeSeconds: number
}
/**
 * CA that signs certificates of agents; by default one is made on first start.
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
 * The API, which the commands use, and hooks.
 */
export interface Http {
listen: HttpListen
/**
 * People who may use the API, each with a token. Without people and client certificates, callers need the token that the server makes at each start: api-token in its data directory.
 * 
 * @minItems 1
 * @maxItems 1000
 */
people?: Person[]
tls?: HttpTls
}
/**
 * Address of the listener. An address that is not loopback needs people or client certificates. Without them the server makes a token for callers on its machine.
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
/**
 * Unix socket to listen on instead of address and port, without TLS. Callers who may open its file (mode 0600) may do everything. Relative to the folder of this file.
 */
socket?: string
}
/**
 * A person who shows a token.
 */
export interface Person {
/**
 * Name of the person in the audit log; unique.
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
 * Certificate (PEM) with its intermediate certificates. Relative to the folder of this file.
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
 * The listener for Envoys of declared data planes: they report health (HDS) and receive endpoints (EDS). Without this field there is none. relay.tls holds for it too.
 */
export interface Xds {
listen: XdsListen
/**
 * Clusters whose endpoints (of Pods and live Dataplanes) Envoys receive, besides endpoints of declared data planes.
 * 
 * @maxItems 1000
 */
endpointsFromClusters: string[]
}
/**
 * Address of the listener. With relay.tls.mode insecure it must be loopback.
 */
export interface XdsListen {
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
 * Health (/healthz, /readyz) and metrics (/metrics), without authentication.
 */
export interface Metrics {
listen: MetricsListen
}
/**
 * Address of the listener.
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
 * The log of acts of people.
 */
export interface Audit {
/**
 * File with a JSON document a line; by default audit.log in the data directory. Relative to the folder of this file.
 */
file?: string
/**
 * A file that would have more bytes becomes FILE.1, and a new one begins.
 */
fileBytes: number
/**
 * Files that are kept, with the current one; of more the oldest is removed.
 */
files: number
}
/**
 * Targets of status.
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
 * Name of the git source whose repository has the status branch; by default the first git source. Not together with url.
 */
source?: string
/**
 * Another repository for the status branch, as in sources; a path is relative to the folder of this file.
 */
url?: string
/**
 * The status branch; by default fleetrelay/status/ and the fleet's name. It must not be a branch that is read as desired state.
 */
branch?: string
credentials?: Credentials
ssh?: Ssh
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
 * Status and events of custom resources.
 */
export interface KubernetesStatus {
/**
 * Whether they are written.
 */
enabled: boolean
}
/**
 * How repositories are read and written.
 */
export interface Git {
/**
 * native: the git program, 2.31 or newer. isomorphic: isomorphic-git, which needs no program, holds what it fetches in memory, and reads no local or SHA-256 repositories and no signatures. auto: the git program if there is one on the PATH.
 */
adapter: ("auto" | "native" | "isomorphic")
}
/**
 * How much the server keeps. What would exceed a limit waits, with a condition that names it, and what was there stays.
 */
export interface Limits {
cluster: ClusterLimits
revision: RevisionLimits
/**
 * Disk for the local clone of each repository, with its history. A fetch that would need more is ended, and tried again when the remote has changed. While a clone is replaced there are two.
 */
cloneBytes: number
/**
 * Largest size of one delta to a cluster, in bytes. A larger change is sent in several deltas, each after the agent has accepted the one before; removals are in the last one. An object above this size has a delta of its own. Agents hold one delta in memory.
 */
deltaBytes: number
}
/**
 * Quotas of each cluster. An input of an agent that leads above one is refused: the input snapshot of before stays, and the cluster has the condition WithinLimits=False.
 */
export interface ClusterLimits {
/**
 * Largest number of live objects that an agent reports, and of objects in its inventory.
 */
objects: number
/**
 * Largest size of the live objects in bytes, with their keys and what is said of their kinds.
 */
bytes: number
/**
 * Largest number of kinds.
 */
kinds: number
}
/**
 * What one revision of a source may hold, for each source. A revision above a limit waits with the reason TooLarge until a smaller one comes, or the limit is raised and the server restarted. `fleetrelay validate` judges by the defaults.
 */
export interface RevisionLimits {
/**
 * Files and folders of the repository or its sub-folder, manifests or not. Their paths may have 256 bytes for each of these together.
 */
entries: number
/**
 * Levels of folders.
 */
depth: number
/**
 * Manifests.
 */
files: number
/**
 * Bytes of all manifests together. Content that several paths have counts for each of them.
 */
bytes: number
/**
 * Documents of all manifests; each item of a List counts.
 */
documents: number
/**
 * Scalars, lists, mappings and keys of all manifests, as often as aliases repeat them.
 */
nodes: number
/**
 * Bytes of all documents as JSON, as often as aliases repeat them.
 */
expandedBytes: number
/**
 * Errors and warnings of all manifests.
 */
findings: number
/**
 * Steps of matching paths: each path of a manifest, ignored or not, against all ignore rules, and each manifest against the globs of all Placements of the source. A step is a character that may be compared; a rule as `*.tmp.yaml` needs some hundred for a path.
 */
matchingSteps: number
}
/**
 * Bounds of a FleetPolicy in a repository. A value beyond its bound is reported, and the bound is used.
 */
export interface Bounds {
guards: GuardBounds
safeMode: SafeModeBounds
/**
 * Which approvals of held removals count. file: a RemovalApproval in a source that may have one. signedFile: a RemovalApproval whose content came with a commit that one of the approvalSigners has signed. api: a person who approves by command or through the HTTP API. The name of a commit's author proves nothing, so with file anyone who may push can approve removals of his own.
 * 
 * @minItems 1
 */
approvals: ("file" | "signedFile" | "api")[]
approvalSigners?: ApprovalSigners
drift: DriftBounds
care: CareBounds
}
/**
 * The loosest limits that a FleetPolicy may set; a limit that is left out is not bounded.
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
 * Modes that a FleetPolicy may set.
 */
export interface SafeModeBounds {
/**
 * Allowed modes.
 * 
 * @minItems 1
 */
modes: ("strict" | "scoped" | "off")[]
}
/**
 * Whose signatures of commits approve removals, with approvals: [signedFile]. The server runs git, which needs ssh-keygen or gpg. The files belong to the server: no repository names a signer.
 */
export interface ApprovalSigners {
/**
 * File with their SSH keys, a line each, in the format of gpg.ssh.allowedSignersFile of git: NAME [OPTIONS] KEY. It is read for each commit that brings an approval. A commit chooses its own date, so valid-before does not stop the holder of a key: delete its line.
 */
allowedSignersFile?: string
/**
 * File with their OpenPGP public keys, as gpg --export writes it. It is read when the server starts.
 */
openpgpKeysFile?: string
}
/**
 * What a FleetPolicy may say of drift.
 */
export interface DriftBounds {
/**
 * Sets drift.mode for the fleet. FleetPolicies, Placements and the annotation fleetrelay.dev/drift cannot change it then. Left out: they decide.
 */
mode?: ("Repair" | "Report")
/**
 * What drift.ignoreLiveOptOuts is, whatever a FleetPolicy says. Left out: the policy decides.
 */
ignoreLiveOptOuts?: boolean
}
/**
 * What a FleetPolicy may switch on in the care of Shoots.
 */
export interface CareBounds {
/**
 * Whether a FleetPolicy may let agents change problematic webhooks of others (care.webhookRemediatorEnabled). The agent needs the right for it, too.
 */
webhookRemediator: boolean
}

import type { SchemaValidator } from '../src/manifest/schema-validator.ts';
export declare const validate: SchemaValidator<RelayConfig>;
