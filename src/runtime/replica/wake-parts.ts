import { ADMISSION_KEY } from './admission.ts';
import type { Parts, ReplicaDeps } from './replica-parts.ts';
import { replicatedCluster } from './replicated-clusters.ts';

/** How often all records of other replicas are read: the notice of a change may be lost. */
const SWEEP_MS = 120_000;

/** Lets each event wake the parts of the replica that it concerns. `start` begins to follow the store. */
export function wakeParts(deps: ReplicaDeps, parts: Parts) {
  const { clock, events, store } = deps;
  const { clusters, leases, records } = parts;
  let unwatch = (): void => undefined;
  let cancelSweep = (): void => undefined;
  const sweepLater = (): void => {
    cancelSweep = clock.schedule(SWEEP_MS, () => {
      sweepLater();
      for (const part of [leases, clusters, records]) part.wake();
      wakePermits(deps, parts);
    });
  };
  listen(deps, parts);
  return {
    start: (): void => {
      unwatch = store.watch((event) => events.emit('store', event));
      sweepLater();
    },
    stop: (): void => {
      cancelSweep();
      unwatch();
    },
  };
}

function listen(deps: ReplicaDeps, parts: Parts): void {
  const { counter, events, ledger, loop, windows } = deps;
  const { admitting, clusters, epoch, leases, permits, publisher, records } = parts;
  const commit = (): void => loop.transact(() => undefined);

  // An earlier leader may have ended before it could write what the store has lost.
  events.on('election', () => clusters.wake());
  for (const event of ['election', 'sourceRead', 'suspended'] as const) events.on(event, admitting.wake);
  events.on('peersRead', (moved) => {
    admitting.wake();
    epoch.wake();
    // An agent counts as connected while its replica lives; a lease may be read before the first heartbeat.
    for (const [cluster, { replica }] of leases.others()) if (moved.has(replica)) clusters.wake(cluster);
    if (moved.size > 0) commit();
  });
  events.on('leaseMoved', (cluster) => {
    if (leases.holds(cluster)) {
      ledger.resume(cluster);
      permits.wake(cluster);
    } else clusters.wake(cluster);
    admitting.wake();
    commit();
  });
  events.on('admitted', () => {
    wakePermits(deps, parts);
    acceptElsewhere(deps);
  });
  events.on('epochRaised', (begun) => {
    counter.seen({ epoch: begun, sequence: 0 });
    admitting.wake();
  });
  events.on('store', (event) => {
    if (event.type === 'changed') return wakeForRecords(parts, event.keys);
    if (event.type === 'lost') for (const part of [publisher, leases, windows]) part.storeLost();
    for (const part of [epoch, admitting, leases, clusters, records]) part.wake();
    commit();
  });
}

function wakePermits({ sessions }: ReplicaDeps, { permits }: Parts): void {
  for (const cluster of sessions.keys()) permits.wake(cluster);
}

/** The records of these keys have changed in the store. */
function wakeForRecords(
  { admitting, clusters, leases, peers, permits, records }: Parts,
  keys: readonly string[],
): void {
  for (const key of keys) {
    const [prefix, cluster = ''] = key.split('/');
    if (prefix === ADMISSION_KEY || prefix === 'trees') admitting.wake();
    else if (prefix === 'cluster-leases') leases.wake(cluster);
    else if (prefix === 'probes') peers.wakeProbe(cluster);
    else if (prefix === 'removal-permits') permits.wake(cluster);
    else if (replicatedCluster(key) !== undefined) clusters.wake(cluster);
    else records.wake(key);
  }
}

/** Accepts at this replica the revisions that a person has accepted at another one. */
function acceptElsewhere({ sources, staged }: ReplicaDeps): void {
  for (const { source, condition } of sources.all()) {
    const admitted = staged.publishedSource(source.name)?.revision?.revision;
    if (admitted !== undefined && condition.refusedRevision === admitted) source.accept(admitted);
  }
}
