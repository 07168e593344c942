import {
  type HealthCheck,
  type HealthEvaluator,
  kindOfCheck,
  type LoadEvaluator,
} from '../../../../model/health-check.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../../../../model/json.ts';
import { inProgress, type ObjectHealth } from '../../../../model/object-health/health.ts';
import type { Log } from '../../../../ports/log.ts';

const NOT_LOADED = inProgress('its health check is not loaded yet');

/**
 * The health checks of the policy. What evaluates them is loaded with the first ones. `changed` is called with the kinds
 * (`group/Kind`) whose checks were added, changed or removed, when they are in force.
 */
export function createHealthChecks(
  { log, loadEvaluator }: { readonly log: Log; readonly loadEvaluator: LoadEvaluator | undefined },
  changed: (kinds: ReadonlySet<string>) => void,
) {
  /** The texts of the checks by kind. */
  let current: ReadonlyMap<string, string> = new Map();
  let evaluator: HealthEvaluator | undefined;
  /** Kinds whose checks have changed since `changed` was called. */
  let waiting = new Set<string>();
  /** Counts the calls of `configure`. */
  let last = 0;
  return { judge, configure };

  function judge(kind: string, object: JsonObject): ObjectHealth | undefined {
    return current.has(kind) ? (evaluator?.judge(kind, object) ?? NOT_LOADED) : undefined;
  }

  function configure(checks: readonly HealthCheck[]): void {
    if (loadEvaluator === undefined) return;
    const before = current;
    current = new Map(checks.map((check) => [kindOfCheck(check), canonicalJson(check as unknown as JsonValue)]));
    for (const kind of [...before.keys(), ...current.keys()]) {
      if (before.get(kind) !== current.get(kind)) waiting.add(kind);
    }
    if (waiting.size === 0) return;
    last += 1;
    if (checks.length > 0) void load(loadEvaluator, checks, last);
    else putInForce(undefined);
  }

  async function load(make: LoadEvaluator, checks: readonly HealthCheck[], call: number): Promise<void> {
    try {
      const loaded = await make(checks);
      // Otherwise newer checks came meanwhile.
      if (call === last) putInForce(loaded);
    } catch (error) {
      log.error('the health checks of the policy cannot be loaded', { error });
    }
  }

  function putInForce(next: HealthEvaluator | undefined): void {
    evaluator = next;
    const kinds = waiting;
    waiting = new Set();
    changed(kinds);
  }
}
