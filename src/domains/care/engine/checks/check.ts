import type { Collection, Derivation, Derived, Graph, Reader } from '../../../../engine/collections/types.ts';
import type { ShootCondition } from '../../model/shoot.ts';
import { type BoundShoot, clustersOf } from '../binding.ts';
import type { ConditionFinding } from '../thresholds.ts';
import { firstFailing } from './first-failing.ts';
import type { Gate } from './gate.ts';

/**
 * Findings of one Shoot by type of condition. One entry for all types: most Shoots have none, and each address that is waited
 * for costs.
 */
export type FindingsByType = Readonly<Partial<Record<ShootCondition, ConditionFinding>>>;

/** What every check reads. */
export interface CheckReads {
  readonly bindings: Derived<BoundShoot>;
  readonly gates: Derived<Gate>;
  /** Findings that count before the rules of a check. Partition empty, key the Shoot's. */
  readonly before: readonly Collection<FindingsByType>[];
  /** Findings that count after the rules of a check, as `before`. */
  readonly after: readonly Collection<FindingsByType>[];
}

/** The declaration of a check. */
export interface Check {
  readonly type: ShootCondition;
  /** Of the derived collection. */
  readonly name: string;
  /** What `rules` reads. */
  readonly reads: NonNullable<Derivation<unknown, unknown>['reads']>;
  /** The finding while no rule fails. */
  readonly good: ConditionFinding;
  /** The finding while the API server does not run; the message says so. Absent: the check does not need it. */
  readonly whileDown?: (message: string) => ConditionFinding;
  /** A check that not every Shoot has. */
  readonly applies?: (shoot: BoundShoot) => boolean;
  /** In their order; undefined: the rule holds. */
  readonly rules: (read: Reader, shoot: BoundShoot, key: string) => Iterable<ConditionFinding | undefined>;
}

/** Derives the finding of a check for each Shoot that is cared for. Partition: type of the condition. Key: the Shoot's. */
export function deriveCheck(graph: Graph, { bindings, gates, before, after }: CheckReads, check: Check) {
  const { type, name, reads, good, whileDown, applies, rules } = check;
  return graph.derive<BoundShoot, ConditionFinding>({
    name,
    from: bindings,
    reads: [gates, ...before, ...after, ...reads],
    scope: ({ value }) => clustersOf(value),
    compute: ({ key, value: shoot }, read, emit) => {
      if (shoot.isIgnored || applies?.(shoot) === false) return;
      emit(type, key, stopped(read.get(gates, '', key)) ?? firstFailing(findings(read, shoot, key), good));
    },
  });

  /** The finding of a Shoot whose rules are not evaluated. */
  function stopped(gate: Gate | undefined): ConditionFinding | undefined {
    if (gate?.type === 'closed') return gate.finding;
    if (whileDown === undefined) return undefined;
    if (gate?.type === 'unseen') return gate.finding;
    return gate?.type === 'down' ? { ...whileDown(gate.message), cause: gate.cause } : undefined;
  }

  function* findings(read: Reader, shoot: BoundShoot, key: string): Generator<ConditionFinding | undefined> {
    for (const collection of before) yield read.get(collection, '', key)?.[type];
    yield* rules(read, shoot, key);
    for (const collection of after) yield read.get(collection, '', key)?.[type];
  }
}
