import { metadataOf } from '../../../model/objects/object-key.ts';
import { objectOf, objectsOf, textOf, textsOf } from '../../../model/text/json.ts';
import { parseRfc3339 } from '../../../model/text/time.ts';
import { isUserError } from '../model/error-codes.ts';
import type { ShootFigures } from '../model/shoot-figures.ts';
import type { ShownShoot } from './shown-shoots.ts';

/** The figures of the declared Shoots, in their order. A live Shoot is counted where its Gardener is. */
export function shootFigures(shoots: readonly ShownShoot[]): readonly ShootFigures[] {
  const declared = shoots.filter(({ binding }) => binding !== undefined);
  const seeds = new Set(declared.map(({ binding }) => binding?.seed));
  const byCluster = new Map(declared.map((shoot) => [shoot.binding?.cluster, shoot]));
  return declared.map((shoot) => {
    const seed = shoot.binding?.seed;
    const { iaas, region } = originOf(seed === undefined ? undefined : byCluster.get(seed));
    return figuresOf(shoot, { isSeed: seeds.has(shoot.binding?.cluster), seedIaas: iaas, seedRegion: region });
  });
}

/** The infrastructure that a Shoot is on, and where. */
function originOf(shoot: ShownShoot | undefined) {
  const spec = objectOf(shoot?.value.spec);
  return { iaas: textOf(objectOf(spec.provider).type), region: textOf(spec.region) };
}

function figuresOf(shoot: ShownShoot, seed: Pick<ShootFigures, 'isSeed' | 'seedIaas' | 'seedRegion'>): ShootFigures {
  const { namespace, name, binding, value, conditions, constraints, fields } = shoot;
  const spec = objectOf(value.spec);
  const { type, state, progress } = objectOf(fields.lastOperation);
  const created = parseRfc3339(textOf(metadataOf(value).creationTimestamp));
  const codes = [
    ...conditions.flatMap((condition) => condition.codes ?? []),
    ...constraints.flatMap((constraint) => constraint.codes ?? []),
    ...objectsOf(fields.lastErrors).flatMap((error) => textsOf(error.codes)),
  ];
  const compliance = constraints.find((constraint) => constraint.type === 'MaintenancePreconditionsSatisfied');
  return {
    namespace,
    name,
    ...seed,
    ...originOf(shoot),
    conditions: conditions.map((condition) => ({ type: condition.type, status: condition.status })),
    ...(typeof state !== 'string'
      ? {}
      : { operation: { type: textOf(type), state, progress: typeof progress === 'number' ? progress : 0 } }),
    purpose: textOf(spec.purpose),
    kubernetesVersion: textOf(objectOf(spec.kubernetes).version),
    gardenerVersion: textOf(objectOf(fields.gardener).version),
    uid: textOf(fields.uid),
    technicalId: textOf(fields.technicalID),
    seed: binding?.seed ?? '',
    hasUserErrors: isUserError(codes),
    isCompliant: compliance?.status ?? 'Unknown',
    isHibernated: fields.hibernated === true,
    ...(created === undefined ? {} : { createdAt: created / 1000 }),
    pools: (binding?.pools ?? []).map((pool) => ({ name: pool.name, minimum: pool.minimum, maximum: pool.maximum })),
  };
}
