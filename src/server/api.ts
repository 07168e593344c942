import type { OutcomeCounts } from '../model/conditions.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { JsonObject } from '../model/json.ts';
import type { ObjectHealth } from '../model/object-health.ts';

/** What the commands ask a running server; the HTTP API is this interface, one route a function. */
export interface ServerApi {
  status(): FleetView;
  clusters(): readonly ClusterView[];
  /** All clusters, or one; undefined if there is no such cluster. */
  outputs(cluster: string | undefined): readonly OutputView[] | undefined;
  /** What one cluster should hold, with content; undefined if there is no such cluster. */
  desired(cluster: string): readonly DesiredView[] | undefined;
  sources(): readonly SourceView[];
  /** Where what only the leader knows is to be asked; undefined: here. */
  elsewhere(): Answer<never> | undefined;
  /** Removals that a guard holds; the leader alone judges them. */
  removals(): readonly HeldRemovalsView[];
  diagnostics(): readonly Diagnostic[];
  /** Rows of a view; `notFound` names those that there are. */
  view(name: string): Answer<readonly JsonObject[]>;
  explain(question: ExplainRequest): Promise<Answer<Explanation>>;
  approve(digest: string, by: string): Promise<Answer<ApprovalView>>;
  accept(source: string, revision: string, by: string): Promise<Answer<SourceView>>;
  replaceCluster(cluster: string, by: string): Promise<Answer<ClusterView>>;
  /** Nothing is sent to the cluster until it is resumed. A second time: with another reason. */
  suspendCluster(cluster: string, by: string, reason: string): Promise<Answer<ClusterView>>;
  resumeCluster(cluster: string, by: string): Promise<Answer<ClusterView>>;
  /** No new revision of the source is admitted until it is resumed. */
  suspendSource(source: string, by: string, reason: string): Promise<Answer<SourceView>>;
  resumeSource(source: string, by: string): Promise<Answer<SourceView>>;
}

/** What is asked of the server about tokens of clusters; no token travels here. */
export interface TokenApi {
  /** Every token that the cluster has is worth nothing from now on; its certificates go on. */
  renewToken(cluster: string, by: string): Promise<Answer<TokenView>>;
}

/** All that people may ask a server. */
export type PeopleApi = ServerApi & TokenApi;

/**
 * An answer, or why there is none: `notFound` (404), `conflict` (409), `invalid` (400), `notLeader` (409; `leader`: where
 * to ask instead, if that is known).
 */
export type Answer<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly kind: 'notFound' | 'conflict' | 'invalid'; readonly message: string }
  | { readonly ok: false; readonly kind: 'notLeader'; readonly message: string; readonly leader: string | null };

/** What a person has stopped for now. */
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
  /** Why it is not ready; absent: it is, or the server does not say. */
  readonly notReady?: readonly string[];
  /** URL of this server's listener for health and metrics, as it is bound; absent: not open yet. */
  readonly metricsAddress?: string;
  /** One line: "applied by 2 of 3 clusters; waiting for west: disconnected since 10:42:07Z". */
  readonly summary: string;
  readonly sources: readonly SourceView[];
  readonly clusters: readonly ClusterView[];
  readonly heldRemovals: readonly HeldRemovalsView[];
  /** What cannot be seen, and is waited for; null: nothing is. */
  readonly safeMode: SafeModeView | null;
  readonly diagnostics: readonly Diagnostic[];
  /** How the writing of status is; null: it is switched off. */
  readonly statusBranch: StatusBranchView | null;
  /** What this server is among several that share a store; absent: it is the only one. */
  readonly replica?: ReplicaView;
  /** Certificates of this server that end soon; absent: none does. */
  readonly endingCertificates?: readonly CertificateView[];
}

/** A certificate that ends within 30 days, or has ended. */
export interface CertificateView {
  readonly what: 'server' | 'root' | 'clientRoot';
  /** RFC 3339. */
  readonly expiresAt: string;
  readonly over: boolean;
  /** What that means, and what to do. */
  readonly message: string;
}

/** One of several servers of a fleet. */
export interface ReplicaView {
  readonly id: string;
  /** It admits revisions, judges removals, writes status and takes commands. */
  readonly leads: boolean;
  /** `address`: where its API is, if it says so. Null: nobody is known to lead. */
  readonly leader: { readonly id: string; readonly address: string | null } | null;
  /** The admission that it computes from. */
  readonly admitted: { readonly epoch: number; readonly sequence: number };
  /** Servers of the fleet that this one hears, itself among them. */
  readonly alive: number;
  /** Why nothing new is admitted or sent; empty if there is nothing to say. */
  readonly trouble: string;
}

/** Something stays as it is because clusters cannot be seen. */
export interface SafeModeView {
  readonly mode: 'strict' | 'scoped' | 'off';
  /** Who is waited for; never empty. */
  readonly causes: readonly {
    readonly cluster: string;
    /** Constant word. */
    readonly reason: string;
    /** What is held, and the ways out. */
    readonly message: string;
  }[];
}

