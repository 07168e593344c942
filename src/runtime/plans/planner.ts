import type { Answer } from '../../api/answer.ts';
import type { SidedRef } from '../../engine/explain/plan-causes.ts';
import type { LocateAll } from '../../manifest/locate.ts';
import { displayLocation, type Location } from '../../model/fleet/diagnostic.ts';
import { quote } from '../../model/fleet/ids.ts';
import { stateOf } from '../../model/fleet/recording.ts';
import { errorText } from '../../model/text/messages.ts';
import { refProblem } from '../../model/text/ref-name.ts';
import { rfc3339 } from '../../model/text/time.ts';
import { createTurns, type InTurn } from '../../model/values/in-turn.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { RefChanges, RefRefusal, Source } from '../../ports/source.ts';
import type { Locator } from '../api/locator.ts';
import type { Capture, CapturedState } from '../recording/capture.ts';
import type { SourceTable } from '../source-table.ts';
import { displaySuspension, type Suspensions } from '../suspensions.ts';
import { type EvaluatePlan, type FinishedPlan, type PlanQuestion, warningOf } from './plan-job.ts';

interface PlannerDeps {
  readonly sources: Pick<SourceTable, 'all' | 'get'>;
  readonly capture: Pick<Capture, 'capture' | 'texts'>;
  readonly evaluate: EvaluatePlan;
  /** Finds lines in files of the admitted revisions. */
  readonly locator: Pick<Locator, 'find'>;
  /** Finds lines in other files. */
  readonly locate: LocateAll;
  readonly suspensions: Pick<Suspensions, 'get'>;
  /** Whether refs of forks of this source may be planned. */
  readonly allowsForks: (source: string) => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** A finished plan, and the commit that was planned. */
export interface PlannedRef extends FinishedPlan {
  readonly commit: string;
}

export type Planner = ReturnType<typeof createPlanner>;

/** Most plans of one source under way, the one in the making included. */
const MOST_WAITING = 4;
/** Refusals that are no conflict: another ref, or another attempt, may be readable. */
const KINDS: Readonly<Record<string, 'notFound' | 'unavailable'>> = {
  RefNotFound: 'notFound',
  NotRead: 'unavailable',
  TimedOut: 'unavailable',
  Unreachable: 'unavailable',
};
/** The ref is looked at again if another revision was admitted meanwhile. */
const ATTEMPTS = 3;

/** Plans what refs of sources would do, one at a time and apart from the server. */
export function createPlanner(deps: PlannerDeps) {
  const { sources, log } = deps;
  const turns = new Map<string, { readonly inTurn: InTurn; waiting: number }>();
  const evaluating = createTurns();

  return {
    /** `name` absent: the only source. */
    plan: async (name: string | undefined, ref: string, signal: AbortSignal): Promise<Answer<PlannedRef>> => {
      const found = chosenSource(sources, name);
      if (!found.ok) return found;
      const { source } = found;
      const problem = refProblem(ref, deps.allowsForks(source.name));
      if (problem !== undefined) return { ok: false, kind: 'invalid', message: `${quote(ref)} ${problem}` };
      const turn = turns.get(source.name) ?? { inTurn: createTurns(), waiting: 0 };
      turns.set(source.name, turn);
      if (turn.waiting >= MOST_WAITING) {
        const message = `${turn.waiting} plans of source ${source.name} are under way; ask again later`;
        return { ok: false, kind: 'unavailable', message };
      }
      turn.waiting += 1;
      try {
        return await turn.inTurn(() => planRef(deps, source, ref, signal, evaluating));
      } catch (error) {
        log.warn('a plan has failed', { source: source.name, ref, error: errorText(error) });
        return { ok: false, kind: 'unavailable', message: errorText(error) };
      } finally {
        turn.waiting -= 1;
      }
    },
  };
}

function chosenSource(
  sources: PlannerDeps['sources'],
  name: string | undefined,
): { readonly ok: true; readonly source: Source } | Extract<Answer<never>, { readonly ok: false }> {
  const all = sources.all().filter(({ source }) => name !== undefined || source.readRef !== undefined);
  const names = all.map(({ source }) => source.name).join(', ');
  if (name === undefined && all.length !== 1) {
    return { ok: false, kind: 'invalid', message: `say which source the ref is of: ${names}` };
  }
  const state = name === undefined ? all[0] : sources.get(name);
  if (state !== undefined) return { ok: true, source: state.source };
  return { ok: false, kind: 'notFound', message: `there is no source ${quote(name ?? '')}; there are ${names}` };
}

async function planRef(
  deps: PlannerDeps,
  source: Source,
  ref: string,
  signal: AbortSignal,
  evaluating: InTurn,
): Promise<Answer<PlannedRef>> {
  const { capture, evaluate } = deps;
  if (source.readRef === undefined) {
    const message = `source ${source.name} is no git repository, so it has no ref: plan its folder, as in fleetrelay plan FOLDER`;
    return { ok: false, kind: 'invalid', message };
  }
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const found = await source.readRef(ref, signal);
    if (found.type === 'refused') return refusedAnswer(found);
    // Each plan needs memory for the state of the fleet, so that the server makes one at a time.
    const plan = await evaluating(async () => {
      const state = await capture.capture();
      if (!isBase(state, source, found)) return undefined;
      const question = questionOf(deps, source, ref, found, state);
      const places = (refs: readonly SidedRef[]) => placesOf(deps, source, found, refs);
      return evaluate({ question, changes: found, state: capture.texts(state), places }, signal);
    });
    if (plan !== undefined && 'type' in plan) return refusedAnswer(plan);
    if (plan !== undefined) return { ok: true, value: { ...plan, commit: found.revision } };
  }
  const suspended = suspendedText(deps.suspensions, source.name);
  const message =
    suspended === undefined
      ? `source ${source.name} admits new revisions faster than one can be planned, or the last one waits; ask again later`
      : `source ${source.name} is ${suspended}, and a newer revision of it waits`;
  return { ok: false, kind: 'unavailable', message };
}

