import type { JsonValue } from '../../model/json.ts';
import type { Derived, Graph } from '../collections/types.ts';
import type { Domain } from '../domain.ts';
import { type BoundShoot, deriveBindings } from './binding.ts';
import { DEPLOYMENT_KIND, deriveApiServerAvailable, PROBE_KIND } from './checks/api-server-available.ts';
import { CARE, deriveConditions } from './conditions.ts';
import { CONSTRAINED_KINDS, deriveConstraints } from './constraints/constraints.ts';
import { acceptsHibernation } from './constraints/hibernation.ts';
import { careSettings } from './settings.ts';
import { deriveShootStatuses } from './statuses.ts';

/** The care of Shoots: what their agents report becomes conditions, a last operation and a label. */
export const care: Domain = {
  name: CARE,
  readsLive: {},
  settings: (policy) => careSettings(policy) as unknown as JsonValue,
  accepts: acceptsHibernation,
  derive: (graph, core) => {
    const { shoots, contenders, bindings } = deriveBindings(graph, core);
    const reads = { ...core.inputs, clusters: core.clusters, settings: core.settings, bindings };
    const apiServer = deriveApiServerAvailable(graph, reads);
    const { conditions, deadlines, silences } = deriveConditions(graph, [apiServer], reads);
    const { constraints, collections } = deriveConstraints(graph, { ...reads, apiServer, silences });
    const discovers = deriveDiscovered(graph, bindings);
    return {
      collections: {
        bySource: [],
        anywhere: [],
        shown: [shoots, contenders, bindings, apiServer, silences, conditions, ...collections, ...discovers],
      },
      discovers: discovers[1],
      deadlines,
      statuses: (after) => deriveShootStatuses(graph, after, { ...reads, apiServer, conditions, constraints }),
    };
  },
};

/** The kinds that the agents of bound clusters report: the probe of a Shoot's cluster, the control planes of a Seed. */
function deriveDiscovered(graph: Graph, bindings: Derived<BoundShoot>) {
  const wanted = graph.gather<BoundShoot, string>({
    name: 'careKinds',
    from: bindings,
    compute: ({ value: { cluster, seed, isIgnored } }, _read, emit) => {
      if (isIgnored) return;
      for (const kind of [PROBE_KIND, ...CONSTRAINED_KINDS]) emit('', cluster, kind);
      if (seed !== undefined) emit('', seed, DEPLOYMENT_KIND);
    },
  });
  const kinds = graph.derive<readonly { readonly value: string }[], readonly string[]>({
    name: 'careDiscovers',
    from: wanted,
    compute: ({ key: cluster, value }, _read, emit) =>
      emit('', cluster, [...new Set(value.map(({ value: kind }) => kind))]),
  });
  return [wanted, kinds] as const;
}
