import { durableAlready } from '../../model/fleet/receipt.ts';
import type { Source } from '../../ports/source.ts';
import type { ServerCore } from '../core.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { ApprovalOutcomes } from '../removals/approval-files.ts';
import type { Sessions } from '../sessions.ts';
import type { SourceTable } from '../source-table.ts';
import { ADMISSION_KEY, type AdmissionCounter, type AdmittedRevision } from './admission.ts';
import { behindAgent, provenAdmission, type Replica } from './replica.ts';
import { type Intake, judgedBy, stageFile } from './sources.ts';
import type { StoreLock } from './store-lock.ts';

interface SoleDeps extends ServerCore {
  readonly ledger: Ledger;
  readonly counter: AdmissionCounter;
}

/** Admits at once what the sources of the only server observe. */
export function createSoleIntake(deps: SoleDeps, configured: readonly Source[]): Intake {
  const { engine, loop, ledger } = deps;
  const admitted = new Map<string, AdmittedRevision>();
  let staging = 0;
  for (const [order, { name, rights }] of configured.entries()) {
    engine.inputs.sources.set('', name, { order, read: false, ...judgedBy(rights, undefined) });
  }
  return {
    admitted: (source) => admitted.get(source),
    isStaging: () => staging > 0,
    observed: ({ changes, ...reading }) => {
      const { source, revision, signatures } = reading;
      const order = configured.findIndex(({ name }) => name === source);
      const rights = configured[order]?.rights;
      const stage = function* (): Generator<undefined> {
        engine.inputs.sources.set('', source, { order, read: true, ...judgedBy(rights, signatures) });
        for (const { path, file } of changes) {
          stageFile(engine, source, path, file);
          yield;
        }
      };
      staging += 1;
      loop.transact(() => undefined, {
        staging: stage(),
        committed: () => {
          staging -= 1;
          ledger.setAdmittedRevision(source, revision);
          admit(deps);
        },
        // What others see counts as computed from it when it is.
        published: () => void admitted.set(source, reading),
      });
      void loop.settled();
    },
  };
}

/** The only server of its fleet: it always leads. */
export function createSoleReplica(
  deps: SoleDeps & {
    readonly role: Pick<Replica, 'leads' | 'knowsAll'>;
    readonly sources: SourceTable;
    readonly sessions: Sessions;
    readonly outcomes: Pick<ApprovalOutcomes, 'lose'>;
    /** Set if other servers could use the store. */
    readonly lock: StoreLock | undefined;
    /** Reads from the status branch what the store may lack. Takes some seconds at most, and never rejects. */
    readonly prepare: () => Promise<void>;
  },
): Replica {
  const { lock, clock, counter, ledger, loop, log, outcomes, sessions, sources } = deps;

  const catchUp = (): void => {
    if (!counter.isBehind() || !sources.allWereRead()) return;
    counter.catchUp();
    admit(deps);
    log.info('every source was read anew, and is admitted above all that was admitted before', {
      ...counter.current(),
    });
    loop.transact(() => undefined);
  };
  // The store may be an older copy. After a loss the epoch is new anyway.
  if (!ledger.wasLost) counter.planEpoch(clock.now());
  loop.addSink('admission', catchUp);
  lock?.onChange(() => void loop.transact(() => undefined));

  return {
    ...deps.role,
    admitted: counter.current,
    mayStart: () => sources.allHaveSpoken(),
    hasCommitted: sources.isCommitted,
    // It commits only what it has read itself.
    hasReadAnew: () => true,
    obstacle: (cluster) => lock?.obstacle() ?? behindAgent(cluster, counter.current(), sessions.get(cluster)?.admitted),
    caughtUp: async () => true,
    judge: () => undefined,
    connected: (_session, holding) => {
      counter.stated(provenAdmission(holding));
      outcomes.lose(counter.provenLoss());
    },
    disconnected: () => undefined,
    revoke: () => durableAlready,
    accepted: (source, revision) => {
      ledger.setAdmittedRevision(source, revision);
      return ledger.admissionReceipt(source);
    },
    lastAdmitted: (source) => ledger.admittedRevision(source),
    isAlive: () => false,
    view: () => ({ id: '', leads: true, leader: null, admitted: counter.current(), alive: 1, problem: '' }),
    start: deps.prepare,
    stop: async () => undefined,
  };
}

function admit({ counter, journal }: Pick<SoleDeps, 'counter' | 'journal'>): void {
  counter.set(counter.next());
  journal.put(ADMISSION_KEY, counter.current());
}
