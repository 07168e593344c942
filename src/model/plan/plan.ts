import type { FieldChange } from '../text/field-diff.ts';

/** A plan, as the API answers it and `fleetrelay plan -o json` prints it. */
export interface PlanView {
  /** The source whose revision is planned. */
  readonly source: string;
  /** The planned revision: a commit, or `worktree` for a folder. */
  readonly revision: string;
  /** What it is compared with: the admitted revision of the source. */
  readonly base: string;
  /** RFC 3339: the moment of the state that was compared. */
  readonly at: string;
  /** The state that it was compared with. */
  readonly state: {
    /** The admitted revisions by source. */
    readonly revisions: Readonly<Record<string, string>>;
  };
  /** What has moved since an earlier plan, as sentences. Absent: it is compared with none. */
  readonly moved?: readonly string[];
  readonly summary: PlanSummary;
  /** The clusters with a change, in canonical order. */
  readonly clusters: readonly ClusterPlan[];
  readonly warnings: readonly PlanWarning[];
  /** Findings that the revision brings: `path:line:column: error: message`. */
  readonly findings: readonly string[];
  /** What the plan could not judge, as sentences. Empty: it has judged everything. */
  readonly notJudged: readonly string[];
}

/** Numbers of objects in clusters, by what happens to them; see `PlanAction`. */
export interface PlanSummary {
  readonly create: number;
  readonly change: number;
  readonly move: number;
  readonly remove: number;
  readonly hold: number;
  readonly stay: number;
  readonly leave: number;
  readonly cancel: number;
  /** Clusters with a change, and registered ones. */
  readonly clusters: number;
  readonly registered: number;
}

/** What happens in one cluster. */
export interface ClusterPlan {
  readonly cluster: string;
  /** Why its changes wait after the merge, as `its agent is not connected`. Absent: they do not, or it is not known. */
  readonly waits?: string;
  /** In canonical order of the objects' keys. */
  readonly changes: readonly PlannedChange[];
}

/** What happens to one object of one cluster. */
export interface PlannedChange {
  /** `Kind/namespace/name`. */
  readonly object: string;
  readonly action: keyof Omit<PlanSummary, 'clusters' | 'registered'>;
  /** The file that it came from, if it comes from another one. */
  readonly from?: string;
  /** Why it is held, as a constant word and as a sentence. */
  readonly reason?: string;
  readonly message?: string;
  /** The fields that change, at most {@link MOST_FIELDS}. Absent: the object is new or goes, or its content is not known. */
  readonly fields?: readonly PlannedField[];
  /** The number of changed fields that are not listed. */
  readonly moreFields?: number;
  /** What has changed in the source for it. */
  readonly because: readonly PlanReason[];
}

/** A field that changes. */
export interface PlannedField extends FieldChange {
  /** `path:line:column` of its value, or of where it would be. Absent: the object's own manifest has not changed. */
  readonly at?: string;
}

/** A part of the source that has changed. */
export interface PlanReason {
  /** As `Placement shop selects it`; empty: the object's own manifest. */
  readonly what: string;
  /** `path:line:column`, with the source before it if there are several. */
  readonly at: string;
}

/** Something that a reviewer should look at. */
export interface PlanWarning {
  /** Constant UpperCamelCase word. */
  readonly reason:
    | 'ImmutableField'
    | 'ReplacedObject'
    | 'FieldKept'
    | 'DefaultRestored'
    | 'NamespaceRemoved'
    | 'DefinitionRemoved'
    | 'NotRemovable'
    | 'SelectsNoPod'
    | 'ChangedOnBothSides'
    | 'MustBeAccepted'
    | 'Suspended'
    | 'LacksBase';
  readonly message: string;
  /** `Kind/namespace/name`. Absent: it is about no object. */
  readonly object?: string;
  /** In canonical order. */
  readonly clusters: readonly string[];
}

/** The number of changed fields that a plan lists of one object. */
export const MOST_FIELDS = 50;
