import type { Act } from '../api/answer.ts';
import type { ServerApi } from '../api/server-api.ts';

/** Renewal of tokens; the tokens themselves are never sent. */
export interface TokenApi {
  /** Makes every earlier token of the cluster invalid; its certificates stay valid. */
  renewToken(cluster: string, by: string): Promise<Act<TokenView>>;
}

/** Decisions of people about single agents. */
export interface EnrolmentApi {
  /** Lets the agent with this cluster id and key enrol for the name, though it comes by the shared token. */
  acceptCluster(
    cluster: string,
    agent: { readonly id?: string; readonly key?: string },
    by: string,
  ): Promise<Act<AcceptedAgentView>>;
  /** Revokes one client certificate of a cluster; without a serial number all that were issued until now. */
  revokeCertificates(cluster: string, serial: string | undefined, by: string): Promise<Act<RevokedView>>;
}

/** The API for people. */
export type PeopleApi = ServerApi & TokenApi & EnrolmentApi;

/** The generation of a cluster's valid tokens. */
export interface TokenView {
  readonly cluster: string;
  /** The second of the renewal since 1970, or a later one. */
  readonly generation: number;
}

/** The agent that was accepted for a name. */
export interface AcceptedAgentView {
  readonly cluster: string;
  readonly id: string;
  readonly key: string;
}

/** What was revoked. */
export interface RevokedView {
  readonly cluster: string;
  /** Null: all certificates that were issued for the cluster until now. */
  readonly serial: string | null;
}
