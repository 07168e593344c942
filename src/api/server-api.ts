import type { OutcomeCounts, StatusCounts } from '../model/fleet/conditions.ts';
import type { Diagnostic } from '../model/fleet/diagnostic.ts';
import type { Drift, DriftRecord } from '../model/fleet/drift.ts';
import type { ViewFilter } from '../model/fleet/view-filter.ts';
import type { ObjectHealth } from '../model/objects/object-health/health.ts';
import type { JsonObject } from '../model/text/json.ts';
import type { AgentCertificateView, AgentRefusalView, WaitingAgentView } from './agent-views.ts';
import type { Act, Answer } from './answer.ts';
import type { DomainApi } from './domain-api.ts';
import type { DeltaView, HistoryRequest } from './history-api.ts';
import type { SyncedSourcesView } from './sync-api.ts';
import type { ImpactRequest, ImpactView, PlannedRefView, WhyNotView } from './why-api.ts';

/** The API of a running server; HTTP has one route for each function, act and question. */
export interface ServerApi extends DomainApi {
  status(): FleetView;
  clusters(): readonly ClusterView[];
  /** Outputs of all clusters, or of one; undefined: there is no such cluster. */
  outputs(cluster: string | undefined): readonly OutputView[] | undefined;
  /** The objects that one cluster should hold, with content; undefined: there is no such cluster. */
  desired(cluster: string): readonly DesiredView[] | undefined;
  sources(): readonly SourceView[];
  /** The answer to a question that only the leader can answer; undefined: this server can. */
  elsewhere(): Answer<never> | undefined;
  /** Removals that a guard holds; only the leader knows them. */
  removals(): readonly HeldRemovalsView[];
  diagnostics(): readonly Diagnostic[];
  /** Rows of a view; `notFound` names the views that exist. */
  view(name: string, filter: ViewFilter): Answer<readonly JsonObject[]>;
  explain(question: ExplainRequest): Promise<Answer<Explanation>>;
  /** What merging a ref of a source would do; `source` undefined: the only one. Only the leader plans. */
  plan(source: string | undefined, ref: string, signal: AbortSignal): Promise<Answer<PlannedRefView>>;
  /** A recording of the inputs of the engine with the values of Secrets masked, in texts. */
  recording(): Promise<Answer<AsyncIterable<string>>>;
  /** Why an object is not in a cluster. */
  whyNot(question: { readonly cluster: string; readonly object: string }): Promise<Answer<WhyNotView>>;
  /** The clusters and objects that a file reaches. */
  impact(question: ImpactRequest): Promise<Answer<ImpactView>>;
  /** What was sent to a cluster, the newest first. */
  history(question: HistoryRequest): Promise<Answer<readonly DeltaView[]>>;
  approve(digest: string, by: string): Promise<Act<ApprovalView>>;
  accept(source: string, revision: string, by: string): Promise<Act<SourceView>>;
  /** Releases the name for a cluster with another id. */
  replaceCluster(cluster: string, by: string): Promise<Act<ClusterView>>;
  /** Gives a released name back to the cluster that had it, unless another one has come. */
  giveBackCluster(cluster: string, by: string): Promise<Act<ClusterView>>;
  /** Sends nothing to the cluster until it is resumed. A second call replaces the reason. */
  suspendCluster(cluster: string, by: string, reason: string): Promise<Act<ClusterView>>;
  resumeCluster(cluster: string, by: string): Promise<Act<ClusterView>>;
  /** Admits no new revision of the source until it is resumed. */
  suspendSource(source: string, by: string, reason: string): Promise<Act<SourceView>>;
  resumeSource(source: string, by: string): Promise<Act<SourceView>>;
  /** Looks now at one source, or at all (`source` undefined), and says what it found. */
  syncSources(source: string | undefined, by: string): Promise<Act<SyncedSourcesView>>;
  /** Has the agent of a cluster try an object at once, or all that it could not apply or remove (`object` undefined). */
  retryCluster(cluster: string, object: string | undefined, by: string): Promise<Act<RetryView>>;
}

/** Another attempt that a person has asked for. */
export interface RetryView {
  readonly cluster: string;
  /** What is tried, for people. */
  readonly objects: readonly string[];
  /** Why its agent does not try them now; absent: it does. */
  readonly waits?: string;
  /** What has failed and waits, for people, and why. */
  readonly waiting: readonly { readonly object: string; readonly why: string }[];
}

/** A suspension of a cluster or source by a person. */
export interface SuspensionView {
  readonly by: string;
  /** RFC 3339. */
  readonly at: string;
  /** Empty: none was given. */
  readonly reason: string;
}

