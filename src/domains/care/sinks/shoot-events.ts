import { isJsonObject, type JsonObject, objectOf, textOf } from '../../../model/text/json.ts';
import type { ResourceEvent } from '../../../ports/resource-status.ts';
import { declarationErrorIn } from '../model/declaration-error.ts';

/** The reasons of the events of an operation, by its type. Source: Gardener's Shoot controller. */
const RECONCILIATION = { begins: 'Reconciling', ends: 'Reconciled', fails: 'ReconcileError' };
const REASONS: Readonly<Record<string, typeof RECONCILIATION>> = {
  Create: RECONCILIATION,
  Reconcile: RECONCILIATION,
  Restore: RECONCILIATION,
  Delete: { begins: 'Deleting', ends: 'Deleted', fails: 'DeleteError' },
  Migrate: { begins: 'PrepareMigration', ends: 'MigrationPrepared', fails: 'MigrationPreparationFailed' },
};

/** The Events of a Shoot between two states of its status. */
export function shootEvents(before: JsonObject | undefined, after: JsonObject): readonly ResourceEvent[] {
  const wrong = declarationErrorIn(after);
  const events: ResourceEvent[] = [];
  if (wrong !== undefined && wrong !== declarationErrorIn(before)) {
    events.push({ type: 'Warning', reason: 'ConfigurationProblem', message: wrong });
  }
  const operation = operationEvent(before, after);
  return operation === undefined ? events : [...events, operation];
}

/** The event of a change of the last operation of a Shoot: it begins, ends or fails. Undefined: none of these. */
function operationEvent(before: JsonObject | undefined, after: JsonObject): ResourceEvent | undefined {
  if (!isJsonObject(after.lastOperation)) return undefined;
  const { type, state, description } = after.lastOperation;
  const was = objectOf(before?.lastOperation);
  const reasons = Object.hasOwn(REASONS, textOf(type)) ? REASONS[textOf(type)] : undefined;
  if (reasons === undefined || (was.type === type && was.state === state)) return undefined;
  const message = textOf(description);
  const wasRunning =
    was.type === type && (was.state === 'Processing' || was.state === 'Error' || was.state === 'Pending');
  switch (state) {
    case 'Processing':
      return wasRunning ? undefined : { type: 'Normal', reason: reasons.begins, message };
    case 'Succeeded':
      return { type: 'Normal', reason: reasons.ends, message };
    case 'Error':
    case 'Failed':
      return { type: 'Warning', reason: reasons.fails, message };
    default:
      return undefined;
  }
}
