import { SHOOT_CONDITIONS } from '../model/shoot.ts';
import type { ShootFigures } from '../model/shoot-figures.ts';

/** The values of the labels, then the value of the metric. */
type Sample = readonly (string | number | boolean)[];

/** Most Shoots with samples of their own: anyone who may write a Shoot names one. */
const MAX_SHOOTS = 500;

/** Most conditions of a Shoot, and most worker pools, with samples of their own. */
const MAX_PARTS = 20;

/** Most sets of label values with a sample of their own where Shoots are counted. */
const MAX_COUNTED = 500;

/** In characters. Names of Kubernetes are shorter. */
const MAX_TEXT = 253;

/** The label value of all others together. No object of Kubernetes can have this name. */
const OTHER = '_other';

const OPERATIONS = ['Create', 'Reconcile', 'Delete', 'Migrate', 'Restore'] as const;
const STATES: readonly string[] = ['Succeeded', 'Processing', 'Pending', 'Aborted', 'Error', 'Failed'];
const CONDITION_VALUES: Readonly<Record<string, number>> = { True: 1, False: 0, Progressing: 2 };

/** One metric of Shoots: the names of its labels, its help text, and its samples. */
export interface ShootMetric {
  readonly name: string;
  readonly labels: readonly string[];
  readonly help: string;
  /** `shoots`: all of them, in their order. */
  readonly samples: (shoots: readonly ShootFigures[]) => readonly Sample[];
}

const NAMED = ['name', 'project'] as const;
const IDENTIFIED = [...NAMED, 'uid', 'technical_id'] as const;
const SEED = ['seed', 'seed_iaas', 'seed_region'] as const;

/** The metrics of Gardener's exporter, and counts of all Shoots for alerts. */
export const SHOOT_METRICS: readonly ShootMetric[] = [
  {
    name: 'fleetrelay_shoot_condition',
    labels: [
      ...NAMED,
      ...'condition operation purpose is_seed iaas'.split(' '),
      ...SEED,
      ...'uid technical_id has_user_errors is_compliant'.split(' '),
    ],
    help: `Conditions of Shoots: 1 True, 0 False, 2 Progressing, -1 Unknown. Of the first ${MAX_SHOOTS} Shoots by namespace and name.`,
    samples: ofShoots((shoot) => {
      const { operation, purpose, isSeed, iaas, uid, technicalId, hasUserErrors, isCompliant } = shoot;
      if (operation === undefined) return [];
      const rest = [purpose, isSeed, iaas, ...seedOf(shoot), uid, technicalId, hasUserErrors, isCompliant];
      return shoot.conditions
        .slice(0, MAX_PARTS)
        .map(({ type, status }) => [...named(shoot), type, operation.type, ...rest, CONDITION_VALUES[status] ?? -1]);
    }),
  },
  {
    name: 'fleetrelay_shoots_by_condition',
    labels: ['condition', 'status', 'operation', 'is_seed', 'purpose', 'iaas'],
    help: `All Shoots with a last operation, counted by Gardener's conditions; what is beyond ${MAX_COUNTED} sets of labels is counted as iaas _other.`,
    samples: (shoots) =>
      counted(
        shoots.flatMap(({ conditions, operation, isSeed, purpose, iaas }) =>
          operation === undefined
            ? []
            : conditions
                .filter(({ type }) => SHOOT_CONDITIONS.some((own) => own === type))
                .map(({ type, status }) => [[type, status, typeOf(operation), isSeed, purpose], [iaas]] as const),
        ),
      ),
  },
  {
    name: 'fleetrelay_shoot_operation_states',
    labels: [...NAMED, 'operation', 'technical_id'],
    help: 'State of the last operation of a Shoot: 1 Succeeded, 2 Processing, 3 Pending, 4 Aborted, 5 Error, 6 Failed; 0 for the other types of operation.',
    samples: ofShoots(ofOperations(({ state }) => STATES.indexOf(state) + 1)),
  },
  {
    name: 'fleetrelay_shoot_operation_progress_percent',
    labels: [...NAMED, 'operation', 'technical_id'],
    help: 'Progress of the last operation of a Shoot; 0 for the other types of operation.',
    samples: ofShoots(ofOperations(({ progress }) => progress)),
  },
  {
    name: 'fleetrelay_shoot_operations_total',
    labels: ['operation', 'state', 'iaas', 'seed', 'version', 'region'],
    help: `All Shoots but those that are Seeds, counted by their last operation; what is beyond ${MAX_COUNTED} sets of labels is counted as _other.`,
    samples: (shoots) =>
      counted(
        shoots.flatMap(({ operation, isSeed, iaas, seed, kubernetesVersion, region }) =>
          operation === undefined || isSeed
            ? []
            : [
                [
                  [typeOf(operation), stateOf(operation)],
                  [iaas, seed, kubernetesVersion, region],
                ] as const,
              ],
        ),
      ),
  },
  {
    name: 'fleetrelay_shoot_info',
    labels: [
      ...IDENTIFIED,
      ...'purpose iaas region version'.split(' '),
      ...SEED,
      ...'is_seed is_workerless is_hibernated gardener_version'.split(' '),
    ],
    help: 'Always 0; what is known of a Shoot is in the labels.',
    samples: ofShoots((shoot) => {
      const { purpose, iaas, region, kubernetesVersion, isSeed, pools, isHibernated, gardenerVersion } = shoot;
      const where = [purpose, iaas, region, kubernetesVersion, ...seedOf(shoot)];
      return [[...identified(shoot), ...where, isSeed, pools.length === 0, isHibernated, gardenerVersion, 0]];
    }),
  },
  {
    name: 'fleetrelay_shoot_hibernated',
    labels: IDENTIFIED,
    help: '1 if a Shoot sleeps.',
    samples: ofShoots(
      (shoot) => [[...identified(shoot), shoot.isHibernated]],
      ({ isHibernated }) => Number(isHibernated),
    ),
  },
  {
    name: 'fleetrelay_shoot_creation_timestamp',
    labels: IDENTIFIED,
    help: 'When a Shoot was created, in seconds since 1970, where that is known.',
    samples: ofShoots((shoot) => (shoot.createdAt === undefined ? [] : [[...identified(shoot), shoot.createdAt]])),
  },
  ...(['min', 'max'] as const).flatMap((end): readonly ShootMetric[] => {
    const nodes = ({ minimum, maximum }: ShootFigures['pools'][number]): number => (end === 'min' ? minimum : maximum);
    const sum = (pools: ShootFigures['pools']): number => pools.reduce((total, pool) => total + nodes(pool), 0);
    const what = end === 'min' ? 'Fewest' : 'Most';
    return [
      {
        name: `fleetrelay_shoot_node_${end}_total`,
        labels: IDENTIFIED,
        help: `${what} Nodes that a Shoot may have.`,
        samples: ofShoots(
          (shoot) => [[...identified(shoot), sum(shoot.pools)]],
          ({ pools }) => sum(pools),
        ),
      },
      {
        name: `fleetrelay_shoot_worker_node_${end}_total`,
        labels: [...NAMED, 'worker_group', 'technical_id'],
        help: `${what} Nodes that a worker pool of a Shoot may have; worker_group _other: all but the first ${MAX_PARTS}.`,
        samples: ofShoots((shoot) => {
          const left = shoot.pools.slice(MAX_PARTS);
          const own = shoot.pools.slice(0, MAX_PARTS).map((pool) => [pool.name, nodes(pool)] as const);
          const all = [...own, ...(left.length === 0 ? [] : [[OTHER, sum(left)] as const])];
          return all.map(([pool, count]) => [...named(shoot), pool, shoot.technicalId, count]);
        }),
      },
    ];
  }),
];

