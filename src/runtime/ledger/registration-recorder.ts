import type { Engine } from '../../engine/graph.ts';
import type { Log } from '../../ports/log.ts';
import type { Approvals } from '../removals/approvals.ts';
import type { AssumedWarmRecovery } from './assumed-warm.ts';
import type { Ledger } from './ledger.ts';

/**
 * Ends the registration of a cluster whose declaration is proven gone, and forgets what lived there. Returns true if it
 * has staged something.
 */
export function createRegistrationRecorder(deps: {
  readonly engine: Engine;
  readonly ledger: Ledger;
  readonly recovery: AssumedWarmRecovery;
  readonly approvals: Approvals;
  /** Every configured source has been read and is whole. */
  readonly knowsAll: () => boolean;
  readonly log: Log;
}): () => boolean {
  const { engine, ledger, recovery, approvals, knowsAll, log } = deps;
  const clusters = engine.graph.watch(engine.clusters);
  let sawAll = false;

  const end = (cluster: string): boolean => {
    const wasAssumedWarm = recovery.end(cluster);
    const registration = ledger.registration(cluster);
    if (registration === undefined) {
      if (wasAssumedWarm) engine.inputs.agents.delete('', cluster);
      return wasAssumedWarm;
    }
    log.warn('a cluster is deregistered: its name is free and its certificates are void; what it holds stays there', {
      ...{ cluster, id: registration.id, owned: engine.inputs.ledger.size(cluster) },
    });
    ledger.endRegistration(cluster);
    approvals.endAll(cluster);
    return true;
  };
  /** Those that went while no server of this fleet was there to see it. */
  const endUndeclared = (): boolean => {
    sawAll = true;
    const undeclared = [...ledger.registrations()]
      .map(({ cluster }) => cluster)
      .filter((cluster) => engine.clusters.get('', cluster) === undefined);
    return undeclared.map(end).includes(true);
  };

  return () => {
    const gone = clusters.take().filter(({ after }) => after === undefined);
    const ended = gone.map(({ key }) => end(key)).includes(true);
    return (!sawAll && knowsAll() && endUndeclared()) || ended;
  };
}
