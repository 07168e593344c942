/** The folder whose folders go to the cluster of their name. */
const CLUSTERS = 'clusters/';

/** The cluster NAME of a path `clusters/NAME/...`. */
export function clusterFolder(path: string): string | undefined {
  return isInClusters(path) ? /^([^/]+)\/./.exec(path.slice(CLUSTERS.length))?.[1] : undefined;
}

/** Whether the path lies in `clusters/`. */
export function isInClusters(path: string): boolean {
  return path.startsWith(CLUSTERS);
}