/**
 * Samples of the first {@link MAX_SHOOTS} Shoots. `summed`: a value of each other Shoot, which are summed in one sample whose
 * labels are {@link OTHER}; absent: the value cannot be summed.
 */
function ofShoots(
  of: (shoot: ShootFigures) => readonly Sample[],
  summed?: (shoot: ShootFigures) => number,
): ShootMetric['samples'] {
  return (shoots) => {
    const own = shoots
      .slice(0, MAX_SHOOTS)
      .flatMap(of)
      .map((sample) => sample.map(bounded));
    const others = shoots.slice(MAX_SHOOTS);
    if (others.length === 0 || summed === undefined) return own;
    const total = others.reduce((sum, shoot) => sum + summed(shoot), 0);
    return [...own, [OTHER, OTHER, OTHER, OTHER, total]];
  };
}

/** A sample for each type of operation: 0, except for the type of the last operation. */
function ofOperations(value: (operation: NonNullable<ShootFigures['operation']>) => number) {
  return (shoot: ShootFigures): readonly Sample[] => {
    const { operation, technicalId } = shoot;
    if (operation === undefined) return [];
    return OPERATIONS.map((type) => [
      ...named(shoot),
      type,
      technicalId,
      type === operation.type ? value(operation) : 0,
    ]);
  };
}

/**
 * Counts sets of labels, the most frequent first. The second part of the sets beyond {@link MAX_COUNTED} becomes
 * {@link OTHER}, so the first part must have few values.
 */
function counted(sets: readonly (readonly [fixed: Sample, free: readonly string[]])[]): readonly Sample[] {
  const groups = [...Map.groupBy(sets, (set) => JSON.stringify(set)).values()].sort((a, b) => b.length - a.length);
  const samples = new Map<string, { readonly labels: Sample; count: number }>();
  for (const [index, group] of groups.entries()) {
    const [[fixed, free] = [[], []]] = group;
    const labels = [...fixed.map(bounded), ...free.map((text) => (index < MAX_COUNTED ? bounded(text) : OTHER))];
    const key = JSON.stringify(labels);
    const sample = samples.get(key) ?? { labels, count: 0 };
    sample.count += group.length;
    samples.set(key, sample);
  }
  return [...samples.values()].map(({ labels, count }) => [...labels, count]);
}

/** A Gardener can write any type and any state. */
function typeOf({ type }: NonNullable<ShootFigures['operation']>): string {
  return OPERATIONS.some((known) => known === type) ? type : OTHER;
}

function stateOf({ state }: NonNullable<ShootFigures['operation']>): string {
  return STATES.includes(state) ? state : OTHER;
}

function named({ namespace, name }: ShootFigures): Sample {
  return [name, namespace.replace(/^garden-/, '')];
}

function seedOf({ seed, seedIaas, seedRegion }: ShootFigures): Sample {
  return [seed, seedIaas, seedRegion];
}

function identified(shoot: ShootFigures): Sample {
  return [...named(shoot), shoot.uid, shoot.technicalId];
}

function bounded<Value extends string | number | boolean>(value: Value): Value | string {
  return typeof value === 'string' && value.length > MAX_TEXT ? OTHER : value;
}
