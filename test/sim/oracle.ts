import { type Doc, keyOfObject, type ObjectDoc, type Tree } from './desired.ts';

/** One revision of each source, in the order of the sources; `read` false: it is not known just now. */
export type Vector = readonly { readonly source: string; readonly tree: Tree; readonly read: boolean }[];

/** One document that wants an object in a cluster. */
export interface Wish {
  readonly source: string;
  readonly path: string;
  readonly object: ObjectDoc;
}

/** The desired state of the fleet, computed from the people's documents; shares no code with the engine. */
export interface Wanted {
  /** Declared clusters; then by object key; several documents may want one key. */
  readonly clusters: ReadonlyMap<string, ReadonlyMap<string, readonly Wish[]>>;
  /** Sources that are not completely known: not read, or with a file that no server can read. */
  readonly doubtful: ReadonlySet<string>;
}

/** Returns what a vector of revisions certainly wants: unreadable files want nothing, except for the clusters' names. */
export function wantedBy(vector: Vector): Wanted {
  const all = vector.flatMap(({ source, tree, read }) =>
    [...tree].flatMap(([path, { docs, broken }]) =>
      docs.map((doc) => ({ source, path, doc, certain: read && broken === undefined })),
    ),
  );
  const clusters = all.flatMap(({ doc, certain }) => (doc.type === 'cluster' ? [{ ...doc, certain }] : []));
  const placements = all.flatMap(({ doc, certain }) => (doc.type === 'placement' && certain ? [doc] : []));
  const wanted = new Map(clusters.map(({ name }) => [name, new Map<string, Wish[]>()]));
  for (const { source, path, doc, certain } of all) {
    if (doc.type !== 'object' || !certain) continue;
    const key = keyOfObject(doc.object);
    for (const cluster of clusters) {
      const isPlaced =
        path.startsWith(`clusters/${cluster.name}/`) ||
        placements.some((placement) => places(placement, path, cluster));
      if (!isPlaced) continue;
      const wishes = wanted.get(cluster.name);
      wishes?.set(key, [...(wishes.get(key) ?? []), { source, path, object: doc.object }]);
    }
  }
  const doubtful = vector.filter(({ tree, read }) => !read || [...tree.values()].some(({ broken }) => broken));
  return { clusters: wanted, doubtful: new Set(doubtful.map(({ source }) => source)) };
}

/** The vector as if every source were read, and every file readable as it was last. */
export function readableAgain(vector: Vector): Vector {
  return vector.map((one) => ({
    ...one,
    read: true,
    tree: new Map([...one.tree].map(([path, file]) => [path, { ...file, broken: undefined }])),
  }));
}

function places(
  { folder, names, env }: Extract<Doc, { type: 'placement' }>,
  path: string,
  cluster: Extract<Doc, { type: 'cluster' }> & { readonly certain: boolean },
): boolean {
  if (!path.startsWith(`${folder}/`)) return false;
  return names.includes(cluster.name) || (env !== undefined && cluster.certain && env === cluster.env);
}

/** Does this file still declare the object, for any cluster? */
export function declares(vector: Vector, { source, path }: { source: string; path: string }, key: string): boolean {
  const tree = vector.find((revision) => revision.source === source)?.tree;
  return (tree?.get(path)?.docs ?? []).some((doc) => doc.type === 'object' && keyOfObject(doc.object) === key);
}

/** The guards' limits that a vector states; undefined: it states none. */
export function limitsOf(vector: Vector): Extract<Doc, { type: 'policy' }> | undefined {
  return vector
    .flatMap(({ tree }) => [...tree.values()])
    .flatMap(({ docs }) => docs)
    .find((doc) => doc.type === 'policy');
}
