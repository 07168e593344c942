import type { FieldPath } from '../../../model/text/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectsOf, textOf } from '../../../model/text/json.ts';
import { GRPC_SERVICE_HEADER, HOST_HEADER, SCHEME_HEADER, TIMEOUT_HEADER } from './headers.ts';
import type { ListedProbe } from './probe-list.ts';
import type { ProbeMode } from './settings.ts';
import { portOf } from './target.ts';

/** A problem of a Pod at a field of it. */
export interface PodProblem {
  readonly message: string;
  readonly path: FieldPath;
}

/** What becomes of one probe. Paths are relative to the probe. */
export type ProbeRewriting =
  | { readonly type: 'kept'; readonly warning?: PodProblem }
  | { readonly type: 'refused'; readonly problem: PodProblem }
  | {
      readonly type: 'rewritten';
      readonly probe: JsonObject;
      readonly listed: ListedProbe;
      readonly warning?: PodProblem;
    };

type Rewriting = Exclude<ProbeMode, { readonly type: 'none' }>;

const HANDLERS = ['httpGet', 'tcpSocket', 'grpc'] as const;

/** Rewrites one probe. `ports`: of the probe's container; a named port is looked up in them. */
export function rewriteProbe(probe: JsonObject, ports: JsonValue | undefined, mode: Rewriting): ProbeRewriting {
  const handler = HANDLERS.find((name) => isJsonObject(probe[name]));
  if (handler === undefined || (mode.type === 'virtual' && handler !== 'httpGet')) return { type: 'kept' };
  const action = probe[handler] as JsonObject;
  const path = [handler, 'port'];
  const port = numberedPort(action.port, handler === 'grpc' ? undefined : ports);
  if (port === undefined) return { type: 'kept', warning: { message: unknownPort(action.port), path } };
  if (port === mode.port) {
    const message = `cannot override Pod's probes. Port for probe cannot be set to ${port}. It is reserved for the dataplane that will serve pods without mTLS.`;
    return { type: 'refused', problem: { message, path } };
  }
  const timeoutSeconds = timeoutOf(probe);
  if (handler === 'httpGet') {
    return mode.type === 'virtual'
      ? virtualProbe(probe, action, port, mode.port)
      : proxiedHttp(probe, action, port, mode.port);
  }
  const listed: ListedProbe =
    handler === 'tcpSocket'
      ? { type: 'tcp', port, timeoutSeconds }
      : { type: 'grpc', port, service: textOf(action.service).trim(), timeoutSeconds };
  const service = listed.type === 'grpc' && listed.service !== '' ? [header(GRPC_SERVICE_HEADER, listed.service)] : [];
  const httpGet = {
    path: `/${listed.type}/${port}`,
    port: mode.port,
    ...withHeaders([...timeoutHeader(timeoutSeconds), ...service]),
  };
  return { type: 'rewritten', probe: withHandler(probe, handler, httpGet), listed };
}

function proxiedHttp(probe: JsonObject, action: JsonObject, port: number, proxyPort: number): ProbeRewriting {
  const path = absolutePath(action);
  const timeoutSeconds = timeoutOf(probe);
  const written = objectsOf(action.httpHeaders);
  const hostAt = hostIndex(written);
  const host = textOf(written[hostAt]?.value).trim();
  const scheme = textOf(action.scheme);
  const isHttps = scheme !== '' && scheme !== 'HTTP';
  const headers = [
    ...written.map((each, index) => (index === hostAt ? { ...each, name: HOST_HEADER } : each)),
    ...(isHttps ? [header(SCHEME_HEADER, scheme)] : []),
    ...timeoutHeader(timeoutSeconds),
  ];
  // Kubernetes sends the request to the Pod's address by HTTP.
  const { host: _host, scheme: _scheme, httpHeaders: _headers, ...rest } = action;
  const httpGet = { ...rest, path: `/${port}${path}`, port: proxyPort, ...withHeaders(headers) };
  const listed: ListedProbe = {
    type: 'http',
    port,
    path,
    scheme: scheme === 'HTTPS' ? 'HTTPS' : 'HTTP',
    ...(host === '' ? {} : { host }),
    timeoutSeconds,
  };
  return { type: 'rewritten', probe: withHandler(probe, 'httpGet', httpGet), listed };
}

/** Headers, scheme and host stay. */
function virtualProbe(probe: JsonObject, action: JsonObject, port: number, virtualPort: number): ProbeRewriting {
  const path = absolutePath(action);
  const written = objectsOf(action.httpHeaders);
  const host = textOf(written[hostIndex(written)]?.value).trim();
  const httpGet = { ...action, path: `/${port}${path}`, port: virtualPort };
  const listed: ListedProbe = {
    type: 'virtual',
    port,
    path,
    ...(host === '' ? {} : { host }),
    timeoutSeconds: timeoutOf(probe),
  };
  const message = 'Virtual Probes are served by HTTP, and this one is sent by HTTPS: it will fail';
  const warning = action.scheme === 'HTTPS' ? { warning: { message, path: ['httpGet', 'scheme'] } } : {};
  return { type: 'rewritten', probe: { ...probe, httpGet }, listed, ...warning };
}

/** The first counts, as for the kubelet. */
function hostIndex(headers: readonly JsonObject[]): number {
  return headers.findIndex(({ name }) => textOf(name).toLowerCase() === 'host');
}

/** The probe with `httpGet` in the place of its handler, and no other handler. */
function withHandler(probe: JsonObject, handler: string, httpGet: JsonObject): JsonObject {
  const members = Object.entries(probe).flatMap(([key, value]): readonly [string, JsonValue | undefined][] => {
    if (key === handler) return [['httpGet', httpGet]];
    return HANDLERS.some((name) => name === key) ? [] : [[key, value]];
  });
  return Object.fromEntries(members);
}

function absolutePath({ path }: JsonObject): string {
  const written = textOf(path);
  return written.startsWith('/') ? written : `/${written}`;
}

/** In seconds; Kubernetes takes 1 if the probe says none. */
function timeoutOf({ timeoutSeconds }: JsonObject): number {
  return typeof timeoutSeconds === 'number' && Number.isInteger(timeoutSeconds) && timeoutSeconds > 1
    ? timeoutSeconds
    : 1;
}

/** The proxy takes 1 second by itself. */
function timeoutHeader(seconds: number): readonly JsonObject[] {
  return seconds > 1 ? [header(TIMEOUT_HEADER, String(seconds))] : [];
}

function header(name: string, value: string): JsonObject {
  return { name, value };
}

function withHeaders(httpHeaders: readonly JsonObject[]): JsonObject {
  return httpHeaders.length === 0 ? {} : { httpHeaders };
}

/** The number of a port that is a number, digits, or the name of one of the container's ports. Undefined: it has none. */
function numberedPort(written: JsonValue | undefined, ports: JsonValue | undefined): number | undefined {
  const port = portOf(written);
  if (port !== undefined && port > 0) return port;
  const declared = objectsOf(ports).find(({ name }) => typeof name === 'string' && name !== '' && name === written);
  const found = portOf(declared?.containerPort);
  return found === 0 ? undefined : found;
}

function unknownPort(port: JsonValue | undefined): string {
  return typeof port === 'string' && !/^\d+$/.test(port)
    ? `the container declares no port ${JSON.stringify(port)}; the probe stays as it is`
    : 'the probe has no port from 1 to 65535; it stays as it is';
}
