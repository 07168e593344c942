import type { LiveObject } from '../../model/agent.ts';
import type { LedgerEntry } from '../../model/ledger.ts';
import type { Collection, Derived, Graph } from '../collections/types.ts';
import type { InboundIndexes } from '../health/inbounds.ts';
import type { Want } from '../placement/wants.ts';
import type { ServiceExport, SliceExport } from './mirrors.ts';
import { mirroredKey, mirroredService, mirroredSlices } from './translate.ts';

/** The name of this domain. */
export const SERVICES = 'services';

/** Derives the wants of exported services. */
export function deriveServiceWants(
  graph: Graph,
  exports: Collection<ServiceExport>,
  live: Collection<LiveObject>,
): Derived<Want> {
  return graph.derive<ServiceExport, Want>({
    name: 'serviceWants',
    from: exports,
    reads: [live],
    compute: ({ partition, key, value: { from, to, service, copy, origin, identity } }, read, emit) => {
      const object = read.get(live, from, service);
      if (object === undefined) return;
      emit(partition, `${key}\u0000${service}`, {
        ...mirroredService(from, object, copy),
        ...{ clusters: to, origin, identity, scope: [from], scopeUnknown: false },
        derived: { domain: SERVICES, standsFor: { cluster: from, key: service } },
      });
    },
  });
}

/** What {@link deriveSliceWants} reads. */
interface SliceInputs {
  readonly live: Collection<LiveObject>;
  readonly ledger: Collection<LedgerEntry>;
  readonly inbounds: InboundIndexes;
}

/** Derives the wants of the slices of exported services. */
export function deriveSliceWants(
  graph: Graph,
  slices: Collection<SliceExport>,
  { live, ledger, inbounds }: SliceInputs,
): Derived<Want> {
  return graph.derive<SliceExport, Want>({
    name: 'sliceWants',
    from: slices,
    reads: [live, ledger, inbounds.byAddress],
    compute: ({ partition, key, value: { from, to, service, slice, origin, identity } }, read, emit) => {
      const object = read.get(live, from, slice);
      if (object === undefined) return;
      const requires = { key: mirroredKey(from, service), standsFor: { cluster: from, key: service } };
      const derived = { domain: SERVICES, standsFor: { cluster: from, key: slice }, requires };
      const made = mirroredSlices(from, service, object, (address, port) =>
        inbounds.isInSet(read, from, address, port),
      );
      for (const { isSpare, ...translated } of made) {
        // Readiness comes and goes: a removal for each time would use up what the guards let pass.
        const owns = (cluster: string): boolean =>
          (read.get(ledger, cluster, translated.key)?.phase ?? 'removing') !== 'removing';
        const clusters = isSpare ? to.filter(owns) : to;
        if (clusters.length === 0) continue;
        const want = { ...translated, clusters, origin, identity, scope: [from], scopeUnknown: false, derived };
        emit(partition, `${key}\u0000${translated.key}`, want);
      }
    },
  });
}