function refusedAnswer({ reason, message }: RefRefusal): Extract<Answer<never>, { readonly ok: false }> {
  return { ok: false, kind: KINDS[reason] ?? 'conflict', message: `${reason}: ${message}` };
}

function isBase({ header: { revisions } }: CapturedState, { name }: Source, { base }: RefChanges): boolean {
  return revisions.some(({ source, revision }) => source === name && revision === base);
}

function suspendedText(suspensions: PlannerDeps['suspensions'], source: string): string | undefined {
  const suspension = suspensions.get('source', source);
  return suspension && displaySuspension(suspension);
}

function questionOf(
  { clock, suspensions }: PlannerDeps,
  { name }: Source,
  ref: string,
  { revision, base, conflicts, reading }: RefChanges,
  { header }: CapturedState,
): PlanQuestion {
  const suspended = suspendedText(suspensions, name);
  const warnings = suspended === undefined ? [] : [warningOf('Suspended', `source ${name} is ${suspended}`)];
  const about = { source: name, revision, base, at: rfc3339(clock.now()), state: stateOf(header), warnings };
  return { source: name, ref, reading, conflicts, about };
}

/** Displays places in the planned and in the admitted revision. */
async function placesOf(
  { sources, locator, locate }: PlannerDeps,
  source: Source,
  reading: RefChanges,
  refs: readonly SidedRef[],
): Promise<readonly string[]> {
  const places = new Map<SidedRef, Location>();
  const mine = refs.filter((ref) => ref.source === source.name);
  for (const [, together] of Map.groupBy(mine, ({ side, path }) => `${side} ${path}`)) {
    const [{ side, path }] = together as [SidedRef];
    const bytes = await reading.read(path, side);
    const asked = together.map(({ identity, field = [] }) => ({ identity, field, part: 'value' as const }));
    const found = bytes === undefined ? [] : await locate(path, bytes, asked).catch(() => []);
    for (const [index, ref] of together.entries()) places.set(ref, found[index]?.at ?? { path });
  }
  const several = sources.all().length > 1;
  return Promise.all(
    refs.map(async (ref) => {
      const at = places.get(ref) ?? (await locator.find(ref));
      return `${several ? `${ref.source}:` : ''}${displayLocation(at)}`;
    }),
  );
}
