import { backOffMs } from '../../../../model/limits/back-off.ts';
import {
  type HealthCheck,
  type HealthEvaluator,
  kindOfCheck,
  type LoadEvaluator,
} from '../../../../model/objects/health-check.ts';
import { inProgress, type ObjectHealth, unknown } from '../../../../model/objects/object-health/health.ts';
import type { Judgement } from '../../../../model/objects/object-health/object-health.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../../../../model/text/json.ts';
import { errorText } from '../../../../model/text/messages.ts';
import type { Clock } from '../../../../ports/clock.ts';
import type { Log } from '../../../../ports/log.ts';

const NOT_LOADED = inProgress('its health check is not loaded yet');
const NOT_EVALUATED = inProgress('its health check is not evaluated yet');
const RETRY = { firstMs: 1_000, longestMs: 300_000 };

/**
 * The steps of evaluation in one turn of the event loop. An object for which they do not suffice is judged in a later turn: with many
 * objects and costly expressions the agent still renews its lease.
 */
const STEPS_OF_TURN = 250_000;

interface HealthChecksDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly loadEvaluator: LoadEvaluator | undefined;
}

/**
 * The health checks of the policy. What evaluates them is loaded with the first ones, and again with back-off if that fails. `changed`
 * is called with the kinds (`group/Kind`) whose checks were added, changed or removed, when they are in force or cannot be loaded.
 */
export function createHealthChecks(
  { clock, log, loadEvaluator }: HealthChecksDeps,
  changed: (kinds: ReadonlySet<string>) => void,
) {
  /** The texts of the checks by kind. */
  let current: ReadonlyMap<string, string> = new Map();
  let evaluator: HealthEvaluator | undefined;
  /** Kinds whose checks have changed since an evaluator was put in force. */
  let waiting: ReadonlySet<string> = new Set();
  /** The health of their objects. */
  let meanwhile: ObjectHealth = NOT_LOADED;
  /** Counts the calls of `configure`. */
  let last = 0;
  let cancelRetry: (() => void) | undefined;
  const budget = createTurnBudget(clock);
  return {
    judge,
    configure,
    /** No further object can be judged by a check in this turn. */
    isSpent: budget.isSpent,
    close(): void {
      last += 1;
      cancelRetry?.();
      budget.close();
    },
  };

  function judge(kind: string, object: JsonObject): Judgement | undefined {
    if (!current.has(kind)) return undefined;
    if (waiting.has(kind) || evaluator === undefined) return { health: meanwhile };
    if (budget.isSpent()) return { health: NOT_EVALUATED, again: clock.now() };
    const judged = evaluator.judge(kind, object);
    if (judged === undefined) return { health: meanwhile };
    budget.spend(judged.steps);
    return { health: judged.health };
  }

  function configure(checks: readonly HealthCheck[]): void {
    if (loadEvaluator === undefined) return;
    const before = current;
    current = new Map(checks.map((check) => [kindOfCheck(check), canonicalJson(check as unknown as JsonValue)]));
    const differing = [...before.keys(), ...current.keys()].filter((kind) => before.get(kind) !== current.get(kind));
    waiting = new Set([...waiting, ...differing]);
    if (waiting.size === 0) return;
    last += 1;
    cancelRetry?.();
    meanwhile = NOT_LOADED;
    if (checks.length > 0) void load(loadEvaluator, checks, last, 0);
    else putInForce(undefined);
  }

  async function load(
    make: LoadEvaluator,
    checks: readonly HealthCheck[],
    call: number,
    failures: number,
  ): Promise<void> {
    try {
      const loaded = await make(checks);
      // Otherwise newer checks came meanwhile.
      if (call === last) putInForce(loaded);
    } catch (error) {
      if (call !== last) return;
      log.error('the health checks of the policy cannot be loaded', { error });
      meanwhile = unknown(`its health check cannot be loaded: ${errorText(error)}`);
      const wait = backOffMs(failures, RETRY.firstMs, RETRY.longestMs);
      cancelRetry = clock.schedule(wait, () => void load(make, checks, call, failures + 1));
      changed(waiting);
    }
  }

  function putInForce(next: HealthEvaluator | undefined): void {
    evaluator = next;
    const kinds = waiting;
    waiting = new Set();
    changed(kinds);
  }
}

/** Counts the steps of one turn of the event loop. */
function createTurnBudget(clock: Clock) {
  let spent = 0;
  let cancel: (() => void) | undefined;
  return {
    isSpent: (): boolean => spent >= STEPS_OF_TURN,
    spend(steps: number): void {
      cancel ??= clock.schedule(0, nextTurn);
      spent += steps;
    },
    close: (): void => cancel?.(),
  };

  function nextTurn(): void {
    spent = 0;
    cancel = undefined;
  }
}
