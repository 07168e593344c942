import type { ClusterName } from '../../model/fleet/ids.ts';
import { reportedIn } from '../../model/fleet/ledger.ts';
import { type ClusterSize, type Excess, excessText } from '../../model/limits/quotas.ts';
import type { AgentListener } from '../../relay/session.ts';
import type { ServerParts } from '../../runtime/parts.ts';
import { createSnapshotSizes, type SnapshotSize } from './sizes.ts';

type QuotaDeps = Pick<ServerParts, 'engine' | 'ledger' | 'loop' | 'log'> & { readonly quotas: ClusterSize };

export type Quotas = ReturnType<typeof createQuotas>;

/** Judges the steps of input snapshots by the quotas, and notes in a cluster's registration and status what was refused. */
export function createQuotas(deps: QuotaDeps) {
  const { ledger, log, quotas } = deps;
  const sizes = createSnapshotSizes(deps);

  const aboveQuota: AgentListener['aboveQuota'] = (cluster, excess) => {
    const before = ledger.registration(cluster)?.excess;
    note(deps, cluster, excess);
    if (before?.what === excess.what && before.limit === excess.limit) return;
    const { what, number, limit } = excess;
    log.warn('an input of a cluster is above a quota; the input snapshot of before stays', {
      cluster,
      what,
      number,
      limit,
      detail: excessText(excess),
    });
  };
  return {
    limits: quotas,
    aboveQuota,
    after: sizes.after,
    /** The step is staged, and has led to this size. */
    taken: (cluster: ClusterName, size: SnapshotSize): void => {
      sizes.take(cluster, size);
      if (ledger.registration(cluster)?.excess === undefined) return;
      log.info('the input of a cluster is within its quotas again', { cluster });
      note(deps, cluster, undefined);
    },
    forget: sizes.forget,
  };
}

/** Stages the excess in the state of the cluster's agent, and records it. */
function note({ engine, ledger, loop }: QuotaDeps, cluster: ClusterName, excess: Excess | undefined): void {
  const registration = ledger.registration(cluster);
  if (registration === undefined) return;
  const { excess: _, ...known } = registration;
  ledger.setRegistration(cluster, { ...known, ...reportedIn({ excess }) });
  const agent = engine.inputs.agents.latest('', cluster);
  if (agent === undefined) return;
  const { excess: __, ...state } = agent;
  loop.transact(() => engine.inputs.agents.set('', cluster, { ...state, ...reportedIn({ excess }) }));
}
