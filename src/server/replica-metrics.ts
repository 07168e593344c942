import { flag, type MetricSet } from './metric-set.ts';
import type { ReplicaFigures, Scrape } from './scrape.ts';

/** Leader, admission, replicas. */
export function replicaMetrics(set: MetricSet, scrape: () => Scrape): void {
  const one = (name: string, help: string, value: (figures: ReplicaFigures) => number): void =>
    set.gauge(name, help, [], () => [[{}, value(scrape().replica)]]);
  one('fleetrelay_leader', '1 if this server admits revisions and judges removals; of several one does.', (figures) =>
    flag(figures.leads),
  );
  one(
    'fleetrelay_replicas_alive',
    'Servers of the fleet that this one hears, itself among them.',
    ({ alive }) => alive,
  );
  one('fleetrelay_admission_epoch', 'Epoch of the admission that is computed from.', ({ admitted }) => admitted.epoch);
  one(
    'fleetrelay_admission_sequence',
    'Sequence of the admission that is computed from.',
    ({ admitted }) => admitted.sequence,
  );
  one(
    'fleetrelay_admission_timestamp_seconds',
    'When this server took up the admission that is computed from, in seconds since 1970.',
    ({ admittedAt }) => admittedAt / 1000,
  );
  one('fleetrelay_admission_paused', '1 if nothing new is admitted or sent by this server.', ({ trouble }) =>
    flag(trouble !== ''),
  );
}
