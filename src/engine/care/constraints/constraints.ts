import type { Derived, Graph, Reader } from '../../collections/types.ts';
import type { EngineInputs } from '../../inputs.ts';
import type { BoundShoot } from '../binding.ts';
import { type SilenceReads, silenceOf } from '../conditions.ts';
import { lastOperationOf } from '../operation.ts';
import { isAsleep, type Sleep } from '../sleep.ts';
import { type Finding, type Judged, judge } from '../thresholds.ts';
import { type ClusterReads, notChecked, obstacleOf } from '../visibility.ts';
import { DEFINITION_KIND, deriveDefinitionFindings, PROBLEMATIC_DEFINITIONS } from './definitions.ts';
import { deriveWebhookFindings, WEBHOOK_KINDS } from './webhooks.ts';

/** While it is not True, a Shoot may not be told to sleep. */
export const HIBERNATION_POSSIBLE = 'HibernationPossible';
/** Every Shoot has them, both with the same finding. */
const REQUIRED = [HIBERNATION_POSSIBLE, 'MaintenancePreconditionsSatisfied'] as const;

/** The kinds that the agent of a Shoot's cluster reports for its constraints. */
export const CONSTRAINED_KINDS: readonly string[] = [...WEBHOOK_KINDS, DEFINITION_KIND];

interface Reads extends ClusterReads, SilenceReads, Pick<EngineInputs, 'live' | 'kinds' | 'observed'> {
  readonly bindings: Derived<BoundShoot>;
  readonly sleepers: Derived<Sleep>;
  /** Of the condition APIServerAvailable, by Shoot. */
  readonly apiServer: Derived<Finding>;
}

/**
 * Derives the constraints of each Shoot, in the order in which they are written. Key: the Shoot's. They have no thresholds. A
 * constraint that is not required is there only while it does not hold, or while the Shoot sleeps.
 */
export function deriveConstraints(graph: Graph, reads: Reads) {
  const { bindings, sleepers, clusters, agents, snapshots, observed, apiServer, silences, elapsed } = reads;
  const webhooks = deriveWebhookFindings(graph, reads);
  const definitions = deriveDefinitionFindings(graph, reads);
  const constraints: Derived<readonly Judged[]> = graph.derive<BoundShoot, readonly Judged[]>({
    name: 'shootConstraints',
    from: bindings,
    reads: [
      sleepers,
      clusters,
      agents,
      snapshots,
      observed,
      apiServer,
      silences,
      elapsed,
      webhooks.findings,
      definitions.findings,
    ],
    seesAll: true,
    compute: ({ key, value: shoot }, read, emit) => {
      if (shoot.isIgnored) return;
      const operation = lastOperationOf(read.get(observed, 'Shoot', key));
      const asConstraint = ([type, finding]: readonly [string, Finding]): Judged =>
        judge(type, finding, { written: undefined, operation, thresholdMillis: undefined, hasPassed: () => false });
      emit('', key, findingsOf(read, key, shoot).map(asConstraint));
    },
  });
  return {
    constraints,
    collections: [webhooks.problems, webhooks.findings, definitions.problems, definitions.findings, constraints],
  };

  function findingsOf(read: Reader, key: string, shoot: BoundShoot): readonly (readonly [string, Finding])[] {
    const required = (finding: Finding) => REQUIRED.map((type) => [type, finding] as const);
    const obstacle = obstacleOf(read, shoot, reads);
    if (obstacle !== undefined) return required(notChecked(obstacle));
    if (isAsleep(read, sleepers, key)) return [...required(SLEEPS), [PROBLEMATIC_DEFINITIONS, SLEEPS]];
    const silence = silenceOf(read, shoot, reads);
    if (silence !== undefined) return required(silence);
    if (read.get(apiServer, 'APIServerAvailable', key)?.reason === 'APIServerDown') return required(DOWN);
    const ofWebhooks = read.get(webhooks.findings, '', key);
    const ofDefinitions = read.get(definitions.findings, '', key);
    return [
      ...(ofWebhooks === undefined ? [] : required(ofWebhooks)),
      ...(ofDefinitions === undefined || ofDefinitions.outcome === 'good'
        ? []
        : [[PROBLEMATIC_DEFINITIONS, ofDefinitions] as const]),
    ];
  }
}

const SLEEPS: Finding = {
  ...{ outcome: 'good', reason: 'ConstraintNotChecked' },
  message: 'Shoot cluster has been hibernated.',
};
const DOWN: Finding = {
  ...{ outcome: 'failed', reason: 'ConstraintNotChecked' },
  message: 'Shoot control plane is not running at the moment.',
};
