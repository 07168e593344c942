import type { Collection, Derived, Entry, Graph } from '../../../engine/collections/types.ts';
import type { Domain, EngineDiagnostic, ValueRef } from '../../../engine/domain.ts';
import {
  type ClusterValue,
  clusterHint,
  indexUnknownClusters,
  unknownClustersOf,
} from '../../../engine/fleet/clusters.ts';
import type { Declared } from '../../../engine/fleet/declared.ts';
import type { DocumentRef } from '../../../engine/fleet/sources.ts';
import type { Collisions } from '../../../engine/output/decisions.ts';
import { notReached } from '../../../engine/status/not-reached.ts';
import { displayKey } from '../../../model/objects/object-key.ts';
import { compareText, type JsonObject } from '../../../model/text/json.ts';
import { health } from '../../health/index.ts';
import { explainLive } from './explain.ts';
import { liveKinds } from './live-services.ts';
import { deriveServiceWants, deriveSliceWants, SERVICES } from './live-wants.ts';
import type { MeshExport } from './mesh-mirrors.ts';
import { deriveMeshes } from './meshes.ts';
import {
  clustersOf,
  deriveMirrorStatuses,
  deriveMirrors,
  exportedObject,
  type Feed,
  type MirrorValue,
} from './mirrors.ts';
import { whyNotMirrored } from './why-not.ts';

/** Mirrors Services of some clusters into others, as ServiceMirrors declare. */
export const services: Domain = {
  name: SERVICES,
  readsLive: {
    [liveKinds.service]: [liveKinds.service],
    [liveKinds.slice]: [liveKinds.service, liveKinds.slice],
  },
  derive: (graph, { inputs, rights, documents, declarations, clusters, clusterIndex, earlier }) => {
    const { barred, mirrors, feeds, feedsByCluster, exports, sliceExports } = deriveMirrors(
      graph,
      declarations,
      clusterIndex,
      { live: inputs.live, rights, documents },
    );
    const { inbounds, declared, awaited, ownership } = earlier(health);
    const serviceWants = deriveServiceWants(graph, exports, inputs.live);
    const sliceWants = deriveSliceWants(graph, sliceExports, { ...inputs, inbounds });
    const meshes = deriveMeshes(graph, mirrors, { declared, awaited, declarations, ownership, rights, clusterIndex });
    const wants = [serviceWants, sliceWants, meshes.wants];
    const exportsByMirror = [
      graph.index('exportsByMirror', exports, ({ value }) => [value.mirror]),
      graph.index('meshExportsByMirror', meshes.exports, ({ value: { mirror, slice } }) =>
        slice === undefined ? [mirror] : [],
      ),
    ];
    const findings = deriveFindings(graph, mirrors, clusters);
    return {
      collections: {
        bySource: [...barred, feeds, exports, sliceExports, serviceWants, sliceWants, ...meshes.bySource],
        anywhere: [mirrors, ...meshes.anywhere],
      },
      makes: {
        wants,
        barred,
        reading: { clusters: feedsByCluster, wayOut: 'leave the cluster out of the ServiceMirrors that read it' },
        collisions,
      },
      report: ({ progressBySubject }) => ({
        statuses: deriveMirrorStatuses(graph, mirrors, exportsByMirror, progressBySubject),
        shows: {
          views: {
            'mirrored-services': () => mirroredRows(exports, meshes.exports),
          },
          diagnostics: () => [...findings(), ...meshes.warnings()],
          explainsAbsence: (cluster, name) => whyNotMirrored({ mirrors, clusters, ...inputs }, cluster, name),
          explains: (candidates, output) => [
            ...explainLive(candidates, output),
            ...meshes.explains(candidates, output),
          ],
        },
      }),
    };
  },
};

/** Returns the findings about ServiceMirrors that select no cluster, or one that is unknown or out of reach. */
function deriveFindings(
  graph: Graph,
  mirrors: Derived<MirrorValue>,
  clusters: Derived<ClusterValue>,
): () => readonly EngineDiagnostic[] {
  const unknownClusters = indexUnknownClusters(graph, mirrors);
  const outOfReach = graph.index('mirrorsWithClustersOutOfReach', mirrors, ({ value }) =>
    value.outOfReach.length > 0 ? ['all'] : [],
  );
  const emptySelectors = graph.index('mirrorsWithEmptySelector', mirrors, ({ value }) =>
    value.selectsNone.length > 0 ? ['all'] : [],
  );
  return () => [
    ...unknownClustersOf(unknownClusters).map(
      ({ name, entry: { key, value } }): EngineDiagnostic => ({
        severity: 'warning',
        reason: 'UnknownCluster',
        message: `ServiceMirror ${key} names clusters that no KubernetesCluster declares: ${name}`,
        ...clusterHint(name, clusters),
        at: placesOf(value.declared, name),
      }),
    ),
    ...outOfReach
      .members('all')
      .flatMap(({ key, value: { declared, outOfReach: names } }) =>
        names.map((name) => notReached(`ServiceMirror ${key}`, declared, name, placesOf(declared, name))),
      ),
    ...emptySelectors.members('all').map(
      ({ key, value: { declared, selectsNone } }): EngineDiagnostic => ({
        severity: 'warning',
        reason: 'SelectsNoCluster',
        message: `the selector of ServiceMirror ${key} matches no KubernetesCluster`,
        at: selectsNone.map((side) => ({ ...refOf(declared), field: ['spec', side, 'selector'] })),
      }),
    ),
  ];
}

/** The rows of all mirrored services, in canonical order. */
function mirroredRows(exports: Collection<Feed>, ofMeshes: Collection<MeshExport>): readonly JsonObject[] {
  return [
    ...entriesOf(exports).map(({ key, value: { from, to, mirror } }) => ({
      service: displayKey(exportedObject(key)),
      from,
      to: to.join(', '),
      mirror,
    })),
    ...entriesOf(ofMeshes).flatMap(({ value: { service, mesh, to, mirror, slice } }) =>
      slice === undefined ? [{ service, from: `mesh ${mesh}`, to: to.join(', '), mirror }] : [],
    ),
  ].sort((a, b) => compareText(`${a.service} ${a.from} ${a.mirror}`, `${b.service} ${b.from} ${b.mirror}`));
}

function entriesOf<Value>(collection: Collection<Value>): readonly Entry<Value>[] {
  return [...collection.partitions()].flatMap((partition) => [...collection.entries(partition)]);
}

/** Messages for two services with one name. */
const collisions: Collisions = {
  contested: {
    reason: 'NameCollision',
    message:
      'several services of one cluster or mesh have this name when they are mirrored, and it cannot be told which one it is',
  },
  requirementUnclear: {
    reason: 'NameCollision',
    message: 'the Service of this name may stand for another one, and addresses of two Services are never mixed',
  },
  advice: 'so rename the other, or leave it out of the ServiceMirror',
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
