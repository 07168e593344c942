/** A finished plan. */
export interface PlannedRefView {
  readonly commit: string;
  /** A `PlanView` as JSON. */
  readonly json: string;
  readonly markdown: string;
  /** One line. */
  readonly summary: string;
  readonly hasChanges: boolean;
}

/** Why an object is not in a cluster, or is not as it is declared. */
export interface WhyNotView {
  readonly cluster: string;
  /** For people, as in the cluster or as it was asked for. */
  readonly object: string;
  /** The cluster has it as it is declared. */
  readonly isThere: boolean;
  /** The most important first; never empty. */
  readonly reasons: readonly WhyNotReasonView[];
}

export interface WhyNotReasonView {
  /** UpperCamelCase constant. */
  readonly reason: string;
  /** A sentence. */
  readonly message: string;
  /** `path:line:column@revision`, with the source's name before it if there are several; empty: no file says it. */
  readonly at: string;
  /** What a person can do; empty: nothing is needed. */
  readonly todo: string;
}

/** What a file reaches. */
export interface ImpactRequest {
  /** Relative to the root of its source. */
  readonly path: string;
  /** Absent: the only source that has the path. */
  readonly source?: string;
  /** Only the document at this line; absent: all documents. */
  readonly line?: number;
  /** Most objects that are listed. */
  readonly limit: number;
}

export interface ImpactView {
  readonly source: string;
  readonly path: string;
  /** Its documents, in the order of their lines. */
  readonly documents: readonly {
    readonly name: string;
    /** As {@link WhyNotReasonView.at}. */
    readonly at: string;
    /** What it reaches, or why it reaches nothing: a sentence. */
    readonly message: string;
  }[];
  /** Clusters that it reaches, with the number of objects. */
  readonly clusters: readonly { readonly cluster: string; readonly objects: number }[];
  /** The first of these objects. */
  readonly objects: readonly { readonly cluster: string; readonly object: string; readonly state: string }[];
  /** Number of all of them. */
  readonly total: number;
}
