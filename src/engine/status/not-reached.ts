import { outOfReach } from '../../model/fleet/source-rights.ts';
import type { EngineDiagnostic, ValueRef } from '../domain.ts';
import type { Declared } from '../fleet/declared.ts';

/**
 * The finding that a declaration selects a cluster that its source may not reach.
 *
 * @param places where it names the cluster; none: a selector selects it
 */
export function notReached(
  what: string,
  { origin, identity }: Pick<Declared, 'origin' | 'identity'>,
  cluster: string,
  places: readonly ValueRef[],
): EngineDiagnostic {
  const isNamed = places.length > 0;
  return {
    severity: isNamed ? 'error' : 'warning',
    reason: 'NotAllowed',
    message: `${what} ${isNamed ? 'names' : 'selects'} cluster ${cluster}: ${outOfReach(origin.source, cluster)}`,
    at: isNamed ? places : [{ ...origin, identity }],
  };
}
