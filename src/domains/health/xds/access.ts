import { createKeyedLimit } from '../../../model/limits/keyed-limit.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { StreamEnd } from '../../../ports/transport.ts';
import { callerOf } from '../../../relay/caller.ts';
import { statedSubject, type TokenGenerations, tokenGeneration } from '../../../relay/trust/tokens.ts';
import type { Access } from '../../../xds/access.ts';
import type { XdsLimits } from '../../../xds/limits.ts';
import { dataplaneOfSubject, dataplaneSubject } from '../model/dataplane.ts';

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

const NOT_YET: StreamEnd = {
  code: 'unavailable',
  reason: 'Starting',
  message: 'this server does not know yet which data planes are declared; come again soon',
};
/** The same text for every name, so that it does not reveal which data planes exist. */
const REFUSED: StreamEnd = {
  code: 'unauthenticated',
  reason: 'WrongToken',
  message: 'the node id is MESH.NAME of no declared data plane, or the token belongs to another data plane',
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

/** Decides which streams of Envoys are served. Their nodes are declared data planes, as `MESH/NAME`. */
export function createAccess({ trust, isDeclared, mayStart, clock, limits }: AccessDeps): Access {
  const delay = createKeyedLimit(limits.refusalsPerAddress);
  let waiting = 0;

  return {
    judge: ({ metadata }) => {
      if (!mayStart()) return { refused: NOT_YET };
      if (trust === undefined) return undefined;
      const token = tokenOf(metadata.authorization);
      // A token that states no data plane takes as much time as a wrong one.
      const dataplane = dataplaneOfSubject(statedSubject(token) ?? '') ?? '';
      const subject = dataplaneSubject(dataplane);
      const { secrets, generations } = trust;
      const generation = tokenGeneration(secrets, subject, token);
      if (generation === undefined || !isDeclared(dataplane)) return { refused: REFUSED };
      if (generation < generations.current(subject)) return { refused: RENEWED };
      generations.shown(subject, generation);
      return { node: dataplane };
    },
    admit: (id, proven) => {
      // Both parts may have dots, so that a node id can mean several data planes: a token says which one.
      const dataplane = namesOf(id).find(proven === undefined ? isDeclared : (name) => name === proven);
      if (dataplane !== undefined) return { node: dataplane };
      return { refused: proven === undefined ? UNKNOWN : REFUSED };
    },
    watch: (dataplane, end) =>
      trust?.generations.watch((subject) => {
        if (subject === dataplaneSubject(dataplane)) end(RENEWED);
      }) ?? (() => undefined),
    /** If too many wait, of its address or in all, a stream ends at once and says nothing. */
    refuse: async (call, end) => {
      const undelay = waiting < limits.refusalsWaiting ? delay(callerOf(call.peer)) : undefined;
      if (undelay === undefined) return call.end(BUSY);
      waiting += 1;
      const over = new AbortController();
      void call.ended.then(() => over.abort());
      await clock.sleep(limits.refusalMs, over.signal);
      waiting -= 1;
      undelay();
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
  return /^(?:Bearer )?([\x21-\x7e]{1,1024})$/.exec(authorization ?? '')?.[1] ?? '';
}
