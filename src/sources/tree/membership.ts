import ignore from 'ignore';

/** The file (gitignore syntax, at the root of the source) that says which files are no manifests. */
export const IGNORE_FILE = '.fleetrelayignore';

/** Which paths of a tree the source reads. */
export interface Membership {
  /** Not excluded by the ignore file. */
  follows(path: string): boolean;
}

/** `problem` is the end of a sentence about the file; `line` counts from 1. */
export type MembershipReading =
  | { readonly ok: true; readonly membership: Membership }
  | { readonly ok: false; readonly problem: string; readonly line?: number };

/** Everything is followed. */
export const followsAll: Membership = { follows: () => true };

const MAX_RULES = 1_000;
const MAX_RULE_LENGTH = 500;
const MAX_STARS = 3;

/** Is this the name of a manifest? Every other file is passed over in silence. */
export function isManifestName(path: string): boolean {
  return /\.(ya?ml|json)$/i.test(path) && path.length <= 4096;
}

/**
 * Membership by the text of an ignore file. Rules are bounded, because matching them is work for each path: many stars
 * in a row of one name make it a great deal of work.
 */
export function parseIgnoreFile(text: string): MembershipReading {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const isRule = (line: string): boolean => line.trim() !== '' && !line.startsWith('#');
  if (lines.filter(isRule).length > MAX_RULES) return { ok: false, problem: `has more than ${MAX_RULES} rules` };
  const bad = lines.findIndex((line) => isRule(line) && ruleProblem(line) !== undefined);
  if (bad >= 0) return { ok: false, problem: ruleProblem(lines[bad] ?? '') ?? '', line: bad + 1 };
  const rules = ignore({ ignorecase: false, allowRelativePaths: true }).add(lines);
  return { ok: true, membership: { follows: (path) => !rules.ignores(path) } };
}

function ruleProblem(rule: string): string | undefined {
  if (rule.length > MAX_RULE_LENGTH) return `has a rule longer than ${MAX_RULE_LENGTH} characters`;
  const parts = rule.split('/');
  const deep = parts.filter((part) => part === '**').length;
  const most = Math.max(...parts.filter((part) => part !== '**').map((part) => part.split(/\*+/).length - 1));
  if (deep > MAX_STARS || most > MAX_STARS) {
    return `has a rule with more than ${MAX_STARS} "*" in one name, or more than ${MAX_STARS} "**"`;
  }
  try {
    // Rules are compiled when they are first asked, and some cannot be.
    ignore().add(rule.replace(/^!+/, '')).ignores('x');
    return undefined;
  } catch {
    return 'has a rule that is no pattern';
  }
}
