import type { StreamEnd } from '../../ports/transport.ts';
import type { ServerState } from '../server-state.ts';
import { isForToken } from './known-token.ts';

/**
 * What whoever came with this refusal hears, and when: a wrong token is counted and costs whoever tries it time, and this
 * server next to nothing, since only so many are kept waiting. Any other refusal is heard at once.
 */
export async function refuseSlowly(state: ServerState, refused: StreamEnd): Promise<StreamEnd> {
  if (!isForToken(refused)) return refused;
  const { counts, limits, deps } = state;
  counts.wrongTokens += 1;
  if (state.kept >= limits.wrongTokensWaiting) {
    return { code: 'unavailable', reason: 'Busy', message: 'too many wrong tokens; come again later' };
  }
  state.kept += 1;
  await deps.clock.sleep(limits.wrongTokenMs);
  state.kept -= 1;
  return refused;
}
