import type { StoreEvent } from '../ports/snapshot-store.ts';
import type { RegistrationRequest } from '../relay/session.ts';
import type { Bus } from './bus.ts';

/** What the parts of a management server tell each other, with the payload of each event. */
export interface ServerEvents {
  /** The term of this replica as leader has begun or ended, or this replica has observed another leader. */
  readonly election: undefined;
  /**
   * True: this replica leads, and has read which removals were held and approved. False: it no longer judges removals.
   * This can come before the listeners for agents are open.
   */
  readonly turn: boolean;
  /** True: this replica leads, and its listeners are open. False: it no longer leads. Work of the leader starts and stops by this. */
  readonly leads: boolean;
  /** A source of this replica has read something, or its condition has changed. */
  readonly sourceRead: undefined;
  /** A person has suspended or resumed a cluster or a source. */
  readonly suspended: undefined;
  /** Another admission is staged. */
  readonly admitted: undefined;
  /** The heartbeats were read; the replicas that have fallen silent or become alive since the last look. */
  readonly peersRead: ReadonlySet<string>;
  /** This replica or another one has obtained or lost the lease of this cluster. */
  readonly leaseMoved: string;
  /** This replica has adopted a higher epoch. */
  readonly epochRaised: number;
  /** Of the store that the replicas share. */
  readonly store: StoreEvent;
  /** A cluster that had enrolled before was issued another certificate, with this serial number. */
  readonly enrolledAgain: { readonly request: RegistrationRequest; readonly serial: string };
}

export type ServerBus = Bus<ServerEvents>;
