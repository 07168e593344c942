import { compareText } from '../../model/text/json.ts';
import type { Entry, Index } from '../collections/types.ts';
import type { EngineDiagnostic } from '../domain.ts';

/**
 * Most findings that a server lists for each source and reason. The file of each finding is read and parsed to find its line, and
 * each finding is written to the status branch; one revision could have a finding for each of its documents.
 */
export const MOST_LISTED = 1_000;

/** The first members of a group, and how many others there are. */
export function firstMembers<Value>(
  index: Index<Value>,
  group: string,
  most: number,
): { readonly entries: readonly Entry<Value>[]; readonly more: number } {
  const count = index.count(group);
  if (count <= most) return { entries: index.members(group), more: 0 };
  return { entries: index.first(group, most), more: count - most };
}

/** A finding, or what stands for `more` findings like it that are not listed. */
export interface Listed extends EngineDiagnostic {
  readonly more?: number;
}

/** Adds what stands for findings that are not listed; it is at the last one that is. */
export function withMore(found: readonly EngineDiagnostic[], more: number): readonly Listed[] {
  const last = found.at(-1);
  return more === 0 || last === undefined ? found : [...found, { ...last, more }];
}

/** The findings in canonical order, a limited number of each source, severity and reason, and how many others there are. */
export function inOrder(findings: readonly Listed[], most: number): readonly EngineDiagnostic[] {
  const sorted = findings
    .map((finding) => ({ finding, key: sortKey(finding) }))
    .sort((a, b) => compareText(a.key, b.key))
    .map(({ finding }) => finding);
  if (sorted.length <= most && sorted.every(({ more }) => more === undefined)) return sorted;
  const groups = Map.groupBy(sorted, ({ severity, reason, at }) => [at[0]?.source ?? '', severity, reason].join(' '));
  return [...groups.values()].flatMap((group): readonly EngineDiagnostic[] => {
    const found = group.filter(({ more }) => more === undefined);
    const left = group.reduce((sum, { more = 0 }) => sum + more, Math.max(0, found.length - most));
    const listed = found.slice(0, most);
    const last = listed.at(-1);
    if (left === 0 || last === undefined) return listed;
    const message = `the same is found ${left} more times in this source, and is not listed; fleetrelay validate lists all`;
    return [...listed, { severity: last.severity, reason: last.reason, message, at: last.at }];
  });
}

function sortKey({ at, reason, message }: EngineDiagnostic): string {
  return `${at[0]?.source ?? ''}\u0000${at[0]?.path ?? ''}\u0000${reason}\u0000${message}`;
}
