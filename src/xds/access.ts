import { dataplaneSubject } from '../model/dataplane.ts';
import type { Clock } from '../ports/clock.ts';
import type { IncomingCall, StreamEnd } from '../ports/transport.ts';
import { type TokenGenerations, tokenGeneration } from '../relay/trust/tokens.ts';
import type { XdsLimits } from './limits.ts';

/** How the tokens of data planes are checked. */
export interface XdsTrust {
  /** The relay secrets: tokens of each are valid. */
  readonly secrets: readonly Uint8Array[];
  readonly generations: Pick<TokenGenerations, 'current' | 'shown' | 'watch'>;
}

/** What {@link createAccess} needs. */
interface AccessDeps {
  /** Undefined: data planes show no token (mode `insecure`). */
  readonly trust: XdsTrust | undefined;
  readonly isDeclared: (dataplane: string) => boolean;
  /** False: the declarations are not known yet. */
  readonly mayStart: () => boolean;
  readonly clock: Clock;
  readonly limits: XdsLimits;
}

/** A data plane that was let in, as `MESH/NAME`, or why it was not. */
export type Admitted = { readonly dataplane: string } | { readonly refused: StreamEnd };

const NOT_YET: StreamEnd = {
  code: 'unavailable',
  reason: 'Starting',
  message: 'this server does not know yet which data planes are declared; come again soon',
};
/** The same text for every name, so that it does not reveal which data planes exist. */
const REFUSED: StreamEnd = {
  code: 'unauthenticated',
  reason: 'WrongToken',
  message: 'the node id is MESH.NAME of no declared data plane, or the token is not that of this data plane',
};
const UNKNOWN: StreamEnd = {
  code: 'refused',
  reason: 'UnknownDataplane',
  message: 'the node id is MESH.NAME of no declared data plane',
};
const BUSY: StreamEnd = { code: 'unavailable', reason: 'Busy', message: 'too many wrong tokens; come again later' };

/** End of a stream whose token was renewed. */
const RENEWED: StreamEnd = {
  code: 'unauthenticated',
  reason: 'TokenRenewed',
  message: 'the token of this data plane was renewed, and this is an earlier one',
};

/** End of a stream on which the node id has changed. */
export const NODE_CHANGED: StreamEnd = {
  code: 'invalid',
  reason: 'NodeChanged',
  message: 'the node id of a stream cannot change',
};

export type Access = ReturnType<typeof createAccess>;

/** Decides which streams of Envoys are served. */
export function createAccess({ trust, isDeclared, mayStart, clock, limits }: AccessDeps) {
  let waiting = 0;

  const admit = (id: string, { metadata }: Pick<IncomingCall, 'metadata'>): Admitted => {
    if (!mayStart()) return { refused: NOT_YET };
    const declared = namesOf(id).find(isDeclared);
    if (trust === undefined) return declared === undefined ? { refused: UNKNOWN } : { dataplane: declared };
    // An unknown name takes as much time as a wrong token.
    const subject = dataplaneSubject(declared ?? '');
    const { secrets, generations } = trust;
    const generation = tokenGeneration(secrets, subject, tokenOf(metadata.authorization));
    if (declared === undefined || generation === undefined) return { refused: REFUSED };
    if (generation < generations.current(subject)) return { refused: RENEWED };
    generations.shown(subject, generation);
    return { dataplane: declared };
  };
  return {
    admit,
    /** Calls `end` when the token of this data plane is renewed, until the returned function is called. */
    watch: (dataplane: string, end: (reason: StreamEnd) => void): (() => void) =>
      trust?.generations.watch((subject) => {
        if (subject === dataplaneSubject(dataplane)) end(RENEWED);
      }) ?? (() => undefined),
    /** Ends a stream after a delay. If too many wait, it ends at once and says nothing. */
    refuse: async (call: IncomingCall, end: StreamEnd): Promise<void> => {
      if (waiting >= limits.refusalsWaiting) return call.end(BUSY);
      waiting += 1;
      const over = new AbortController();
      void call.ended.then(() => over.abort());
      await clock.sleep(limits.refusalMs, over.signal);
      waiting -= 1;
      call.end(end);
    },
  };
}

/** The data planes that a node id can mean, as `MESH/NAME`: both parts may have dots. */
function namesOf(id: string): readonly string[] {
  if (id.length > 1_000) return [];
  return [...id.matchAll(/\./g)].map(({ index }) => `${id.slice(0, index)}/${id.slice(index + 1)}`);
}

/** The token in the metadata, with or without `Bearer`; empty: there is none. */
function tokenOf(authorization: string | undefined): string {
  return /^(?:Bearer )?([\x21-\x7e]{1,512})$/.exec(authorization ?? '')?.[1] ?? '';
}
