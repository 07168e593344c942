import type { ServerApi } from '../../server/api.ts';

/** What a server knows of its own health. */
interface OwnHealth {
  /** URL of the listener for health and metrics; undefined: it is not open yet. */
  readonly address: () => string | undefined;
  /** Why it is not ready; empty: it is. */
  readonly notReady: () => readonly string[];
}

/** The API of a server, whose status also says where its health and metrics are, and why it is not ready. */
export function withOwnHealth<Api extends ServerApi>(api: Api, { address, notReady }: OwnHealth): Api {
  return {
    ...api,
    status() {
      const metricsAddress = address();
      const reasons = notReady();
      return {
        ...api.status(),
        ...(metricsAddress === undefined ? {} : { metricsAddress }),
        ...(reasons.length === 0 ? {} : { notReady: reasons }),
      };
    },
  };
}