export interface StatusBranchView {
  readonly state: 'pending' | 'synced' | 'failing' | 'refused';
  readonly message: string;
  /** The commit that holds what was last published or found equal. */
  readonly commit: string | null;
}

export interface ClusterView {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly id: string | null;
  /** A person has released the name: another cluster takes it next, and `id` is refused. */
  readonly released: boolean;
  readonly connected: boolean;
  /** RFC 3339; null: never. */
  readonly connectionSince: string | null;
  readonly warm: boolean;
  readonly inSync: boolean;
  readonly position: { readonly epoch: number; readonly sequence: number };
  readonly counts: OutcomeCounts;
  readonly message: string;
  /** Of the agent that is connected now; null: none is. */
  readonly agentVersion: string | null;
  /** Why nothing moves: the last refusal of its agent or of what was sent to it; empty if there is nothing to say. */
  readonly trouble: string;
  /** null: it is sent what it lacks. */
  readonly suspended: SuspensionView | null;
  readonly conditions: readonly ConditionView[];
  /** Which of its tokens count; absent: they were never renewed. */
  readonly tokenGeneration?: number;
}

/** Which tokens of a cluster count. */
export interface TokenView {
  readonly cluster: string;
  /** The second of the renewal since 1970, or a later one. */
  readonly generation: number;
}

export interface ConditionView {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown' | 'Progressing';
  readonly reason: string;
  readonly message: string;
}

export interface OutputView {
  readonly cluster: string;
  /** As people write it: `Deployment.apps/web/frontend`. */
  readonly object: string;
  /** What fleetrelay means to do with it, or has done. */
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
  /** Of what is applied, by kstatus; null: not known. */
  readonly health: ObjectHealth | null;
  readonly origins: readonly { readonly source: string; readonly path: string }[];
  /** Constant word; empty when there is nothing to add. */
  readonly reason: string;
  readonly message: string;
}

/** An object that a cluster should hold. */
export interface DesiredView {
  /** `group/Kind/namespace/name`. */
  readonly key: string;
  /** null: of a Secret it never leaves the server; and of what cannot be made the message says why. */
  readonly value: JsonObject | null;
  readonly origins: readonly { readonly source: string; readonly path: string }[];
  readonly scope: readonly string[];
  readonly message: string;
}

export interface SourceView {
  readonly name: string;
  readonly address: string;
  readonly state: 'pending' | 'synced' | 'failing' | 'refused';
  readonly revision: string | null;
  readonly refusedRevision: string | null;
  /** Some file of the admitted revision cannot be read: the source removes nothing. */
  readonly partial: boolean;
  /** null: new revisions are admitted. */
  readonly suspended: SuspensionView | null;
  readonly message: string;
}

export interface HeldRemovalsView {
  /** What an approval names. */
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

/** A question, in the words of a person. */
export interface ExplainRequest {
  /** Absent: the object is a declaration of a kind that the engine reads. */
  readonly cluster?: string;
  /** `KIND/[NAMESPACE/]NAME`. */
  readonly object: string;
  /** A field or the type of a condition. */
  readonly part?: string;
}

/** Where something comes from, or why it is not what one might expect. */
export type Explanation = ObjectExplanation | DeclarationExplanation;

interface AnyExplanation {
  /** As people write it. */
  readonly object: string;
  /** Empty: there is nothing to add. */
  readonly message: string;
  /** What has a part in it, in the order in which a person should hear of it. */
  readonly because: readonly ExplanationStep[];
  /** Where the field stands that was asked for; absent: none was. */
  readonly field?: FieldView;
  /** The condition that was asked for; absent: none was. */
  readonly condition?: ConditionView;
}

/** Of an object in a cluster. */
export interface ObjectExplanation extends AnyExplanation {
  readonly cluster: string;
  readonly state: OutputView['state'];
}

/** Of a declaration of a kind that the engine reads. */
export interface DeclarationExplanation extends AnyExplanation {
  readonly cluster: null;
  /** `undeclared`: no source declares it, and its status is known all the same. */
  readonly state: 'inForce' | 'lastKnownGood' | 'undeclared';
  readonly conditions: readonly ConditionView[];
  /** Further fields of its status. */
  readonly status: JsonObject;
}

/** Where a field of a document stands. */
export interface FieldView {
  readonly path: string;
  /** As {@link ExplanationStep.at}. */
  readonly at: string;
  /** What stands there: the field, its nearest parent if it is not written, or nothing closer than the file. */
  readonly found: 'value' | 'parent' | 'file';
}

export interface ExplanationStep {
  /** "manifest", "live object", "cluster", "object", "finding", "folder rule", or a kind that the engine reads. */
  readonly kind: string;
  readonly name: string;
  /** `path:line@revision`, with the source's name before it if there are several. */
  readonly at: string;
  readonly note: string;
}
