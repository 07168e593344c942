import type { Source } from '../../ports/source.ts';
import { type ClusterReadings, validReadings } from '../../runtime/ledger/cluster-state.ts';
import type { LedgerRecords } from '../../runtime/ledger/records.ts';
import { ENGINE_GENERATION } from '../../runtime/replica/admission.ts';
import { createJudgement } from '../../runtime/replica/admitting.ts';
import type { Replica } from '../../runtime/replica/replica.ts';
import { createSharedReplica } from '../../runtime/replica/shared-replica.ts';
import { createSoleIntake, createSoleReplica } from '../../runtime/replica/sole-replica.ts';
import { createOwnSources, createStagedSources } from '../../runtime/replica/sources.ts';
import type { Sessions } from '../../runtime/sessions.ts';
import { createSourceTable, type SourceTable } from '../../runtime/source-table.ts';
import { createSuspendableIntake, withSuspensions } from '../../runtime/suspensions.ts';
import type { Foundation } from './foundation.ts';

interface WiredReplica {
  readonly sources: SourceTable;
  readonly replica: Replica;
}

/** What the listeners of a server, its API and its domains work on. */
export interface Parts extends Foundation, WiredReplica {
  readonly sessions: Sessions;
}

/** Makes the sources of this server, and its replica, which admits what they read. */
export function wireReplica(foundation: Foundation, configured: readonly Source[], version: string): Parts {
  const sessions: Sessions = new Map();
  const { several, suspensions } = foundation;
  const { sources, replica } =
    several === undefined
      ? wireSole(foundation, configured, sessions)
      : wireShared({ ...foundation, ...several }, configured, sessions, version);
  return { ...foundation, sessions, sources, replica: withSuspensions(replica, suspensions) };
}

function wireSole(foundation: Foundation, configured: readonly Source[], sessions: Sessions): WiredReplica {
  const { suspensions, events, observed } = foundation;
  const intake = createSuspendableIntake(createSoleIntake(foundation, configured), suspensions, events);
  const sources = createSourceTable({ ...foundation, sources: configured, intake });
  return { sources, replica: createSoleReplica({ ...foundation, sources, sessions, prepare: observed.readBranch }) };
}

function wireShared(
  foundation: Foundation & NonNullable<Foundation['several']>,
  configured: readonly Source[],
  sessions: Sessions,
  version: string,
): WiredReplica {
  const { events, records, setup, suspensions } = foundation;
  const staged = createStagedSources(foundation);
  const own = createOwnSources(configured, staged, events);
  const sources = createSourceTable({ ...foundation, sources: configured, intake: own });
  const isSuspended = (source: string): boolean => suspensions.get('source', source) !== undefined;
  const judgement = createJudgement(foundation);
  const readings = stagedReadings(records);
  const deps = { ...foundation, sources, sessions, staged, own, judgement, isSuspended, readings };
  const { engine = ENGINE_GENERATION } = setup;
  return { sources, replica: createSharedReplica(deps, { ...setup, version, engine }) };
}

/** The maps of the clusters that the ledger has staged. */
function stagedReadings({ readings, registrations }: LedgerRecords): ReadonlyMap<string, ClusterReadings> {
  return new Map([...readings].map(([cluster, read]) => [cluster, validReadings(read, registrations.has(cluster))]));
}
