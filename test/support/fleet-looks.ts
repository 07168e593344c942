import type { OutputView } from '../../src/api/server-api.ts';
import { type Fleet, until } from './fleet-processes.ts';

/** What tests wait for in a fleet. Objects are named as `explain` does: `ConfigMap/web/a`. */
export interface FleetLooks {
  summary(text: RegExp): Promise<string>;
  entered(commit: string): Promise<boolean>;
  /** The live object, as text, once it holds the text. */
  holds(cluster: string, object: string, text: string): Promise<string>;
  lacks(cluster: string, object: string): Promise<boolean>;
  /** The server says this of an object. */
  said(cluster: string, object: string, state: OutputView['state'], message?: RegExp): Promise<OutputView>;
  connected(cluster: string, is?: boolean): Promise<boolean>;
  /** The agent of this name has logged such a line since its first start. */
  logged(agent: string, text: RegExp): Promise<unknown>;
}

/** `deadlineMs`: how long each is waited for. */
export function looksOf(
  fleet: () => Pick<Fleet, 'status' | 'output' | 'live' | 'agent'>,
  deadlineMs = 90_000,
): FleetLooks {
  return {
    summary: async (text) => {
      let last = '';
      const look = async (): Promise<string | undefined> => {
        last = (await fleet().status()).summary;
        return text.test(last) ? last : undefined;
      };
      return until(`the summary is ${text}`, look, deadlineMs).catch((error: unknown) => {
        throw new Error(`${String(error)}; it says: ${last}`);
      });
    },
    entered: (commit) =>
      until(`${commit} has entered`, async () => (await fleet().status()).sources[0]?.revision === commit, deadlineMs),
    holds: (cluster, object, text) => {
      const look = async (): Promise<string | undefined> => {
        const live = await fleet().live(cluster, object);
        return live?.includes(text) === true ? live : undefined;
      };
      return until(`${cluster} holds ${object} with ${text}`, look, deadlineMs);
    },
    lacks: (cluster, object) =>
      until(`${cluster} lacks ${object}`, async () => (await fleet().live(cluster, object)) === undefined, deadlineMs),
    said: async (cluster, object, state, message = /(?:)/) => {
      let last: OutputView | undefined;
      const look = async (): Promise<OutputView | undefined> => {
        last = await fleet().output(cluster, object);
        return last?.state === state && message.test(last.message) ? last : undefined;
      };
      return until(`${object} of ${cluster} is ${state}`, look, deadlineMs).catch((error: unknown) => {
        throw new Error(`${String(error)}; the server says: ${JSON.stringify(last)}`);
      });
    },
    connected: (name, is = true) =>
      until(
        `${name} is ${is ? '' : 'not '}connected`,
        async () => (await fleet().status()).clusters.find((cluster) => cluster.name === name)?.connected === is,
        deadlineMs,
      ),
    logged: (name, text) => {
      const { logs } = fleet().agent(name);
      return until(
        `the agent ${name} logs ${text}`,
        () => logs.find((line) => text.test(JSON.stringify(line))),
        deadlineMs,
      );
    },
  };
}
