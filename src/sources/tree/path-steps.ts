import { quote } from '../../model/fleet/ids.ts';
import type { Excess, RevisionLimits } from '../../model/limits/revision-limits.ts';
import { compareText } from '../../model/text/json.ts';
import { pathProblem } from '../../model/text/path-pattern.ts';
import type { TreeEntry } from '../../ports/git-repo.ts';
import { IGNORE_FILE, isHidden, isManifestName, type Membership } from './ignore-file.ts';
import type { Pace } from './pace.ts';
import { BeyondLimit } from './revision-count.ts';

/** What the ignore rules say of a path, and the steps of matching it with all of them. */
export interface PathJudgement {
  readonly follows: boolean;
  readonly steps: number;
}

/** A path without a match: no rule is asked, and it follows. */
export const notMatched: PathJudgement = { follows: true, steps: 0 };

/**
 * Whether the ignore rules have a say: the path of a file without the name of a manifest is not matched, nor is one that is hidden, or
 * that no file system can hold.
 */
export function isMatched(path: string, kind: TreeEntry['kind']): boolean {
  return (kind === 'file' ? isManifestName(path) : !isHidden(path)) && pathProblem(path) === undefined;
}

/** A path of a revision with the steps of matching it, or with its kind if it is not matched yet. */
export type PathOfRevision = readonly [path: string, known: number | TreeEntry['kind']];

export interface PathSteps {
  readonly membership: Membership;
  readonly limits: RevisionLimits;
  readonly pace: Pace;
  /** The steps of the paths of the revision that are not matched again. */
  readonly kept: number;
}

/**
 * Matches paths with the ignore rules, in slices. `all` are the paths of the revision, with their steps or, for those that are
 * matched now, their kind. Throws {@link BeyondLimit} when the revision has more steps than its limit, before they are done.
 */
export async function matchPaths(
  steps: PathSteps,
  paths: Iterable<readonly [path: string, kind: TreeEntry['kind']]>,
  all: () => Iterable<PathOfRevision>,
): Promise<{ readonly judged: Map<string, PathJudgement>; readonly steps: number }> {
  const { limits, kept, membership } = steps;
  const judged = new Map<string, PathJudgement>();
  const meter = createStepMeter(limits, kept);
  let last = '';
  try {
    meter.add(0);
    // Without rules every path follows, and needs no step.
    const asked = membership.rules.length === 0 ? [] : [...paths];
    for (const [path, kind] of asked.sort(([a], [b]) => compareText(a, b))) {
      last = path;
      judged.set(path, isMatched(path, kind) ? await judgePath(steps, path, meter.add) : notMatched);
    }
  } catch (error) {
    if (!(error instanceof StepsExceeded)) throw error;
    const path = kept === 0 ? last : await pathAtLimit(steps, all());
    throw new BeyondLimit(await excessAt(steps, path));
  }
  return { judged, steps: meter.total() };
}

/** Ends a match above the limit. */
class StepsExceeded extends Error {}

/** Adds steps to those at the start. Throws {@link StepsExceeded} above the limit of a revision. */
function createStepMeter({ matchingSteps }: RevisionLimits, start: number) {
  let total = start;
  return {
    add: (more: number): void => {
      total += more;
      if (total > matchingSteps) throw new StepsExceeded('matching exceeds a limit');
    },
    total: (): number => total,
  };
}

/** Judges one path; the event loop may turn between two rules. */
async function judgePath(
  { membership, pace }: Pick<PathSteps, 'membership' | 'pace'>,
  path: string,
  meter: (steps: number) => void,
  ruleDone: () => void = () => undefined,
): Promise<PathJudgement> {
  let steps = 0;
  const work = membership.judge(path, (more) => {
    steps += more;
    pace.count(more);
    meter(more);
  });
  pace.path();
  for (;;) {
    const piece = work.next();
    if (pace.isDue()) await pace.turn();
    if (piece.done === true) return { follows: piece.value, steps };
    ruleDone();
  }
}

/**
 * The path with which the sum exceeds the limit in canonical order of all paths, so that every reader of the revision names the same
 * one.
 */
async function pathAtLimit(steps: PathSteps, all: Iterable<PathOfRevision>): Promise<string> {
  const meter = createStepMeter(steps.limits, 0);
  let last = '';
  try {
    for (const [path, known] of [...all].sort(([a], [b]) => compareText(a, b))) {
      last = path;
      if (typeof known === 'number') meter.add(known);
      else if (isMatched(path, known)) await judgePath(steps, path, meter.add);
    }
  } catch (error) {
    if (!(error instanceof StepsExceeded)) throw error;
  }
  return last;
}

/** The excess with the path, and the rule that needs the most steps for it. */
async function excessAt(steps: PathSteps, path: string): Promise<Excess> {
  const { matchingSteps: most } = steps.limits;
  return { limit: 'matchingSteps', most, found: most + 1, path, cause: await causeAt(steps, path) };
}

async function causeAt(steps: PathSteps, path: string): Promise<string> {
  const { rules } = steps.membership;
  const byRule: number[] = [];
  let ofRule = 0;
  const meter = (more: number): void => {
    ofRule += more;
  };
  const ruleDone = (): void => {
    byRule.push(ofRule);
    ofRule = 0;
  };
  await judgePath(steps, path, meter, ruleDone);
  const most = Math.max(...byRule);
  const rule = rules[byRule.indexOf(most)];
  const total = byRule.reduce((sum, each) => sum + each, 0);
  const where =
    rule === undefined ? '' : `, ${most} of them for the rule ${quote(rule.text)} (${IGNORE_FILE}:${rule.line})`;
  return `the path ${quote(path)} alone needs ${total} steps${where}`;
}
