import { SHOOT_CONDITIONS, type ShootCondition } from './shoot.ts';

declare module '../../../model/fleet/desired.ts' {
  interface FleetPolicy {
    readonly care?: CareSettings;
  }
}

/** What a `FleetPolicy` says of the care of Shoots. */
export interface CareSettings {
  /** How often an agent asks its API server and tests the tunnel. What agents report is judged at once. */
  readonly syncPeriodMillis: number;
  /** How long a failure is shown as `Progressing`, at most one for each type; a type that is not listed has no threshold. */
  readonly conditionThresholds: readonly { readonly type: ShootCondition; readonly millis: number }[];
  /** Time without a heartbeat after which reports of an extension are outdated; absent: heartbeats are not judged. */
  readonly staleExtensionMillis?: number;
  /** Time for which a ManagedResource may be progressing. */
  readonly managedResourceProgressingMillis: number;
  readonly webhookRemediatorEnabled: boolean;
  readonly webhookRemediatorDryRun: boolean;
  /** The namespaces of the heartbeats of extensions, by the kind and `spec.type` of their objects. */
  readonly extensions: readonly ExtensionHeartbeat[];
  /** Time after which an operation without success is Failed. */
  readonly retryMillis: number;
  /** Time after which an operation that failed at a rate limit is tried again. */
  readonly retryPeriodMillis: number;
  /** Time after which a task that is failing, stuck or out of reach is an error. */
  readonly taskTimeoutMillis: number;
  /** A cluster is not known any more when its agent has been silent five times as long. */
  readonly monitorPeriodMillis: number;
  /** A Failed operation stops the requests of agents for its objects. */
  readonly stopFailed: boolean;
  readonly monitoringEnabled: boolean;
  readonly loggingEnabled: boolean;
}

/** The namespace in the Seed that has the heartbeat of an extension. */
export interface ExtensionHeartbeat {
  /** Of the extension objects: `Worker`. */
  readonly kind: string;
  /** Their `spec.type`. */
  readonly type: string;
  readonly namespace: string;
}

/** The settings of a policy that says nothing of Shoots. The schema documents the same figures. */
export const careDefaults: CareSettings = {
  syncPeriodMillis: 60_000,
  conditionThresholds: SHOOT_CONDITIONS.map((type) => ({
    type,
    millis: type === 'EveryNodeReady' ? 300_000 : 60_000,
  })),
  staleExtensionMillis: 300_000,
  managedResourceProgressingMillis: 3_600_000,
  webhookRemediatorEnabled: false,
  webhookRemediatorDryRun: false,
  extensions: [],
  retryMillis: 43_200_000,
  retryPeriodMillis: 600_000,
  taskTimeoutMillis: 120_000,
  monitorPeriodMillis: 40_000,
  stopFailed: false,
  monitoringEnabled: true,
  loggingEnabled: false,
};
