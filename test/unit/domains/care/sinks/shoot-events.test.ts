import { expect, it } from 'vitest';
import { shootEvents } from '../../../../../src/domains/care/sinks/shoot-events.ts';

const status = (text: string) => {
  const [type = '', state = ''] = text.split('/');
  return text === '' ? {} : { lastOperation: { type, state, description: `${text} now` } };
};

it.each([
  ['', 'Create/Processing', 'Normal Reconciling'],
  ['Create/Processing', 'Create/Succeeded', 'Normal Reconciled'],
  ['Create/Succeeded', 'Reconcile/Processing', 'Normal Reconciling'],
  ['Reconcile/Processing', 'Reconcile/Error', 'Warning ReconcileError'],
  ['Reconcile/Error', 'Reconcile/Failed', 'Warning ReconcileError'],
  ['Reconcile/Error', 'Reconcile/Processing', undefined],
  ['Reconcile/Failed', 'Reconcile/Processing', 'Normal Reconciling'],
  ['Reconcile/Pending', 'Reconcile/Processing', undefined],
  ['Reconcile/Processing', 'Reconcile/Aborted', undefined],
  ['Reconcile/Succeeded', 'Reconcile/Succeeded', undefined],
  ['Reconcile/Processing', 'Delete/Processing', 'Normal Deleting'],
  ['Delete/Processing', 'Delete/Failed', 'Warning DeleteError'],
  ['Delete/Processing', 'Delete/Succeeded', 'Normal Deleted'],
  ['Reconcile/Succeeded', 'Migrate/Processing', 'Normal PrepareMigration'],
  ['Migrate/Processing', 'Migrate/Error', 'Warning MigrationPreparationFailed'],
  ['Migrate/Processing', 'Migrate/Succeeded', 'Normal MigrationPrepared'],
  ['Migrate/Succeeded', 'Restore/Processing', 'Normal Reconciling'],
  ['', 'toString/Processing', undefined],
  ['Create/Succeeded', '', undefined],
])('%s → %s: %s', (before, after, event) => {
  const events = shootEvents(status(before), status(after));
  expect(events.map(({ type, reason }) => `${type} ${reason}`)).toEqual(event === undefined ? [] : [event]);
  for (const { message } of events) expect(message).toBe(`${after} now`);
});
