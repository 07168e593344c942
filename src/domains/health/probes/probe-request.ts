import { GRPC_SERVICE_HEADER, HOST_HEADER, SCHEME_HEADER, TIMEOUT_HEADER } from './headers.ts';
import { type ProbeTarget, portOf } from './target.ts';

/** What a request to the Application Probe Proxy asks for. */
export interface ProbeRequest {
  /** By the path, also if the request names no valid port. */
  readonly type: ProbeTarget['type'];
  /** Undefined: the path has no valid port. */
  readonly target: ProbeTarget | undefined;
  readonly timeoutSeconds: number;
}

/** In seconds: a timer cannot wait for much longer. */
const MAX_TIMEOUT = 86_400;

/**
 * Reads a request. `requestTarget`: path and query as they were sent; `header` returns the first value of a header.
 */
export function readProbeRequest(requestTarget: string, header: (name: string) => string | undefined): ProbeRequest {
  const mark = requestTarget.indexOf('?');
  const path = mark < 0 ? requestTarget : requestTarget.slice(0, mark);
  const type = path.startsWith('/tcp/') ? 'tcp' : path.startsWith('/grpc/') ? 'grpc' : 'http';
  const timeoutSeconds = timeoutOf(header(TIMEOUT_HEADER));
  const [, digits, rest = ''] = (type === 'http' ? HTTP : OTHERS).exec(path) ?? [];
  const port = portOf(digits);
  if (port === undefined) return { type, target: undefined, timeoutSeconds };
  if (type === 'tcp') return { type, target: { type, port }, timeoutSeconds };
  if (type === 'grpc') {
    return { type, target: { type, port, service: header(GRPC_SERVICE_HEADER) ?? '' }, timeoutSeconds };
  }
  const query = mark < 0 ? '' : requestTarget.slice(mark);
  const host = header(HOST_HEADER) ?? '';
  const target: ProbeTarget = {
    type,
    port,
    path: `${rest === '' ? '/' : rest}${query}`,
    scheme: header(SCHEME_HEADER) === 'HTTPS' ? 'HTTPS' : 'HTTP',
    ...(host === '' ? {} : { host }),
  };
  return { type, target, timeoutSeconds };
}

const HTTP = /^\/(\d+)(\/.*)?$/;
const OTHERS = /^\/(?:tcp|grpc)\/(\d+)(\/.*)?$/;

function timeoutOf(written: string | undefined): number {
  const seconds = Number(written);
  return written !== undefined && /^\+?\d+$/.test(written) && seconds > 0 ? Math.min(seconds, MAX_TIMEOUT) : 1;
}
