import type { LiveObject } from '../../model/agent.ts';
import { objectRefOf } from '../../model/object-key.ts';
import type { Collection, Derived, Graph } from '../collections/types.ts';
import type { Want } from '../placement/want.ts';
import { type LiveServices, slicesOf } from './live-services.ts';
import type { ServiceExport } from './mirrors.ts';
import { mirrorOf } from './translate.ts';

/** The name of this domain. */
export const SERVICES = 'services';

/** What each exported service wants elsewhere: a Service and its EndpointSlices. */
export function deriveServiceWants(
  graph: Graph,
  exports: Collection<ServiceExport>,
  live: Collection<LiveObject>,
  { slices }: LiveServices,
): Derived<Want> {
  return graph.derive<ServiceExport, Want>({
    name: 'serviceWants',
    from: exports,
    reads: [live, slices],
    compute: ({ partition, key, value: { from, to, service, origin, identity } }, read, emit) => {
      const object = read.get(live, from, service);
      if (object === undefined) return;
      const { namespace, name } = objectRefOf(service);
      const own = read.members(slices, slicesOf(from, namespace, name)).map(({ value }) => value);
      for (const { of, requires, ...mirrored } of mirrorOf(from, object, own)) {
        emit(partition, `${key}\u0000${of}`, {
          ...mirrored,
          clusters: to,
          origin,
          identity,
          scope: [from],
          scopeUnknown: false,
          derived: {
            domain: SERVICES,
            standsFor: { cluster: from, key: of },
            ...(requires === undefined
              ? {}
              : { requires: { key: requires, standsFor: { cluster: from, key: service } } }),
          },
        });
      }
    },
  });
}
