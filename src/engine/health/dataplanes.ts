import type { Dataplane } from '../../model/dataplane.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { Collection, Contribution, Derived, Graph } from '../collections/types.ts';
import { type Declarations, type Declared, declaredOf } from '../fleet/declared.ts';
import {
  type Connection,
  type HealthReport,
  NO_CAUSES,
  type NotReadyCause,
  reportedCauses,
  type StatusWithNotes,
  statusOf,
} from './status.ts';

/** Where a data plane comes from: a declaration (`key` as of its kind), a live Dataplane, or a Pod. */
export type DataplaneOrigin =
  | { readonly type: 'declared'; readonly key: string }
  | { readonly type: 'live' | 'pod'; readonly cluster: string; readonly key: ObjectKey };

/**
 * A data plane before its status. Partition: its cluster, empty if it is declared. Key: {@link dataplaneKey}. Scope: its
 * cluster.
 */
export interface KnownDataplane {
  readonly dataplane: Dataplane;
  readonly from: DataplaneOrigin;
  readonly connection: Connection;
  /** Why each inbound is not ready, in the order of the inbounds. */
  readonly causes: readonly (readonly NotReadyCause[])[];
  /** What is doubtful about it, as sentences. */
  readonly warnings: readonly string[];
}

/** A data plane with its status. Same addresses. */
export interface DataplaneValue extends KnownDataplane, StatusWithNotes {}

/** The key of a data plane in its cluster. */
export function dataplaneKey({ mesh, name }: Pick<Dataplane, 'mesh' | 'name'>): string {
  return `${mesh}/${name}`;
}

/** Whether the stream of a declared data plane to a server is open. Without an entry it has never been. */
export type StreamState = {
  readonly connected: boolean;
  /** When `connected` last changed, in milliseconds since 1970. */
  readonly since: number;
};

/** What declared data planes are known by besides their declarations. Partition empty, key {@link dataplaneKey}. */
export interface DeclaredInputs {
  readonly connections: Collection<StreamState>;
  readonly reports: Collection<HealthReport>;
}

/** Derives the declared data planes. Of several with one mesh and name, the first by its key counts. */
export function deriveDeclaredDataplanes(
  graph: Graph,
  declarations: Declarations,
  { connections, reports }: DeclaredInputs,
): Derived<KnownDataplane> {
  const named = graph.gather<Declared<'Dataplane'>, Dataplane>({
    name: 'declaredDataplaneNames',
    ...declaredOf(declarations, 'Dataplane'),
    compute: ({ value: { value } }, _read, emit) => emit('', dataplaneKey(value.dataplane), value.dataplane),
  });
  return graph.derive<readonly Contribution<Dataplane>[], KnownDataplane>({
    name: 'declaredDataplanes',
    from: named,
    reads: [connections, reports],
    compute: ({ key, value: [first] }, read, emit) => {
      if (first === undefined) return;
      const { from, value: dataplane } = first;
      const report = read.get(reports, '', key);
      emit('', key, {
        dataplane,
        from: { type: 'declared', key: from.key },
        connection: connectionOf(read.get(connections, '', key), report),
        causes: dataplane.inbounds.map((inbound) => reportedCauses(inbound, report)),
        warnings: [],
      });
    },
  });
}

function connectionOf(stream: StreamState | undefined, report: HealthReport | undefined): Connection {
  if (stream === undefined) return { state: 'never' };
  if (!stream.connected) return { state: 'disconnected', since: stream.since };
  if (report?.envoyHealthy !== false) return { state: 'connected', since: stream.since };
  return { state: 'draining', since: Math.max(stream.since, report.envoySince) };
}

/** Derives the status of all known data planes. */
export function deriveDataplanes(graph: Graph, known: readonly Derived<KnownDataplane>[]): Derived<DataplaneValue> {
  return graph.derive<KnownDataplane, DataplaneValue>({
    name: 'dataplanes',
    from: known,
    compute: ({ partition, key, value }, _read, emit) => {
      const { dataplane, causes, connection } = value;
      emit(partition, key, { ...value, ...statusOf(dataplane, causes, connection) });
    },
  });
}

/** Whether an inbound is ready. */
export function isReady({ causes }: Pick<KnownDataplane, 'causes'>, inbound: number): boolean {
  return (causes[inbound] ?? NO_CAUSES).length === 0;
}
