import type { Collection, Contribution, Graph } from '../../../engine/collections/types.ts';
import type { DomainCore } from '../../../engine/domain.ts';
import type { Output } from '../../../engine/output/outputs.ts';
import type { Candidate } from '../../../engine/placement/wants.ts';
import type { HealthParts } from '../../health/index.ts';
import { explainMesh, leftOutAddresses } from './explain.ts';
import { deriveMeshExports, deriveMeshFeeds, deriveMeshWants } from './mesh-mirrors.ts';
import { deriveMeshSlices } from './mesh-slices.ts';
import type { MirrorValue } from './mirrors.ts';

/** What {@link deriveMeshes} reads. */
interface MeshInputs
  extends Pick<HealthParts, 'declared' | 'awaited' | 'ownership'>,
    Pick<DomainCore, 'declarations' | 'rights' | 'clusterIndex'> {}

/** Mirrors the services of declared data planes: ServiceMirrors → feeds → exports → wants, with the slices of the meshes. */
export function deriveMeshes(graph: Graph, mirrors: Collection<MirrorValue>, inputs: MeshInputs) {
  const feeds = deriveMeshFeeds(graph, mirrors);
  const feedsByMesh = graph.index('meshFeedsByMesh', feeds, ({ value }) => [value.mesh]);
  const slices = deriveMeshSlices(graph, { ...inputs, ...inputs.ownership, feedsByMesh });
  const exports = deriveMeshExports(graph, feeds, slices);
  const wants = deriveMeshWants(graph, exports, { ...slices, ...inputs, ...inputs.ownership });
  const sources = { ...inputs, exports, slices };
  return {
    exports,
    wants,
    bySource: [feeds, exports, wants],
    anywhere: slices.derived,
    warnings: () => leftOutAddresses(sources),
    explains: (candidates: readonly Contribution<Candidate>[], output: Output | undefined) =>
      explainMesh(sources, candidates, output),
  };
}
