/** How many data planes and services of a mesh have each status. */
export interface MeshFigures {
  readonly mesh: string;
  readonly dataplanes: Readonly<Record<MeshStatus, number>>;
  readonly services: Readonly<Record<MeshStatus, number>>;
}

type MeshStatus = (typeof STATUSES)[number];

const STATUSES = ['online', 'partially_degraded', 'offline'] as const;

/** Most meshes with a label value of their own: anyone who may annotate a Pod can name one. */
const MAX_MESHES = 100;

/** In characters. Kuma's names are shorter. */
const MAX_NAME = 253;

/** The label value of all other meshes together. No mesh of Kuma can have this name. */
const OTHER_MESHES = '_other';

/**
 * Samples by mesh and status, also those that are 0. The meshes with the most data planes have a label value of their own, of
 * several with the same number the first by name.
 */
export function meshSamples(
  meshes: readonly MeshFigures[],
  what: 'dataplanes' | 'services',
): readonly (readonly [mesh: string, status: MeshStatus, count: number])[] {
  const own = new Set(
    meshes
      .filter(({ mesh }) => mesh.length <= MAX_NAME && mesh !== OTHER_MESHES)
      .map((figures) => ({ mesh: figures.mesh, size: sizeOf(figures) }))
      .sort((a, b) => b.size - a.size || (a.mesh < b.mesh ? -1 : 1))
      .slice(0, MAX_MESHES)
      .map(({ mesh }) => mesh),
  );
  const labelled = Map.groupBy(meshes, ({ mesh }) => (own.has(mesh) ? mesh : OTHER_MESHES));
  return [...labelled].flatMap(([label, group]) =>
    STATUSES.map((status) => [label, status, group.reduce((sum, each) => sum + each[what][status], 0)] as const),
  );
}

function sizeOf({ dataplanes }: MeshFigures): number {
  return STATUSES.reduce((sum, status) => sum + dataplanes[status], 0);
}