export interface FleetView {
  readonly fleet: string;
  readonly version: string;
  readonly ready: boolean;
  /** Why the server is not ready; absent: it is. */
  readonly notReady?: readonly string[];
  /** URL of this server's listener for health and metrics, as it is bound; absent: it is not open yet. */
  readonly metricsAddress?: string;
  /** One line: "applied by 2 of 3 clusters; waiting for west: disconnected since 10:42:07Z". It names agents that are away. */
  readonly summary: string;
  readonly sources: readonly SourceView[];
  readonly clusters: readonly ClusterView[];
  readonly heldRemovals: readonly HeldRemovalsView[];
  /** Clusters whose input snapshots are missing and waited for; null: none. */
  readonly safeMode: SafeModeView | null;
  readonly diagnostics: readonly Diagnostic[];
  /** State of the status branch; null: it is switched off. */
  readonly statusBranch: StatusBranchView | null;
  /** This server as one of several that share a store; absent: it is the only one. */
  readonly replica?: ReplicaView;
  /** The last refusals of callers with a cluster name that no source declares, by that name; absent: none. */
  readonly undeclaredAgents?: Readonly<Record<string, AgentRefusalView>>;
  /** Certificates of this server that end soon; absent: none. */
  readonly endingCertificates?: readonly CertificateView[];
}

/** A certificate that ends within 30 days, or has ended. */
export interface CertificateView {
  readonly what: 'server' | 'root' | 'clientRoot';
  /** RFC 3339. */
  readonly expiresAt: string;
  readonly over: boolean;
  /** A sentence that also advises. */
  readonly message: string;
}

/** One of several servers of a fleet. */
export interface ReplicaView {
  readonly id: string;
  /** The leader admits revisions, judges removals, writes status and executes commands. */
  readonly leads: boolean;
  /** `address`: of its API; null: it advertises none. Null: no leader is known. */
  readonly leader: { readonly id: string; readonly address: string | null } | null;
  /** The admission that this server computes from. */
  readonly admitted: { readonly epoch: number; readonly sequence: number };
  /** Servers of the fleet whose last sign of life is recent, this one among them. */
  readonly alive: number;
  /** Why nothing new is admitted or sent; empty: it is. */
  readonly problem: string;
}

/** Safe mode holds changes because input snapshots are missing. */
export interface SafeModeView {
  readonly mode: 'strict' | 'scoped' | 'off';
  /** The clusters that are waited for; never empty. */
  readonly causes: readonly {
    readonly cluster: string;
    /** UpperCamelCase constant. */
    readonly reason: string;
    /** A sentence: which changes are held, and how to end it. */
    readonly message: string;
  }[];
}

export interface StatusBranchView {
  readonly state: 'pending' | 'synced' | 'failing' | 'refused';
  readonly message: string;
  /** The commit that has the last published status. */
  readonly commit: string | null;
}

export interface ClusterView {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly id: string | null;
  /** A person has released the name: the next other cluster gets it, and `id` is refused. */
  readonly released: boolean;
  readonly connected: boolean;
  /** RFC 3339; null: never. */
  readonly connectionSince: string | null;
  readonly warm: boolean;
  readonly inSync: boolean;
  readonly position: { readonly epoch: number; readonly sequence: number };
  readonly counts: OutcomeCounts;
  /** Statuses of objects that fleetrelay does not own, which are counted apart; absent: there are none. */
  readonly statuses?: StatusCounts;
  /** Of `counts.held`: objects that stay as they are because something that decides about them cannot be read or is not allowed. */
  readonly kept: number;
  /** Of `counts.held`: objects that the agent leaves as they are: the stop button is on, or an annotation excludes them. */
  readonly paused: number;
  /** Of `counts.applied`: objects that others have changed or removed since, and that are left so. */
  readonly drifted: number;
  readonly message: string;
  /** Version of the connected agent; null: none is connected. */
  readonly agentVersion: string | null;
  /** Of its API server, as its agent has reported at its last connect; null: not known, or a directory cluster. */
  readonly kubernetesVersion: string | null;
  /** Why its agent has refused the last delta, or cannot be sent one; empty: it has not. */
  readonly problem: string;
  /** The last refusal of a caller with its name; absent: none since its agent was connected. */
  readonly refusal?: AgentRefusalView;
  /** null: it is not suspended. */
  readonly suspended: SuspensionView | null;
  readonly conditions: readonly ConditionView[];
  /** The tag of its inventory is made with an older relay secret, which must stay until the agent has connected. */
  readonly olderTag?: true;
  /** Why its agent is not expected to answer: "Shoot garden-web/blue is hibernated"; absent: it is. */
  readonly asleep?: string;
  /** Generation of its valid tokens; absent: they were never renewed. */
  readonly tokenGeneration?: number;
  /** The newest client certificate of its agent; absent: none is known. */
  readonly certificate?: AgentCertificateView;
  /** Agents with the shared token that wait for this name; absent: none. */
  readonly waiting?: readonly WaitingAgentView[];
}

export interface ConditionView {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown' | 'Progressing';
  readonly reason: string;
  readonly message: string;
  /** Only of Shoots: error codes. */
  readonly codes?: readonly string[];
  /** Only of Shoots: when the status was written first, RFC 3339; absent: it is new. */
  readonly since?: string;
  /** Only of Shoots: when it turns False unless it recovers before, RFC 3339. */
  readonly turnsFalseAt?: string;
  /** Only of Shoots: the live object that it follows from. */
  readonly cause?: { readonly cluster: string; readonly object: string };
}

