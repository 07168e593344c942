import type { Log } from '../../ports/log.ts';
import type { LedgerRecords } from './records.ts';

/**
 * Warns if a source that has declared clusters is not configured any more. Its declarations count as removed when every
 * configured source was read, which ends the registrations; a user who mistyped a name can still correct it.
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
      'a source that has declared clusters is not configured any more: unless another source declares them, they are deregistered when every source was read',
      { source, clusters },
    );
  }
}
