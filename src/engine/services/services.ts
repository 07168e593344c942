import { compareText } from '../../model/json.ts';
import { displayKey } from '../../model/object-key.ts';
import type { Domain } from '../domain.ts';
import type { Declared } from '../fleet/declared.ts';
import type { ValueRef } from '../status/diagnostic.ts';
import { explainMirrored } from './explain.ts';
import { indexLiveServices, liveKinds } from './live-services.ts';
import { deriveMirrors } from './mirrors.ts';
import { deriveMirrorStatuses } from './status.ts';
import { deriveServiceWants, SERVICES } from './wants.ts';

/** Mirroring: live services of some clusters are made known in others, as ServiceMirrors say. */
export const services: Domain = {
  name: SERVICES,
  readsLive: {
    [liveKinds.service]: [liveKinds.service],
    [liveKinds.slice]: [liveKinds.service, liveKinds.slice],
  },
  derive: (graph, { inputs, declarations, clusterIndex }) => {
    const liveServices = indexLiveServices(graph, inputs.live);
    const { mirrors, feeds, exports } = deriveMirrors(graph, declarations, clusterIndex, liveServices);
    const wants = deriveServiceWants(graph, exports, inputs.live, liveServices);
    const exportsByMirror = graph.index('exportsByMirror', exports, ({ value }) => [value.mirror]);
    return {
      collections: { bySource: [feeds, exports, wants], anywhere: [mirrors] },
      wants,
      reading: {
        clusters: graph.index('mirrorFeedsByCluster', feeds, ({ value }) => [value.from]),
        wayOut: 'leave the cluster out of the ServiceMirrors that read it',
      },
      collisions: {
        contested: {
          reason: 'NameCollision',
          message:
            'several services of one cluster have this name when they are mirrored, and it cannot be told which one it is',
        },
        requirementUnclear: {
          reason: 'NameCollision',
          message:
            'the Service of this name may stand for another one, and its addresses are not mixed with those of others',
        },
        advice: 'so rename the other, or leave it out of the ServiceMirror',
      },
      statuses: (after) => deriveMirrorStatuses(graph, mirrors, exportsByMirror, after),
      views: {
        'mirrored-services': () =>
          [...exports.partitions()]
            .flatMap((source) => [...exports.entries(source)])
            .map(({ value: { service, from, to, mirror } }) => ({
              service: displayKey(service),
              from,
              to: to.join(', '),
              mirror,
            }))
            .sort((a, b) => compareText(`${a.service} ${a.from} ${a.mirror}`, `${b.service} ${b.from} ${b.mirror}`)),
      },
      diagnostics: () =>
        [...mirrors.entries('')].flatMap(({ key, value: { declared, unknownClusters } }) =>
          unknownClusters.map((name) => ({
            severity: 'warning',
            reason: 'UnknownCluster',
            message: `ServiceMirror ${key} names clusters that no KubernetesCluster declares: ${name}`,
            at: placesOf(declared, name),
          })),
        ),
      explains: explainMirrored,
    };
  },
};

/** Where a ServiceMirror names a cluster: as one that it reads, as one that it writes to, or both. */
function placesOf({ origin, identity, value }: Declared<'ServiceMirror'>, name: string): readonly ValueRef[] {
  return (['from', 'to'] as const)
    .filter((side) => value[side].names.some((each) => each === name))
    .map((side) => ({ ...origin, identity, field: ['spec', side, 'names', { item: name }] }));
}
