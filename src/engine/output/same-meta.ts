import type { ObjectMeta } from '../../model/output.ts';

/** Whether two objects came from the same, and could have read the same. */
export function sameMeta(a: ObjectMeta, b: ObjectMeta): boolean {
  return sameOrigins(a.origins, b.origins) && sameClusters(a.scope, b.scope);
}

function sameOrigins(a: ObjectMeta['origins'], b: ObjectMeta['origins']): boolean {
  if (a === b) return true;
  return a.length === b.length && a.every(({ source, path }, at) => source === b[at]?.source && path === b[at]?.path);
}

function sameClusters(a: ObjectMeta['scope'], b: ObjectMeta['scope']): boolean {
  return a === b || (a.length === b.length && a.every((cluster, at) => cluster === b[at]));
}
