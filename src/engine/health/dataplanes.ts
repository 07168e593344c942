import type { Dataplane } from '../../model/dataplane.ts';
import type { HealthReport, StreamState } from '../../model/dataplane-health.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { Collection, Contribution, Derived, Graph } from '../collections/types.ts';
import { type Declarations, type Declared, declaredOf } from '../fleet/declared.ts';
import {
  type Connection,
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
 * A data plane before its status. Partition: its cluster, empty if it is declared. Key: {@link dataplaneKey} if it is
 * declared, else that of its object. Scope: its cluster.
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

/** A live Dataplane that is no data plane of its own: its declaration counts, or it cannot be read. */
export interface Uncounted {
  readonly uncounted: 'declared' | 'unreadable';
}

/** A data plane with its status. Partition: its cluster, empty if it is declared. Key: {@link dataplaneKey}. Scope: its cluster. */
export interface DataplaneValue extends KnownDataplane, StatusWithNotes {}

/** The key of a data plane in its cluster. */
export function dataplaneKey({ mesh, name }: Pick<Dataplane, 'mesh' | 'name'>): string {
  return `${mesh}/${name}`;
}

/** The path of `networking` in the declaration with this key. */
export function networkingOf(declaration: string): readonly string[] {
  // The key of the flat form names the mesh.
  return [...(declaration.includes('@') ? [] : ['spec']), 'networking'];
}

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
  const connection = connectionOfStream(stream);
  if (connection.state !== 'connected' || report?.envoyHealthy !== false) return connection;
  return { ...connection, state: 'draining', since: Math.max(connection.since ?? 0, report.envoySince) };
}

/** The connection of a proxy by its stream; undefined: it never had one. */
export function connectionOfStream(stream: StreamState | undefined): Connection {
  if (stream === undefined) return { state: 'never' };
  const { connected, ...rest } = stream;
  return { state: connected ? 'connected' : 'disconnected', ...rest };
}

/** Derives the status of all known data planes. */
export function deriveDataplanes(
  graph: Graph,
  known: readonly Collection<KnownDataplane | Uncounted>[],
): Derived<DataplaneValue> {
  return graph.derive<KnownDataplane | Uncounted, DataplaneValue>({
    name: 'dataplanes',
    from: known,
    compute: ({ partition, value }, _read, emit) => {
      if ('uncounted' in value) return;
      const { dataplane, causes, connection } = value;
      emit(partition, dataplaneKey(dataplane), { ...value, ...statusOf(dataplane, causes, connection) });
    },
  });
}

/** Whether an inbound is ready. */
export function isReady({ causes }: Pick<KnownDataplane, 'causes'>, inbound: number): boolean {
  return (causes[inbound] ?? NO_CAUSES).length === 0;
}
