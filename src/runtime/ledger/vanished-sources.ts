import type { Log } from '../../ports/log.ts';
import type { LedgerRecords } from './records.ts';

/**
 * Says so if a source is not configured any more that has declared clusters: they count as removed once every configured
 * source was read, and that ends their registrations. A person who has only mistyped a name can still turn back.
 */
export function warnOfVanishedSources(
  { records, log }: { readonly records: Pick<LedgerRecords, 'declared'>; readonly log: Log },
  configured: readonly string[],
): void {
  const vanished = new Map<string, string[]>();
  for (const { kind, key: cluster, lastKnownGood } of records.declared) {
    const { source } = lastKnownGood.origin;
    if (kind !== 'KubernetesCluster' || configured.includes(source)) continue;
    vanished.set(source, [...(vanished.get(source) ?? []), cluster]);
  }
  for (const [source, clusters] of vanished) {
    log.warn(
      'a source that has declared clusters is not configured any more: unless another one declares them, they are deregistered as soon as every source was read',
      { source, clusters },
    );
  }
}
