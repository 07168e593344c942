/**
 * Limits the rows of a view: by name of a filter, its values. `cluster` is a filter of each view that has clusters, other names are
 * filters of a domain, which says whether a row needs one of the values or all. A view ignores filters that it does not have.
 */
export type ViewFilter = Readonly<Partial<Record<string, readonly string[]>>>;

/** Whether a row with this value is wanted; `wanted`: the values of its filter, one of which is enough. */
export function isWanted(wanted: readonly string[] | undefined, value: string): boolean {
  return wanted?.includes(value) ?? true;
}
