import { compareText } from '../../model/json.ts';
import { displayKey } from '../../model/object-key.ts';
import type { Contribution } from '../collections/types.ts';
import type { Domain, EngineDiagnostic, Reason, ValueRef } from '../domain.ts';
import { clusterHint, indexUnknownClusters, unknownClustersOf } from '../fleet/clusters.ts';
import type { Declared } from '../fleet/declared.ts';
import { type DocumentRef, documentRefOf } from '../fleet/sources.ts';
import { health } from '../health/health.ts';
import type { Output } from '../output/outputs.ts';
import type { Candidate } from '../placement/wants.ts';
import { indexLiveServices, liveKinds } from './live-services.ts';
import { deriveServiceWants, deriveSliceWants, SERVICES } from './live-wants.ts';
import { clustersOf, deriveMirrorStatuses, deriveMirrors } from './mirrors.ts';

/** Mirrors Services of some clusters into others, as ServiceMirrors declare. */
export const services: Domain = {
  name: SERVICES,
  readsLive: {
    [liveKinds.service]: [liveKinds.service],
    [liveKinds.slice]: [liveKinds.service, liveKinds.slice],
  },
  derive: (graph, { inputs, declarations, clusters, clusterIndex, earlier }) => {
    const liveServices = indexLiveServices(graph, inputs.live);
    const { mirrors, feeds, exports, sliceExports } = deriveMirrors(graph, declarations, clusterIndex, liveServices);
    const inbounds = earlier(health)?.inbounds;
    const serviceWants = deriveServiceWants(graph, exports, inputs.live);
    const sliceWants = deriveSliceWants(graph, sliceExports, { ...inputs, inbounds });
    const wants = [serviceWants, sliceWants];
    const exportsByMirror = graph.index('exportsByMirror', exports, ({ value }) => [value.mirror]);
    const unknownClusters = indexUnknownClusters(graph, mirrors);
    const emptySelectors = graph.index('mirrorsWithEmptySelector', mirrors, ({ value }) =>
      value.selectsNone.length > 0 ? ['all'] : [],
    );
    return {
      collections: { bySource: [feeds, exports, sliceExports, ...wants], anywhere: [mirrors] },
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
      statuses: ({ progressBySubject }) => deriveMirrorStatuses(graph, mirrors, exportsByMirror, progressBySubject),
      views: {
        'mirrored-services': () =>
          [...exports.partitions()]
            .flatMap((source) => [...exports.entries(source)])
            .map(({ value: { service, from, to, mirror } }) => ({
              ...{ service: displayKey(service), from, to: to.join(', '), mirror },
            }))
            .sort((a, b) => compareText(`${a.service} ${a.from} ${a.mirror}`, `${b.service} ${b.from} ${b.mirror}`)),
      },
      diagnostics: () => [
        ...unknownClustersOf(unknownClusters).map(
          ({ name, entry: { key, value } }): EngineDiagnostic => ({
            severity: 'warning',
            reason: 'UnknownCluster',
            message: `ServiceMirror ${key} names clusters that no KubernetesCluster declares: ${name}`,
            ...clusterHint(name, clusters),
            at: placesOf(value.declared, name),
          }),
        ),
        ...emptySelectors.members('all').map(
          ({ key, value: { declared, selectsNone } }): EngineDiagnostic => ({
            severity: 'warning',
            reason: 'SelectsNoCluster',
            message: `the selector of ServiceMirror ${key} matches no KubernetesCluster`,
            at: selectsNone.map((side) => ({ ...refOf(declared), field: ['spec', side, 'selector'] })),
          }),
        ),
      ],
      explains: explainMirrored,
    };
  },
};

/** The places where a ServiceMirror names a cluster. */
function placesOf(declared: Declared<'ServiceMirror'>, name: string): readonly ValueRef[] {
  const { from, to } = declared.value;
  return (
    [
      ['from', clustersOf(from)],
      ['to', to],
    ] as const
  )
    .filter(([, { names }]) => names.some((each) => each === name))
    .map(([side]) => ({ ...refOf(declared), field: ['spec', side, 'names', { item: name }] }));
}

function refOf({ origin, identity }: Declared): DocumentRef {
  return { ...origin, identity };
}

/** The live objects that a mirrored one stands for, the winner first, and the ServiceMirrors that select them. */
function explainMirrored(
  candidates: readonly Contribution<Candidate>[],
  output: Output | undefined,
): readonly Reason[] {
  const live = new Map<string, { readonly reason: Reason; readonly counts: boolean }>();
  const rules = new Map<string, Reason>();
  for (const { from, value } of candidates) {
    if (value.derived === undefined) continue;
    const { cluster, key } = value.derived.standsFor;
    const counts = output?.type !== 'object' || (output.digest === value.digest && output.scope[0] === cluster);
    const part = counts ? 'lives there, and is mirrored' : 'would have the same name, and does not count';
    live.set(`${cluster}/${key}`, { reason: { type: 'live', cluster, key, part }, counts });
    const at = documentRefOf(from);
    const name = at.identity.slice(at.identity.lastIndexOf('/') + 1).replace(/#\d+$/, '');
    const selects = 'selects the service and both clusters';
    rules.set(name, { type: 'rule', kind: 'ServiceMirror', name, at, part: selects });
  }
  const sorted = [...live.values()].sort((a, b) => Number(b.counts) - Number(a.counts));
  return [...sorted.map(({ reason }) => reason), ...rules.values()];
}
