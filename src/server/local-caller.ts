import { isLoopback } from './listen-address.ts';

/** The headers of a request that tell whether a browser was led to send it. */
export interface CallerHeaders {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly fetchSite: string | undefined;
  /** A proxy stands in between, so that the connection's address says nothing about the caller. */
  readonly forwarded: boolean;
}

/**
 * Why a request on a loopback listener must not be trusted merely for where it arrived, or undefined. A web page can
 * make a browser on this machine send requests here: under a foreign name that resolves to 127.0.0.1 (seen in `Host`),
 * or from a foreign page (seen in `Origin` and `Sec-Fetch-Site`).
 */
export function localCallerProblem(headers: CallerHeaders): string | undefined {
  if (headers.forwarded) return 'the request came through a proxy; configure a token or secret for that';
  const host = hostnameOf(headers.host);
  if (host === undefined || !isLoopback(host)) return 'the Host header must be localhost or a loopback address';
  if (headers.origin !== undefined && !isOwnPage(headers.origin, headers.host)) {
    return 'the request comes from another web page (Origin)';
  }
  const site = headers.fetchSite;
  return site === undefined || site === 'same-origin' || site === 'none'
    ? undefined
    : 'the request comes from another web page (Sec-Fetch-Site)';
}

function isOwnPage(origin: string, host: string | undefined): boolean {
  return origin === `http://${host}` || origin === `https://${host}`;
}

function hostnameOf(host: string | undefined): string | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]+))(?::\d{1,5})?$/.exec(host ?? '');
  return (match?.[1] ?? match?.[2])?.toLowerCase();
}
