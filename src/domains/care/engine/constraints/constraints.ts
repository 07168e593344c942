import type { Collection, Derived, Graph, Reader } from '../../../../engine/collections/types.ts';
import type { EngineInputs } from '../../../../engine/inputs.ts';
import { type Condition, readConditions, withoutTimes } from '../../../../model/fleet/conditions.ts';
import type { JsonObject, JsonValue } from '../../../../model/text/json.ts';
import type { Shoot } from '../../model/shoot.ts';
import { type AbsenceReads, absenceOf, wasSeen } from '../absences.ts';
import { type BoundShoot, clustersOf } from '../binding.ts';
import { isAsleep, type Sleep, wasSeenAsleep } from '../sleep.ts';
import { type ConditionFinding, type Judged, judgeCondition } from '../thresholds.ts';
import { type ClusterReads, notChecked, obstacleOf } from '../visibility.ts';
import { lastOperationOf } from '../written-operation.ts';
import { CERTIFICATE_VALIDITIES, deriveAuthorityFindings } from './authorities.ts';
import { deriveCredentialsRotations, ROTATION_POSSIBLE } from './credentials-rotation.ts';
import { DEFINITION_KIND, deriveDefinitionFindings, PROBLEMATIC_DEFINITIONS } from './definitions.ts';
import {
  ignoredFinding,
  indexIgnoredResources,
  manualUpdateFinding,
  preservationFinding,
  type SeedReads,
  seedReadsOf,
} from './seed-constraints.ts';
import { deriveWebhookFindings, WEBHOOK_KINDS } from './webhooks.ts';

/** While it is not True, a Shoot may not be told to sleep. */
export const HIBERNATION_POSSIBLE = 'HibernationPossible';
/** Every Shoot has them, both with the same finding. */
const REQUIRED = [HIBERNATION_POSSIBLE, 'MaintenancePreconditionsSatisfied'] as const;

/** They are there while they do not hold, or the Shoot sleeps. */
const OPTIONAL = [CERTIFICATE_VALIDITIES, PROBLEMATIC_DEFINITIONS] as const;

const [MANUAL_UPDATES, IGNORED_RESOURCES, PRESERVED_MACHINES] = [
  'ManualInPlaceWorkersUpdated',
  'HasIgnoredManagedResources',
  'PreservedFailedMachinesAbsent',
] as const;
/** They are there while they do not hold. Of a Shoot that sleeps no Machines and no pools are looked at. */
const WHILE_FALSE = [MANUAL_UPDATES, IGNORED_RESOURCES, PRESERVED_MACHINES, ROTATION_POSSIBLE] as const;

/** Whether this type of constraint is ours. Constraints of others stay in a status. */
export function isOwnConstraint(type: string): boolean {
  return [...REQUIRED, ...OPTIONAL, ...WHILE_FALSE].some((own) => own === type);
}

/** The kinds that the agent of a Shoot's cluster reports for its constraints. */
export const CONSTRAINED_KINDS: readonly string[] = [...WEBHOOK_KINDS, DEFINITION_KIND];

interface Reads
  extends ClusterReads,
    AbsenceReads,
    Pick<EngineInputs, 'live' | 'kinds' | 'observed'>,
    Pick<SeedReads, 'demands' | 'preserving'> {
  readonly bindings: Derived<BoundShoot>;
  readonly shoots: Derived<Shoot>;
  readonly sleepers: Derived<Sleep>;
  readonly settings: Collection<JsonValue>;
  /** Of the condition APIServerAvailable, by Shoot. */
  readonly apiServer: Derived<ConditionFinding>;
}

/**
 * Derives the constraints of each Shoot, in the order in which they are written. Key: the Shoot's. They have no thresholds. A
 * constraint that is not required is there only while it does not hold, or while the Shoot sleeps.
 */
