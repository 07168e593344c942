import { flag, type MetricSet } from './metric-set.ts';
import type { Scrape } from './scrape.ts';

/** The store as this server finds it. */
export function storeMetrics(set: MetricSet, scrape: () => Scrape): void {
  set.gauge('fleetrelay_store_up', '1 if the store answers.', [], () => [[{}, flag(scrape().store.up)]]);
  set.total('fleetrelay_store_writes_total', 'Batches that were written to the store.', [], () => [
    [{}, scrape().store.writes],
  ]);
  set.total(
    'fleetrelay_store_write_errors_total',
    'Batches that were not written to the store, by reason; Conflict: another process had written first.',
    ['reason'],
    () => [...scrape().store.errors].map(([reason, count]) => [{ reason }, count]),
  );
  set.total(
    'fleetrelay_store_records_refilled_total',
    'Records that the store had lost and that were written to it again.',
    [],
    () => [[{}, scrape().store.refilled]],
  );
}
