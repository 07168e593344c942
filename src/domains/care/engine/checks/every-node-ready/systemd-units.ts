import { conditionOf } from '../../../../../model/objects/object-health/health.ts';
import { type JsonObject, textOf } from '../../../../../model/text/json.ts';
import { bounded } from '../../bounded-text.ts';
import { type ClusterRule, causedBy, failed, MOST_NAMED_NODES, nodeName } from './look.ts';

/** What a Node says of its systemd units; undefined: they are ready, or it says nothing. */
export function unitsProblem(status: JsonObject): string | undefined {
  const condition = conditionOf(status, 'SystemdUnitsReady');
  return condition === undefined || condition.status === 'True' ? undefined : bounded(textOf(condition.message));
}

/** The systemd units of Nodes that report on them have to be ready. Source: Gardener's CheckSystemdUnitsReady. */
export const unitsAreReady: ClusterRule = ({ first, count }) => {
  const found = first('units', MOST_NAMED_NODES);
  const [cause] = found;
  if (cause === undefined) return undefined;
  const named = found.map(({ key, value }) => `node "${nodeName(key)}": ${value.units}`).join('; ');
  const left = count('units') - found.length;
  const more = left > 0 ? `; and ${left} more` : '';
  return failed('SystemdUnitsNotReady', `systemd units are not healthy on ${named}${more}`, causedBy(cause));
};
