import { type ConditionValue, withTimes } from '../../model/conditions.ts';
import type { JsonObject, JsonValue } from '../../model/json.ts';
import type { SourceState } from '../source-table.ts';
import type { WrittenBefore } from './status-documents.ts';

/** The status of a source: what it is at, and what keeps it. */
export function sourceDocument(
  { source, condition, admitted }: SourceState,
  before: WrittenBefore,
  now: number,
): JsonObject {
  const conditions = withTimes(
    [syncedCondition(condition), readableCondition(admitted?.state)],
    before.conditions,
    now,
  );
  return {
    apiVersion: 'fleetrelay.dev/v1alpha1',
    kind: 'SourceStatus',
    source: source.name,
    ...(admitted === undefined ? {} : { revision: admitted.revision }),
    ...(condition.refusedRevision === undefined ? {} : { refusedRevision: condition.refusedRevision }),
    status: { conditions: conditions as unknown as JsonValue },
  };
}

function syncedCondition({ state, reason, message }: SourceState['condition']): ConditionValue {
  // What a look that went well has to say names the revision, which stands above.
  if (state === 'synced') return { type: 'Synced', status: 'True', reason, message: '' };
  return { type: 'Synced', status: state === 'pending' ? 'Unknown' : 'False', reason, message };
}

function readableCondition(state: 'whole' | 'partial' | undefined): ConditionValue {
  switch (state) {
    case undefined:
      return { type: 'Whole', status: 'Unknown', reason: 'NotRead', message: '' };
    case 'whole':
      return { type: 'Whole', status: 'True', reason: 'Whole', message: '' };
    case 'partial':
      return {
        type: 'Whole',
        status: 'False',
        reason: 'Partial',
        message: 'files cannot be read: the source removes nothing',
      };
  }
}
