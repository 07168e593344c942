import type { DomainApi } from '../../api/domain-api.ts';
import type { Domain } from '../../engine/domain.ts';
import type { RelayConfig } from '../../model/fleet/relay-config.ts';
import type { AuditLog } from '../../ports/audit-log.ts';
import type { Log } from '../../ports/log.ts';
import type { ServerCore } from '../../runtime/core.ts';
import type { SharedRecord } from '../../runtime/ledger/records.ts';
import type { Replica } from '../../runtime/replica/replica.ts';
import type { StatusRules } from '../../runtime/status/status-rules.ts';
import type { DomainMetric } from '../../server/metrics.ts';
import type { OpenedRelay } from './relay.ts';
import type { ProcessDeps } from './sources.ts';

/** A domain as a management server has it. */
export interface ServedDomain {
  readonly engine: Domain;
  /** Absent: the engine does all of its work. */
  readonly server?: ServerPart;
}

/**
 * What a domain adds to a management server besides its part of the engine: a server without it runs, and does everything else.
 *
 * @example A part with a record that people set, and a metric that counts them.
 *
 *     const noted: SharedRecord = { prefix: 'notes/', shape: fields({ text: isText }) };
 *     const notesServer: ServerPart<number> = {
 *       records: [noted],
 *       metrics: [{ name: 'fleetrelay_notes', type: 'gauge', labels: [], help: 'Notes of people.', read: (count: number) => count }],
 *       create: (core) => {
 *         const notes = createSharedInput(core, noted, { input: notesOf(core.engine), staged: (note) => note });
 *         const set = async ({ name = '', text = '' }: Texts): Promise<Act<object>> => {
 *           notes.set(name, { text });
 *           return { ok: true, value: { name, text }, receipt: notes.receipt(name) };
 *         };
 *         return {
 *           acts: [{ path: '/notes/:name', needed: { text: 200 }, run: set }],
 *           figures: () => [...notes.entries()].length,
 *           stop: notes.follow(),
 *         };
 *       },
 *     };
 */
export interface ServerPart<Figures = unknown> {
  /** The records in the store that every replica may write. They are read before `create` is called. */
  readonly records?: readonly SharedRecord[];
  /** By kind of the domain. */
  readonly statuses?: StatusRules;
  /** They read {@link RunningPart.figures}. */
  readonly metrics?: readonly DomainMetric<Figures>[];
  /** The part as the configuration wants it. Throws, with a text for people, if it is wrong. Absent: the configuration says nothing of it. */
  readonly configured?: (process: ServerProcess) => ServerPart<Figures>;
  /** Makes the part before the first commit of the engine. It may add recorders and sinks to the loop. */
  readonly create: (core: ServerPartDeps) => RunningPart<Figures>;
}

/** What a part may read of its process. */
export interface ServerProcess {
  readonly config: RelayConfig;
  readonly relay: OpenedRelay;
  readonly env: ProcessDeps['env'];
  readonly log: Log;
}

/** What a part works on. */
export interface ServerPartDeps extends ServerCore {
  readonly replica: Replica;
  /** Id of this replica; empty: the only server. */
  readonly id: string;
  /** False: the sources were not read yet, so that a missing declaration means nothing. */
  readonly ready: () => boolean;
  /** Absent: nothing is noted. */
  readonly audit?: AuditLog;
}

/** A bound address. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** A part of a management server that runs. */
export interface RunningPart<Figures = unknown> extends Partial<DomainApi> {
  /** What the metrics of the part read now; absent: they show nothing. */
  readonly figures?: () => Figures;
  /** Opens the listeners of the part. Resolves with their addresses, by name. */
  readonly start?: () => Promise<Readonly<Record<string, Address>>>;
  /** Says whether this server leads: after its start if it does, and after each change. */
  readonly lead?: (leads: boolean) => void;
  readonly stop?: () => Promise<unknown>;
}
