import { MOST_WILDCARDS } from '../../model/limits/revision-limits.ts';
import {
  addPiece,
  type CountSteps,
  countWildcards,
  matchEnds,
  type PathPattern,
  type Piece,
  readBracket,
} from '../../model/text/path-pattern.ts';

/** The file (gitignore syntax, at the root of the source) that excludes files from the source. */
export const IGNORE_FILE = '.fleetrelayignore';

/** Which paths of a tree the source reads. */
export interface Membership {
  /** True unless the ignore file excludes the path. A folder's path ends with "/". Yields after each rule; `count` receives the work. */
  judge(path: string, count: CountSteps): Generator<undefined, boolean>;
  readonly rules: readonly WrittenRule[];
}

/** A rule as it is written in line `line` (from 1) of the ignore file. */
export interface WrittenRule {
  readonly line: number;
  readonly text: string;
}

/** `problem` is the end of a sentence about the file; `line` counts from 1. */
export type MembershipReading =
  | { readonly ok: true; readonly membership: Membership }
  | { readonly ok: false; readonly problem: string; readonly line: number };

/** The membership without an ignore file. */
export const followsAll: Membership = membershipOf([]);

/** One line of an ignore file, compiled. */
export interface IgnoreRule {
  /** False: what matches is no longer excluded by the rules above. */
  readonly excludes: boolean;
  /** The rule matches no files. */
  readonly onlyFolders: boolean;
  readonly pattern: PathPattern;
}

interface NumberedRule extends IgnoreRule, WrittenRule {}

const MAX_RULES = 1_000;
const MAX_RULE_LENGTH = 500;

/**
 * True for the name of a manifest or of a kustomization, if neither the file nor a folder of its path is hidden. Every other
 * file is ignored without a message.
 */
export function isManifestName(path: string): boolean {
  return hasManifestEnding(path) && !isHidden(path);
}

/** As {@link isManifestName}, of a path that is not relative to its source. */
export function hasManifestEnding(path: string): boolean {
  return /\.(?:ya?ml|json)$/i.test(path) || /(?:^|\/)Kustomization$/.test(path);
}

/** Whether a file or a folder of the path begins with a dot: by convention it is of a tool and not of the desired state. */
export function isHidden(path: string): boolean {
  return path.startsWith('.') || path.includes('/.');
}

/** Parses an ignore file. The number of rules is bounded, because each path is matched against each rule. */
export function parseIgnoreFile(text: string): MembershipReading {
  const rules: NumberedRule[] = [];
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
    if (wildcards > MOST_WILDCARDS) return broken(`has more than ${MOST_WILDCARDS} wildcards in its rules`);
    rules.push({ ...rule, line: index + 1, text: line });
  }
  return { ok: true, membership: membershipOf(rules) };
}

function membershipOf(rules: readonly NumberedRule[]): Membership {
  const judge: Membership['judge'] = function* (path, count) {
    return !(yield* isExcluded(path, rules, count));
  };
  return { rules, judge };
}

/** The last rule that matches a file or folder decides; everything in an excluded folder is excluded. Yields after each rule. */
function* isExcluded(path: string, rules: readonly IgnoreRule[], count: CountSteps): Generator<undefined, boolean> {
  const isFolder = path.endsWith('/');
  const whole = `/${isFolder ? path.slice(0, -1) : path}`;
  const excludedAt = new Map<number, boolean>();
  for (const { pattern, excludes, onlyFolders } of rules) {
    for (const end of matchEnds(pattern, whole, count)) {
      const isMatch = end === whole.length ? isFolder || !onlyFolders : whole[end] === '/';
      if (isMatch) excludedAt.set(end, excludes);
    }
    yield;
  }
  return excludedAt.values().some((excluded) => excluded);
}

/** Compiles a line that is neither empty nor a comment, by gitignore(5). Undefined: the line is no pattern. */
export function readIgnoreRule(line: string): IgnoreRule | undefined {
  const excludes = !line.startsWith('!');
  const text = withoutTrailingSpaces(excludes ? line : line.slice(1));
  const onlyFolders = text.endsWith('/');
  const path = onlyFolders ? text.slice(0, -1) : text;
  if (path === '') return undefined;
  // A pattern with a "/" begins at the root, one without matches in every folder.
  const anchored = path.includes('/') ? path.replace(/^\//, '') : `**/${path}`;
  const pattern = readPattern(`/${anchored}`);
  return pattern === undefined ? undefined : { excludes, onlyFolders, pattern };
}

/** Removes trailing spaces, except a space after a "\". */
function withoutTrailingSpaces(text: string): string {
  let end = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === ' ') continue;
    if (text[at] === '\\') at += 1;
    end = at + 1;
  }
  return text.slice(0, end);
}

function readPattern(text: string): PathPattern | undefined {
  const pieces: Piece[] = [];
  for (let at = 0; at < text.length; ) {
    const read = readPiece(text, at);
    if (read === undefined) return undefined;
    addPiece(pieces, read.piece);
    at = read.end;
  }
  return pieces;
}

function readPiece(text: string, at: number): { readonly piece: Piece; readonly end: number } | undefined {
  switch (text[at]) {
    case '/': {
      const end = endOfStars(text, at + 1);
      const isNames = end > at + 2 && (text[end] === '/' || end === text.length);
      return isNames
        ? { piece: { type: 'names', atLeast: end === text.length ? 1 : 0 }, end }
        : { piece: { type: 'text', text: '/' }, end: at + 1 };
    }
    case '*':
      // Several stars within a name match the same as one.
      return { piece: { type: 'characters', text: '' }, end: endOfStars(text, at) };
    case '?':
      return { piece: { type: 'character' }, end: at + 1 };
    case '[': {
      const bracket = readBracket(text, at);
      return bracket && { piece: { type: 'character', of: bracket.set }, end: bracket.end };
    }
    case '\\':
      return at + 1 < text.length ? { piece: { type: 'text', text: text.charAt(at + 1) }, end: at + 2 } : undefined;
    default:
      return { piece: { type: 'text', text: text.charAt(at) }, end: at + 1 };
  }
}

function endOfStars(text: string, at: number): number {
  let end = at;
  while (text[end] === '*') end += 1;
  return end;
}
