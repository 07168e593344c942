import type { Graph } from '../../engine/collections/types.ts';
import type { LocateAll } from '../../manifest/locate.ts';
import type { FleetName } from '../../model/fleet/ids.ts';
import type { PolicyBounds } from '../../model/fleet/relay-config.ts';
import type { ClusterSize } from '../../model/limits/quotas.ts';
import type { JsonValue } from '../../model/text/json.ts';
import type { AuditLog } from '../../ports/audit-log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import type { Source } from '../../ports/source.ts';
import type { RelayServer } from '../../relay/session.ts';
import type { BeginSlice } from '../../runtime/loop.ts';
import type { Arrange } from '../../runtime/phases.ts';
import type { StoreLock } from '../../runtime/replica/store-lock.ts';
import type { StatusSink } from '../../runtime/status/status-publisher.ts';
import type { StatusOfCustomResources } from './custom-resource-status.ts';
import type { ReplicaSetup } from './foundation.ts';
import type { PlanSetup } from './plans.ts';
import type { ServedDomain } from './server-part.ts';

export interface ServerDeps {
  readonly graph: Graph;
  /** In their order: each can read what the earlier ones derive. */
  readonly domains: readonly ServedDomain[];
  readonly store: SnapshotStore;
  readonly sources: readonly Source[];
  readonly relay: RelayServer;
  /** It is one of several servers of its fleet; the store is shared then. Absent: it is the only one. */
  readonly replicas?: ReplicaSetup;
  /** It is the only one, and has locked a store that others could use. */
  readonly lock?: StoreLock;
  readonly statusSink?: StatusSink;
  /** Custom resources among the sources whose status is written. */
  readonly customResources?: readonly StatusOfCustomResources[];
  readonly parseYaml: (text: string) => JsonValue;
  /** Finds lines in files of the sources; absent: in this thread. */
  readonly locate?: LocateAll;
  readonly clock: Clock;
  readonly log: Log;
  /** Absent: what agents change of others' objects is not noted. */
  readonly audit?: AuditLog;
  /** Called after each commit, for metrics. */
  readonly committed?: (seconds: number, computed: number) => void;
  /** Absent: the server makes neither plans nor recordings. */
  readonly plans?: PlanSetup;
  /** Where commits are cut into slices. Default: by time. */
  readonly beginSlice?: BeginSlice;
  /** How the recorders and sinks of one phase are arranged. Default: as they were added. */
  readonly arrange?: Arrange;
}

export interface ServerOptions {
  readonly fleet: FleetName;
  readonly version: string;
  /** How far a repository may loosen what protects the fleet. */
  readonly bounds: PolicyBounds;
  /** Of each cluster; absent: the default. */
  readonly quotas?: ClusterSize;
  /** Number of records of a large step of an input snapshot that share a commit. Default: `PART_RECORDS`. */
  readonly partRecords?: number;
  /** Most bytes of one delta to a cluster; absent: the default. */
  readonly deltaBytes?: number;
}
