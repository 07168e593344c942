import { isLoopback } from '../server/listen-address.ts';

const DEFAULT = 'http://127.0.0.1:9981';

/** Where the health and metrics of a server can be asked from here. */
export type MetricsPlace =
  | { readonly type: 'url'; readonly url: string }
  | { readonly type: 'outOfReach'; readonly why: string };

/**
 * `bound`: URL of the listener, as the server says; undefined: it is not open yet. `api`: address at which the server was
 * asked. A listener on all addresses is asked where the API is; one on the loopback of another machine
 * cannot be asked: the same port here would be somebody else's.
 */
export function placeOfMetrics(bound: string | undefined, api: string): MetricsPlace {
  if (bound === undefined) return { type: 'url', url: DEFAULT };
  const url = new URL(bound);
  const host = bare(url.hostname);
  const asked = new URL(api).hostname;
  if (isLoopback(host) && !isLoopback(bare(asked))) {
    const why = `the server has them on its own loopback (${bound}): run this there, or name with --metrics where they can be had`;
    return { type: 'outOfReach', why };
  }
  if (host === '0.0.0.0' || host === '::') url.hostname = asked;
  return { type: 'url', url: url.origin };
}

function bare(hostname: string): string {
  return hostname.replaceAll(/[[\]]/g, '');
}
