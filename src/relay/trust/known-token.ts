import type { ClusterName } from '../../model/ids.ts';
import type { StreamEnd } from '../../ports/transport.ts';
import type { Link } from '../link.ts';
import type { ServerState } from '../server-state.ts';
import { tokenGeneration } from './token.ts';

/** The same words for every name, known or not. */
export const WRONG_TOKEN: StreamEnd = {
  code: 'unauthenticated',
  reason: 'WrongToken',
  message: 'the token is not that of the cluster name it was sent with',
};

/** Of a token that was right once. */
const RENEWED_REASON = 'TokenRenewed';

/** What prints the token of a cluster. */
export function tokenCommand(cluster: string): string {
  return `fleetrelay cluster token ${cluster} --data-dir DIR (or --relay-secret-file FILE)`;
}

/** What prints the token of that generation, where no data directory knows of renewals. */
function renewedTokenCommand(cluster: string, generation: number): string {
  return `fleetrelay cluster token ${cluster} --data-dir DIR (or --relay-secret-file FILE --generation ${generation})`;
}

/** Is somebody refused for the token that it has shown? */
export function isForToken({ reason }: StreamEnd): boolean {
  return reason === WRONG_TOKEN.reason || reason === RENEWED_REASON;
}

/** The generation of the cluster's own token, if this is the one that counts. */
export function judgeToken(
  { deps, options }: Pick<ServerState, 'deps' | 'options'>,
  cluster: string,
  token: string,
): { readonly generation: number } | { readonly refused: StreamEnd } {
  const generation = tokenGeneration(options.tokens, cluster, token);
  if (generation === undefined) return { refused: WRONG_TOKEN };
  const { generations } = deps;
  if (generation < (generations?.current(cluster) ?? 0)) return { refused: renewed(deps, cluster) };
  generations?.shown(cluster, generation);
  return { generation };
}

/** Ends the stream when the token that opened it counts no more. */
export function endWithToken(
  { deps }: Pick<ServerState, 'deps'>,
  cluster: ClusterName,
  link: Link,
  generation: number,
): void {
  const unwatch = deps.generations?.watch((changed) => {
    if (changed === cluster && generation < (deps.generations?.current(cluster) ?? 0)) link.end(renewed(deps, cluster));
  });
  if (unwatch !== undefined) void link.over.then(unwatch);
}

/** Only said to who has shown a token that was right once: a stranger learns nothing of renewals. */
function renewed({ generations }: Pick<ServerState['deps'], 'generations'>, cluster: string): StreamEnd {
  const generation = generations?.current(cluster) ?? 0;
  const message = `the token of cluster ${cluster} was renewed, and this is an earlier one; print the one that counts where the secret of the server is: ${renewedTokenCommand(cluster, generation)}`;
  return { code: 'unauthenticated', reason: RENEWED_REASON, message };
}
