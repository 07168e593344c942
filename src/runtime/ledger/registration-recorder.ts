import type { Engine } from '../../engine/graph.ts';
import type { Log } from '../../ports/log.ts';
import type { Approvals } from '../removals/approvals.ts';
import type { AssumedWarmRecovery } from './assumed-warm.ts';
import type { Ledger } from './ledger.ts';

/**
 * Ends the registration of a cluster whose declaration is proven absent, and forgets its input snapshot. The returned function
 * runs after each commit; it returns true if it has staged a change.
 */
export function createRegistrationRecorder(deps: {
  readonly engine: Engine;
  readonly ledger: Ledger;
  readonly recovery: AssumedWarmRecovery;
  readonly approvals: Approvals;
  /** True if every configured source was read completely. */
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
    log.warn(
      'a cluster is deregistered: its name is free and its certificates are void; its objects stay in the cluster',
      {
        ...{ cluster, id: registration.id, owned: engine.inputs.ledger.size(cluster) },
      },
    );
    ledger.endRegistration(cluster);
    approvals.endAll(cluster);
    return true;
  };
  /** Deregisters clusters whose declarations were removed while no server of the fleet ran. */
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
