import type { StoreEvent } from '../../../ports/snapshot-store.ts';
import type { Knowledge } from './knowledge.ts';
import type { Layout } from './layout.ts';
import { restoreIndex } from './restore-index.ts';
import type { Session } from './session.ts';

/** The session that is up, and what a command of it needs to name. */
export interface Live {
  readonly session: Session;
  readonly token: string;
  readonly marker: string;
}

export interface CurrentSession {
  live(): Live | undefined;
  /** Opens a session that is connected; gives what is to be told. It is live then. */
  introduce(session: Session): Promise<readonly StoreEvent[]>;
  /** Introduces the same session again, once for all that ask for it; nothing if it is not live any more. */
  reopen(of: Live): Promise<void>;
  /**
   * Looks whether everything is as it was. `expected`: what must have been heard of by now; gives the same for the next
   * time.
   */
  beat(at: Live, expected: number): Promise<number>;
  drop(): void;
}

export interface CurrentSessionDeps {
  readonly knowledge: Knowledge;
  readonly layout: Layout;
  readonly newId: () => string;
  readonly tell: (event: StoreEvent) => void;
}

export function createCurrentSession({ knowledge, layout, newId, tell }: CurrentSessionDeps): CurrentSession {
  let live: Live | undefined;
  let reopening: { readonly of: Live; readonly done: Promise<void> } | undefined;
  return {
    live: () => live,
    introduce,
    reopen,
    beat,
    drop: () => {
      live = undefined;
    },
  };

  async function introduce(session: Session): Promise<readonly StoreEvent[]> {
    const token = newId();
    const before = knowledge.known();
    const { found, begins } = await session.open(token, before?.count ?? 0);
    if (begins) {
      await restoreIndex(session.commands, layout);
      await session.begin(found.marker);
    }
    live = { session, token, marker: found.marker };
    return knowledge.judge(before, found, true);
  }

  async function reopen(of: Live): Promise<void> {
    if (live !== of) return;
    if (reopening?.of !== of) reopening = { of, done: introduceAgain(of) };
    await reopening.done;
  }

  async function introduceAgain({ session }: Live): Promise<void> {
    for (const event of await introduce(session)) tell(event);
  }

  async function beat(at: Live, expected: number): Promise<number> {
    const before = knowledge.known();
    const { found, token } = await at.session.beat(before?.count ?? 0);
    if (found.marker !== at.marker || token !== at.token) {
      await reopen(at);
      return knowledge.heard();
    }
    for (const event of knowledge.judge(before, found, false)) tell(event);
    if (knowledge.heard() < expected) knowledge.missed(found.count);
    return found.count;
  }
}
