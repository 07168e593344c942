import type { Collection, Derived, Graph } from '../../../engine/collections/types.ts';
import type { DerivedWant, Want } from '../../../engine/placement/wants.ts';
import type { LiveObject } from '../../../model/agent/agent.ts';
import type { LedgerEntry } from '../../../model/fleet/ledger.ts';
import type { InboundIndexes } from '../../health/index.ts';
import { exportedObject, type Feed, serviceOfSlice } from './mirrors.ts';
import { mirroredKey, mirroredService, mirroredSlices, type Translated } from './translate.ts';

/** The name of this domain. */
export const SERVICES = 'services';

/** Derives the wants of exported services. */
export function deriveServiceWants(
  graph: Graph,
  exports: Collection<Feed>,
  live: Collection<LiveObject>,
): Derived<Want> {
  return graph.derive<Feed, Want>({
    name: 'serviceWants',
    from: exports,
    reads: [live],
    compute: ({ partition, key, value: feed }, read, emit) => {
      const { from, copy } = feed;
      const object = read.get(live, from, exportedObject(key));
      if (object === undefined) return;
      const derived = { domain: SERVICES, standsFor: { cluster: from, key: object.key } };
      emit(partition, key, wantOf(feed, mirroredService(from, object, copy), feed.to, derived));
    },
  });
}

/** There are many, and an object that is written member by member is the smallest. */
function wantOf(
  { origin, identity, scope }: Feed,
  { key, value, digest }: Translated,
  clusters: Want['clusters'],
  derived: DerivedWant,
): Want {
  return { key, value, digest, clusters, origin, identity, scope, scopeUnknown: false, derived };
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
  slices: Collection<Feed>,
  { live, ledger, inbounds }: SliceInputs,
): Derived<Want> {
  return graph.derive<Feed, Want>({
    name: 'sliceWants',
    from: slices,
    reads: [live, ledger, inbounds.byAddress],
    compute: ({ partition, key, value: feed }, read, emit) => {
      const { from, to } = feed;
      const object = read.get(live, from, exportedObject(key));
      if (object === undefined) return;
      const service = serviceOfSlice(key);
      const requires = { key: mirroredKey(from, service), standsFor: { cluster: from, key: service } };
      const derived = { domain: SERVICES, standsFor: { cluster: from, key: object.key }, requires };
      const made = mirroredSlices(from, service, object, (address, port) =>
        inbounds.isInSet(read, from, address, port),
      );
      for (const { isSpare, ...translated } of made) {
        // Readiness comes and goes: a removal for each time would use up what the guards let pass.
        const owns = (cluster: string): boolean =>
          (read.get(ledger, cluster, translated.key)?.phase ?? 'removing') !== 'removing';
        const clusters = isSpare ? to.filter(owns) : to;
        if (clusters.length === 0) continue;
        emit(partition, `${key}\u0000${translated.key}`, wantOf(feed, translated, clusters, derived));
      }
    },
  });
}