export function deriveConstraints(graph: Graph, reads: Reads) {
  const { bindings, sleepers, clusters, agents, snapshots, observed, apiServer, absences, elapsed } = reads;
  const webhooks = deriveWebhookFindings(graph, reads);
  const authorities = deriveAuthorityFindings(graph, reads);
  const definitions = deriveDefinitionFindings(graph, reads);
  const { rotations, deadlines: ofRotations } = deriveCredentialsRotations(graph, reads);
  const seedReads: SeedReads = { ...reads, ignored: indexIgnoredResources(graph, reads) };
  const states = [sleepers, clusters, agents, snapshots, observed, apiServer, absences, elapsed];
  const found = [webhooks.findings, authorities.findings, definitions.findings];
  const constraints: Derived<readonly Judged[]> = graph.derive<BoundShoot, readonly Judged[]>({
    name: 'shootConstraints',
    from: bindings,
    reads: [...states, ...found, rotations, ...seedReadsOf(seedReads)],
    seesAll: true,
    compute: ({ key, value: shoot }, read, emit) => {
      if (shoot.isIgnored) return;
      const status = read.get(observed, 'Shoot', key);
      const operation = lastOperationOf(status);
      const asConstraint = ([type, finding]: Typed): Judged =>
        judgeCondition(type, finding, {
          written: undefined,
          operation,
          thresholdMillis: undefined,
          hasPassed: () => false,
        });
      const written = readConditions(status?.fields.constraints).filter(({ type }) => isOwnConstraint(type));
      const absence = isJudged(read, key, shoot) ? absenceOf(read, clustersOf(shoot), reads) : undefined;
      if (absence?.type === 'unseen' && written.length > 0) {
        emit('', key, written.map(unchanged));
      } else if (absence?.type === 'silent' && wasSeen(absence, written[0])) {
        emit('', key, required(absence.finding).map(asConstraint));
      } else emit('', key, findingsOf(read, key, shoot, status?.fields ?? {}).map(asConstraint));
    },
  });
  const ofDefinitions = [definitions.problems, definitions.findings, rotations];
  return {
    constraints,
    deadlines: [authorities.deadlines, ofRotations],
    collections: [webhooks.problems, webhooks.findings, ...ofDefinitions, ...authorities.collections, constraints],
  };

  /** Nothing reads the cluster of a Shoot that sleeps, or that another Shoot has. */
  function isJudged(read: Reader, key: string, { elected }: BoundShoot): boolean {
    return elected === undefined && !isAsleep(read, sleepers, key);
  }

  function findingsOf(read: Reader, key: string, shoot: BoundShoot, fields: JsonObject): readonly Typed[] {
    const obstacle = obstacleOf(read, shoot, reads, wasSeenAsleep(read, sleepers, key));
    if (obstacle !== undefined) return required(notChecked(obstacle));
    const ofResources = unlessGood(IGNORED_RESOURCES, ignoredFinding(read, seedReads, shoot));
    const rotation = shoot.credentialsRotation && read.get(rotations, '', key);
    const ofRotation = unlessGood(ROTATION_POSSIBLE, rotation?.finding);
    if (isAsleep(read, sleepers, key)) {
      const optional = OPTIONAL.map((type) => [type, SLEEPS] as const);
      return [...required(SLEEPS), ...optional, ...ofRotation, ...ofResources];
    }
    const ofSeed = [
      ...unlessGood(MANUAL_UPDATES, manualUpdateFinding(fields, shoot)),
      ...ofResources,
      ...unlessGood(PRESERVED_MACHINES, preservationFinding(read, seedReads, shoot)),
      ...ofRotation,
    ];
    const ofAuthorities = unlessGood(CERTIFICATE_VALIDITIES, read.get(authorities.findings, '', key));
    if (read.get(apiServer, 'APIServerAvailable', key)?.reason === 'APIServerDown') {
      return [...required(DOWN), ...ofAuthorities, ...ofSeed];
    }
    const ofWebhooks = read.get(webhooks.findings, '', key);
    return [
      ...(ofWebhooks === undefined ? [] : required(ofWebhooks)),
      ...ofAuthorities,
      ...unlessGood(PROBLEMATIC_DEFINITIONS, read.get(definitions.findings, '', key)),
      ...ofSeed,
    ];
  }
}

function unchanged(written: Condition): Judged {
  return { condition: withoutTimes(written) };
}

type Typed = readonly [string, ConditionFinding];

function required(finding: ConditionFinding): readonly Typed[] {
  return REQUIRED.map((type) => [type, finding] as const);
}

function unlessGood(type: string, finding: ConditionFinding | undefined): readonly Typed[] {
  return finding === undefined || finding.outcome === 'good' ? [] : [[type, finding]];
}

const SLEEPS: ConditionFinding = {
  outcome: 'good',
  reason: 'ConstraintNotChecked',
  message: 'Shoot cluster has been hibernated.',
};
const DOWN: ConditionFinding = {
  outcome: 'failed',
  reason: 'ConstraintNotChecked',
  message: 'Shoot control plane is not running at the moment.',
};
