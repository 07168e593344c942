import type { AgentHolding } from '../../../src/model/agent/agent.ts';
import type { SequencedDelta } from '../../../src/model/fleet/output.ts';
import type { AgentSession, RelayServer } from '../../../src/relay/session.ts';

/** Receives for the checkers what passes between a server and its relay. */
export interface RelayEars {
  /** An agent has reported its holding, and its server is about to receive the report. */
  connected(cluster: string, holding: AgentHolding): void;
  /** A delta leaves the server. */
  departed(cluster: string, delta: SequencedDelta): void;
}

/** The relay unchanged, with a listener that receives its traffic. */
export function heardRelay(relay: RelayServer, ears: RelayEars): RelayServer {
  return {
    ...relay,
    start: (listener) => {
      const heard = new WeakMap<AgentSession, AgentSession>();
      return relay.start({
        ...listener,
        connected: (session, holding) => {
          const { cluster } = session.hello;
          ears.connected(cluster, holding);
          const own: AgentSession = {
            ...session,
            send: (delta, provesInventory) => {
              ears.departed(cluster, delta);
              return session.send(delta, provesInventory);
            },
          };
          heard.set(session, own);
          listener.connected(own, holding);
        },
        disconnected: (session, reason) => listener.disconnected(heard.get(session) ?? session, reason),
      });
    },
  };
}