export interface OutputView {
  readonly cluster: string;
  /** For people: `Deployment.apps/web/frontend`. */
  readonly object: string;
  /** The outcome so far. */
  readonly state:
    | 'applied'
    | 'pending'
    | 'failed'
    | 'conflict'
    | 'kept'
    | 'held'
    | 'removing'
    | 'paused'
    | 'unreachable';
  readonly digest: string | null;
  /** Health of the live object; null: not known. */
  readonly health: ObjectHealth | null;
  /** What others have done to an applied object, which is left so; absent: it is as declared, as far as it is known. */
  readonly drift?: Drift;
  /** Since when it has drifted, or could not be applied or removed, RFC 3339; absent: its agent has not reported that. */
  readonly since?: string;
  readonly origins: readonly { readonly source: string; readonly path: string }[];
  /** UpperCamelCase constant; empty: none. */
  readonly reason: string;
  readonly message: string;
}

/** An object that a cluster should hold. */
export interface DesiredView {
  /** `group/Kind/namespace/name`. */
  readonly key: string;
  /** null: it is a Secret, whose content never leaves the server, or `message` says why it cannot be made. */
  readonly value: JsonObject | null;
  readonly origins: readonly { readonly source: string; readonly path: string }[];
  readonly scope: readonly string[];
  readonly message: string;
}

export interface SourceView {
  readonly name: string;
  readonly address: string;
  readonly state: 'pending' | 'synced' | 'failing' | 'refused';
  /** One word, as `TooLarge`. */
  readonly reason: string;
  readonly revision: string | null;
  readonly refusedRevision: string | null;
  /** Some file of the admitted revision cannot be read: the source removes nothing. */
  readonly partial: boolean;
  /** null: new revisions are admitted. */
  readonly suspended: SuspensionView | null;
  readonly message: string;
}

export interface HeldRemovalsView {
  /** An approval names it. */
  readonly digest: string;
  readonly reason: string;
  readonly message: string;
  readonly removals: readonly { readonly cluster: string; readonly object: string }[];
}

export interface ApprovalView {
  readonly digest: string;
  readonly released: number;
  /** RFC 3339. */
  readonly expiresAt: string;
}

/** A question of a person. */
export interface ExplainRequest {
  /** Absent: the object is a declaration of a kind that the engine reads. */
  readonly cluster?: string;
  /** The name of what contains the entity, such as its mesh; absent: only one has this name in it. */
  readonly parent?: string;
  /** `KIND/[NAMESPACE/]NAME`. */
  readonly object: string;
  /** A field or the type of a condition. */
  readonly part?: string;
}

/** The origin of an object or declaration, or why it is missing; why an entity of a domain has its status. */
export type Explanation = ObjectExplanation | DeclarationExplanation | EntityExplanation;

interface AnyExplanation {
  /** For people. */
  readonly object: string;
  /** May be empty. */
  readonly message: string;
  /** Everything that takes part in it, the most important first. */
  readonly because: readonly ExplanationStep[];
  /** Position of the field that the question names; absent: it names none. */
  readonly field?: FieldView;
  /** The condition that the question names; absent: it names none. */
  readonly condition?: ConditionView;
}

/** Of an object in a cluster. */
export interface ObjectExplanation extends AnyExplanation {
  readonly cluster: string;
  readonly state: OutputView['state'];
  /** The last drift of it that its agent has found since it has started; absent: none. */
  readonly drift?: DriftRecord;
}

/** Of a declaration of a kind that the engine reads. */
export interface DeclarationExplanation extends AnyExplanation {
  readonly cluster: null;
  /** `undeclared`: no source declares it, but its status is known. */
  readonly state: 'inForce' | 'lastKnownGood' | 'undeclared';
  readonly conditions: readonly ConditionView[];
  /** Further fields of its status. */
  readonly status: JsonObject;
}

/** Of an entity of a domain. */
export interface EntityExplanation extends AnyExplanation {
  /** What contains it, such as its mesh. */
  readonly parent?: { readonly kind: string; readonly name: string };
  /** Absent: it belongs to no one cluster. */
  readonly cluster?: string;
  /** Its row in the view of its kind. */
  readonly entity: JsonObject;
  /** Absent: it has none, or with {@link condition}. */
  readonly conditions?: readonly ConditionView[];
}

/** Position of a field of a document. */
export interface FieldView {
  readonly path: string;
  /** As {@link ExplanationStep.at}. */
  readonly at: string;
  /**
   * What the position is of: the field, its nearest parent, or only the file. `rule`: no line sets the field, because fleetrelay
   * makes the object; it is the position of the rule.
   */
  readonly found: 'value' | 'parent' | 'file' | 'rule';
  /** Only with `rule`: its kind and name. */
  readonly by?: string;
}

export interface ExplanationStep {
  /** "manifest", "live object", "cluster", "object", "finding", "folder rule", a kind that the engine reads, or a part of a data plane. */
  readonly kind: string;
  readonly name: string;
  /** `path:line@revision`, with the source's name before it if there are several. */
  readonly at: string;
  readonly note: string;
  /** Number of the steps above it that it is a part of; absent: none. */
  readonly depth?: number;
}
