import type { Accepts } from '../../../../engine/fleet/declared.ts';
import { readConditions } from '../../../../model/fleet/conditions.ts';
import { type JsonObject, objectOf } from '../../../../model/text/json.ts';
import { HIBERNATION_POSSIBLE } from './constraints.ts';

/** Refuses that a Shoot begins to sleep while its written status says that it might not wake up. */
export const acceptsHibernation: Accepts = {
  Shoot: ({ before, after, observed }) => {
    if (wantsHibernation(before) || !wantsHibernation(after)) return undefined;
    const constraint = readConditions(observed?.fields.constraints).find(({ type }) => type === HIBERNATION_POSSIBLE);
    if (constraint === undefined || constraint.status === 'True') return undefined;
    const { status, message } = constraint;
    return {
      reason: 'HibernationNotPossible',
      field: ['spec', 'hibernation', 'enabled'],
      message: `'${HIBERNATION_POSSIBLE}' constraint is '${status}': ${message}`,
    };
  },
};

function wantsHibernation(shoot: JsonObject): boolean {
  return objectOf(objectOf(shoot.spec).hibernation).enabled === true;
}
