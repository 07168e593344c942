import { enrolmentToken } from '../../src/relay/trust/enrolment-tokens.ts';

/** The year 2096: later than the clock of any test. */
export const FAR_AWAY = 4_000_000_000;

/** An enrolment token that expires when no test runs any more. */
export function lastingToken(secret: Uint8Array, cluster: string, generation = 0): string {
  return enrolmentToken(secret, cluster, { generation, expiresAt: FAR_AWAY });
}
