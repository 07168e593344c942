import { quote } from '../../model/ids.ts';
import { errorText } from '../../model/messages.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { TokenGenerations } from '../../relay/trust/tokens.ts';
import type { PeopleApi, ServerApi } from '../../server/api.ts';
import { withEndingCertificates } from './ending-certificates.ts';
import type { OpenedRelay } from './relay.ts';

/** The API of a server, with what its relay knows. */
export function apiOfRelay(
  api: ServerApi,
  { relay, generations }: Pick<OpenedRelay, 'relay' | 'generations'>,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): PeopleApi {
  const warning = withEndingCertificates(api, clock, () => relay.stats().certificates);
  return withTokens(warning, { log, generations });
}

/** The API of a server, which also renews tokens of clusters; any replica may. */
export function withTokens(
  api: ServerApi,
  { log, generations }: { readonly log: Log; readonly generations: TokenGenerations },
): PeopleApi {
  return {
    ...api,
    clusters: () =>
      api.clusters().map((cluster) => {
        const tokenGeneration = generations.current(cluster.name);
        return tokenGeneration === 0 ? cluster : { ...cluster, tokenGeneration };
      }),
    async renewToken(cluster, by) {
      if (!api.clusters().some(({ name }) => name === cluster)) {
        return { ok: false, kind: 'notFound', message: `there is no cluster ${quote(cluster)}` };
      }
      try {
        const generation = await generations.renew(cluster);
        log.info('the token of a cluster is renewed: earlier ones are worth nothing', { cluster, generation, by });
        return { ok: true, value: { cluster, generation } };
      } catch (error) {
        const message = `the token of ${cluster} cannot be renewed now, and nothing has changed: ${errorText(error)}`;
        return { ok: false, kind: 'conflict', message };
      }
    },
  };
}
