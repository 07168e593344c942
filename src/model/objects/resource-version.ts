/**
 * Whether resourceVersion `a` is from before `b`. Versions of one API server are numbers of any length; versions that are no
 * numbers cannot be compared, and none of them is older.
 */
export function isOlderVersion(a: string, b: string): boolean {
  if (!/^\d+$/.test(a) || !/^\d+$/.test(b)) return false;
  return a.length === b.length ? a < b : a.length < b.length;
}
