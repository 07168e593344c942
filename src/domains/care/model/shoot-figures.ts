/** What the metrics show of a Shoot. */
export interface ShootFigures {
  readonly namespace: string;
  readonly name: string;
  readonly conditions: readonly { readonly type: string; readonly status: string }[];
  /** The last one; absent: there was none. */
  readonly operation?: { readonly type: string; readonly state: string; readonly progress: number };
  /** Texts of the spec and the status; those that are not known are empty. */
  readonly purpose: string;
  readonly region: string;
  readonly kubernetesVersion: string;
  readonly gardenerVersion: string;
  readonly uid: string;
  readonly technicalId: string;
  /** The provider of the infrastructure. */
  readonly iaas: string;
  /** Empty: it has none. */
  readonly seed: string;
  /** Of the Shoot whose cluster is the Seed; empty: none is. */
  readonly seedIaas: string;
  readonly seedRegion: string;
  /** Its cluster is the Seed of a Shoot. */
  readonly isSeed: boolean;
  readonly hasUserErrors: boolean;
  /** The status of the constraint MaintenancePreconditionsSatisfied. */
  readonly isCompliant: string;
  readonly isHibernated: boolean;
  /** Seconds since 1970; absent: not known. */
  readonly createdAt?: number;
  readonly pools: readonly { readonly name: string; readonly minimum: number; readonly maximum: number }[];
}
