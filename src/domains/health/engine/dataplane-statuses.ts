import type { Collection, Derived, Graph } from '../../../engine/collections/types.ts';
import type { StatusPart } from '../../../engine/status/declared-status.ts';
import type { ConditionValue } from '../../../model/fleet/conditions.ts';
import type { HealthReport } from '../model/dataplane-health.ts';
import type { DataplaneValue } from './dataplanes.ts';
import { connectionFields } from './views.ts';

/** Derives the status of the declared data planes. Other data planes are live state, and nothing is written to them. */
export function deriveDataplaneStatuses(
  graph: Graph,
  dataplanes: Collection<DataplaneValue>,
  reports: Collection<HealthReport>,
): Derived<StatusPart> {
  return graph.derive<DataplaneValue, StatusPart>({
    name: 'dataplaneStatuses',
    from: dataplanes,
    partition: '',
    reads: [reports],
    compute: ({ key, value }, read, emit) => {
      const { from, status, notes, connection } = value;
      if (from.type !== 'declared') return;
      const isReported = connection.state !== 'never' || read.get(reports, '', key) !== undefined;
      emit('Dataplane', from.key, {
        conditions: [isReported ? healthyCondition(value) : NOT_REPORTED],
        fields: { status, notes, connection: connectionFields(connection) },
      });
    },
  });
}

const NOT_REPORTED: ConditionValue = {
  type: 'Healthy',
  status: 'Unknown',
  reason: 'NotReported',
  message: 'the proxy has never been connected',
};

function healthyCondition({ status, notes, connection }: DataplaneValue): ConditionValue {
  if (status === 'Online') return { type: 'Healthy', status: 'True', reason: 'Online', message: '' };
  const reason = status === 'Offline' ? 'Offline' : 'PartiallyDegraded';
  const isOff = connection.state === 'disconnected' || connection.state === 'never';
  const message = [...(isOff ? ['the proxy is not connected'] : []), ...notes].join('; ');
  return { type: 'Healthy', status: 'False', reason, message };
}
