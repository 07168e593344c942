import type { Receipt } from '../../model/fleet/receipt.ts';
import type { ServerCore } from '../core.ts';
import { ADMISSION_KEY } from './admission.ts';
import type { Publisher } from './publisher.ts';
import type { OwnSources, StagedSources } from './sources.ts';

interface AdmissionReceiptDeps extends Pick<ServerCore, 'loop' | 'journal'> {
  readonly own: Pick<OwnSources, 'all'>;
  readonly staged: Pick<StagedSources, 'publishedSource'>;
  readonly publisher: Pick<Publisher, 'group'>;
  /** By the clock of this process. */
  readonly leads: () => boolean;
}

/**
 * Returns a function that makes the receipt of a source: the leader has admitted what it has read by now, and the store has the
 * admission. Adds a sink to the loop.
 */
export function createAdmissionReceipts(deps: AdmissionReceiptDeps): (source: string) => Receipt {
  const { loop, journal, own, staged, publisher, leads } = deps;
  const waiting = new Set<{ readonly source: string; readonly admitted: () => void }>();

  const isAdmitted = (name: string): boolean => {
    const read = own.all().find(({ source }) => source.name === name)?.reading?.revision;
    return read !== undefined && staged.publishedSource(name)?.revision?.revision === read;
  };
  /** It is known whether this process writes the admission: a leader by a lease elsewhere may not be able to write yet. */
  const isDecided = (name: string): boolean => isAdmitted(name) && (publisher.group() !== undefined || !leads());
  loop.addSink('readers', () => {
    for (const one of waiting) {
      if (!isDecided(one.source)) continue;
      waiting.delete(one);
      one.admitted();
    }
  });
  return (source) => {
    const inStore = Promise.withResolvers<Receipt | undefined>();
    let record: Receipt | undefined;
    const admitted = (): void => {
      // A leader by a lease elsewhere admits also while the store cannot be written.
      record = publisher.group()?.receipt([ADMISSION_KEY]);
      inStore.resolve(record);
    };
    const one = { source, admitted };
    if (isDecided(source)) admitted();
    else waiting.add(one);
    return {
      written: inStore.promise.then((receipt) => receipt?.written ?? false),
      problem: journal.failure,
      cancel: () => {
        waiting.delete(one);
        record?.cancel();
      },
    };
  };
}
