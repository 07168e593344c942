import { countWildcards, matchEnds } from '../../model/path-pattern.ts';
import { type IgnoreRule, readIgnoreRule } from './ignore-rule.ts';

/** The file (gitignore syntax, at the root of the source) that says which files are no manifests. */
export const IGNORE_FILE = '.fleetrelayignore';

/** Which paths of a tree the source reads. */
export interface Membership {
  /** Not excluded by the ignore file. A folder's path ends with "/". */
  follows(path: string): boolean;
}

/** `problem` is the end of a sentence about the file; `line` counts from 1. */
export type MembershipReading =
  | { readonly ok: true; readonly membership: Membership }
  | { readonly ok: false; readonly problem: string; readonly line: number };

/** Everything is followed. */
export const followsAll: Membership = { follows: () => true };

const MAX_RULES = 1_000;
const MAX_RULE_LENGTH = 500;
/** Of all rules together: each can be work for every character of every path. */
const MAX_WILDCARDS = 5_000;

/** Is this the name of a manifest? Every other file is passed over in silence. */
export function isManifestName(path: string): boolean {
  return /\.(ya?ml|json)$/i.test(path);
}

/** Membership by the text of an ignore file. Rules are bounded, because matching them is work for each path. */
export function parseIgnoreFile(text: string): MembershipReading {
  const rules: IgnoreRule[] = [];
  let wildcards = 0;
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const broken = (problem: string): MembershipReading => ({ ok: false, problem, line: index + 1 });
    if (rules.length === MAX_RULES) return broken(`has more than ${MAX_RULES} rules`);
    if (line.length > MAX_RULE_LENGTH) return broken(`has a rule longer than ${MAX_RULE_LENGTH} characters`);
    const rule = readIgnoreRule(line);
    if (rule === undefined) return broken('has a rule that is no pattern');
    wildcards += countWildcards(rule.pattern);
    if (wildcards > MAX_WILDCARDS) return broken(`has more than ${MAX_WILDCARDS} wildcards in its rules`);
    rules.push(rule);
  }
  return { ok: true, membership: { follows: (path) => !isExcluded(path, rules) } };
}

/** The last rule that matches a file or folder counts; what lies in an excluded folder is excluded. */
function isExcluded(path: string, rules: readonly IgnoreRule[]): boolean {
  const isFolder = path.endsWith('/');
  const whole = `/${isFolder ? path.slice(0, -1) : path}`;
  const excludedAt = new Map<number, boolean>();
  for (const { pattern, excludes, onlyFolders } of rules) {
    for (const end of matchEnds(pattern, whole)) {
      const isMatch = end === whole.length ? isFolder || !onlyFolders : whole[end] === '/';
      if (isMatch) excludedAt.set(end, excludes);
    }
  }
  return excludedAt.values().some((excluded) => excluded);
}
