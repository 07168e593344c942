import type { Collection, Contribution, Derived, Graph } from '../../../engine/collections/types.ts';
import { type Declarations, type Declared, declaredOf } from '../../../engine/fleet/declared.ts';
import type { SourceValue } from '../../../engine/inputs.ts';
import type { FindingReason } from '../../../model/fleet/diagnostic.ts';
import type { SourceRights } from '../../../model/fleet/source-rights.ts';
import type { ObjectKey } from '../../../model/objects/object-key.ts';
import type { Dataplane } from '../model/dataplane.ts';
import type { HealthReport, StreamState } from '../model/dataplane-health.ts';
import { type Connection, NO_CAUSES, type NotReadyCause, reportedCauses, type StatusWithNotes } from './status.ts';

/** Where a data plane comes from: a declaration (`key`: unique in its kind), a live Dataplane, or a Pod. */
export type DataplaneOrigin =
  | {
      readonly type: 'declared';
      readonly key: string;
      /** Absent: the first one. */
      readonly source?: string;
    }
  | { readonly type: 'live' | 'pod'; readonly cluster: string; readonly key: ObjectKey };

/**
 * A data plane before its status. Partition: its cluster, empty if it is declared. Key: {@link dataplaneKey} if it is
 * declared, else its object's key. Scope: its cluster.
 */
export interface KnownDataplane {
  readonly dataplane: Dataplane;
  readonly from: DataplaneOrigin;
  readonly connection: Connection;
  /** Why each inbound is not ready, in the order of the inbounds. */
  readonly causes: readonly (readonly NotReadyCause[])[];
  readonly doubts: readonly Doubt[];
}

/** What is doubtful about a data plane. */
export interface Doubt {
  readonly reason: FindingReason;
  /** A sentence. */
  readonly text: string;
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

/** What declared data planes are known by besides their declarations. Partition empty, key {@link dataplaneKey}. */
export interface DeclaredInputs {
  readonly connections: Collection<StreamState>;
  readonly reports: Collection<HealthReport>;
  readonly sources: Collection<SourceValue>;
  readonly rights: Collection<SourceRights>;
}

/**
 * Derives the declared data planes. If several have one mesh and name, the data plane of the first source counts, then the first by
 * key: a declaration in Kubernetes' form can have the name of one in the Universal form.
 */
export function deriveDeclaredDataplanes(
  graph: Graph,
  declarations: Declarations,
  { connections, reports, sources, rights }: DeclaredInputs,
): Derived<KnownDataplane> {
  const named = graph.gather<Declared<'Dataplane'>, NamedDataplane>({
    name: 'declaredDataplaneNames',
    ...declaredOf(declarations, 'Dataplane'),
    compute: ({ value: { value, origin } }, _read, emit) =>
      emit('', dataplaneKey(value.dataplane), { dataplane: value.dataplane, source: origin.source }),
  });
  return graph.derive<readonly Contribution<NamedDataplane>[], KnownDataplane>({
    name: 'declaredDataplanes',
    from: named,
    reads: [connections, reports, sources, rights],
    compute: ({ key, value: all }, read, emit) => {
      const counting = all.length === 1 ? all[0] : firstOf(all, (source) => read.get(sources, '', source)?.order);
      if (counting === undefined) return;
      const { from, value } = counting;
      const { dataplane, source } = value;
      const report = read.get(reports, '', key);
      const isOfFirst = read.get(rights, '', source)?.first === undefined;
      emit('', key, {
        dataplane,
        from: { type: 'declared', key: from.key, ...(isOfFirst ? {} : { source }) },
        connection: connectionOf(read.get(connections, '', key), report),
        causes: dataplane.inbounds.map((inbound) => reportedCauses(inbound, report)),
        doubts: [],
      });
    },
  });
}

/** What a declaration says. */
interface NamedDataplane {
  readonly dataplane: Dataplane;
  readonly source: string;
}

function firstOf(
  all: readonly Contribution<NamedDataplane>[],
  orderOf: (source: string) => number | undefined,
): Contribution<NamedDataplane> | undefined {
  const order = ({ value }: Contribution<NamedDataplane>): number => orderOf(value.source) ?? Number.MAX_SAFE_INTEGER;
  // The sort is stable: the first of equal ones stays the first.
  return all.toSorted((a, b) => order(a) - order(b))[0];
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

/** Whether an inbound is ready. */
export function isReady({ causes }: Pick<KnownDataplane, 'causes'>, inbound: number): boolean {
  return (causes[inbound] ?? NO_CAUSES).length === 0;
}
