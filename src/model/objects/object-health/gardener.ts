import { isJsonObject, textOf } from '../../text/json.ts';
import { isAbnormal } from './general.ts';
import { type Found, failed, inProgress, type Live, unknown } from './health.ts';

/** What the last operation on an object has come to, as Gardener writes it. One with an error is tried again. */
export function lastOperationHealth({ status: { lastOperation } }: Live): Found | undefined {
  if (!isJsonObject(lastOperation)) return undefined;
  const { type, state, description } = lastOperation;
  const message = textOf(description) || `${textOf(type)} is ${textOf(state)}`;
  if (state === 'Failed') return failed(message);
  return state === 'Processing' || state === 'Pending' || state === 'Error' ? inProgress(message) : undefined;
}

/** Conditions of Gardener. `Progressing` is a status of conditions, and the name of a condition that is true while something goes on. */
export function gardenerHealth({ group, conditions }: Live): Found | undefined {
  if (!group.endsWith('.gardener.cloud')) return undefined;
  const abnormal = conditions.find(({ type, status }) => status === 'True' && isAbnormal(type));
  if (abnormal !== undefined) return failed(abnormal);
  const open = conditions.find(({ type, status }) => {
    if (status === 'Progressing') return true;
    return textOf(type).endsWith('Progressing') ? status === 'True' : status === 'False' && !isAbnormal(type);
  });
  if (open !== undefined) return inProgress(open);
  const unclear = conditions.find(({ status }) => status === 'Unknown');
  return unclear === undefined ? undefined : unknown(unclear);
}
