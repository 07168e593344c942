import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  textOf,
} from '../../../model/text/json.ts';
import { ok, problem, type Result } from '../../../model/values/result.ts';
import { type GrpcTarget, type HttpTarget, type ProbeTarget, portOf, type TcpTarget } from './target.ts';

/** A probe that was rewritten, and so may pass the proxy. */
export type ListedProbe = (HttpTarget | TcpTarget | GrpcTarget | VirtualTarget) & {
  /** As in the probe; at least 1. */
  readonly timeoutSeconds: number;
};

/** A Virtual Probe: GET by HTTP. */
export interface VirtualTarget {
  readonly type: 'virtual';
  readonly port: number;
  /** Path and query, as in the probe. */
  readonly path: string;
  /** The `Host` that the probe names. */
  readonly host?: string;
}

/** Which probes may pass the proxy. */
export interface ProbeList {
  /** The time limit of a listed probe in seconds; undefined: it is not listed. */
  timeoutOf(target: ProbeTarget): number | undefined;
  /** The Virtual Probe with this request target (path and query); undefined: none is listed. */
  virtual(requestTarget: string): ListedVirtualProbe | undefined;
}

export type ListedVirtualProbe = Extract<ListedProbe, { readonly type: 'virtual' }>;

/** The text of a list, one probe a line, each once. */
export function printProbeList(probes: readonly ListedProbe[]): string {
  const lines = new Set(probes.map((probe) => JSON.stringify(probe)));
  return `[${[...lines].join(',\n')}]`;
}

/** Reads a list as {@link printProbeList} writes it. */
export function parseProbeList(text: string): Result<readonly ListedProbe[]> {
  const list = parseJson(text);
  if (!Array.isArray(list)) return problem('it is no JSON list of probes');
  const probes = list.map(listedProbeOf);
  const wrong = probes.indexOf(undefined);
  return wrong < 0 ? ok(probes.filter((probe) => probe !== undefined)) : problem(`item ${wrong} is no probe`);
}

function listedProbeOf(value: JsonValue): ListedProbe | undefined {
  if (!isJsonObject(value)) return undefined;
  const { type, path, scheme, host, service, timeoutSeconds } = value;
  const port = portOf(value.port);
  if (port === undefined || typeof timeoutSeconds !== 'number' || timeoutSeconds < 1) return undefined;
  const named = typeof host === 'string' ? { host } : {};
  if (type === 'tcp') return { type, port, timeoutSeconds };
  if (type === 'grpc') return { type, port, service: textOf(service), timeoutSeconds };
  if (typeof path !== 'string' || !path.startsWith('/')) return undefined;
  if (type === 'virtual') return { type, port, path, ...named, timeoutSeconds };
  return type === 'http' && (scheme === 'HTTP' || scheme === 'HTTPS')
    ? { type, port, path, scheme, ...named, timeoutSeconds }
    : undefined;
}

/** An index of a list, by what the kubelet sends for each probe. */
export function createProbeList(probes: readonly ListedProbe[]): ProbeList {
  const timeouts = new Map<string, number>();
  const virtual = new Map<string, ListedVirtualProbe>();
  for (const { timeoutSeconds, ...target } of probes) {
    if (target.type === 'virtual') {
      virtual.set(kubeletTarget(`/${target.port}${target.path}`), { ...target, timeoutSeconds });
      continue;
    }
    const key = keyOf(target.type === 'http' ? { ...target, path: kubeletTarget(target.path) } : target);
    timeouts.set(key, Math.max(timeoutSeconds, timeouts.get(key) ?? 0));
  }
  return {
    timeoutOf: (target) => timeouts.get(keyOf(target)),
    virtual: (requestTarget) => virtual.get(requestTarget),
  };
}

function keyOf(target: ProbeTarget): string {
  return canonicalJson(target as unknown as JsonObject);
}

const UTF_8 = new TextEncoder();

/**
 * The request target that the kubelet sends for the path of a probe, as Go's `net/url` makes it: the fragment is left out, and
 * a path that is not escaped correctly is escaped anew. `path` begins with a slash.
 */
export function kubeletTarget(path: string): string {
  const hash = path.indexOf('#');
  const whole = hash < 0 ? path : path.slice(0, hash);
  const mark = whole.indexOf('?');
  const plain = mark < 0 ? whole : whole.slice(0, mark);
  const query = mark < 0 ? '' : whole.slice(mark);
  const fragment = hash < 0 ? '' : path.slice(hash);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Go refuses URLs with control characters.
  const isUrl = !/%(?![0-9A-Fa-f]{2})/.test(`${plain} ${fragment}`) && !/[\u0000-\u001f\u007f]/.test(whole);
  // The kubelet takes all of what is no URL as the path.
  if (!isUrl) return escapePath(UTF_8.encode(path));
  const isEscaped = /^(?:[-\w.~!$&'()*+,;=:@[\]/]|%[0-9A-Fa-f]{2})*$/.test(plain);
  return `${isEscaped ? plain : escapePath(unescapePath(plain))}${query}`;
}

function unescapePath(path: string): Uint8Array {
  const bytes: number[] = [];
  for (const part of path.split(/(%[0-9A-Fa-f]{2})/)) {
    if (/^%[0-9A-Fa-f]{2}$/.test(part)) bytes.push(Number.parseInt(part.slice(1), 16));
    else bytes.push(...UTF_8.encode(part));
  }
  return Uint8Array.from(bytes);
}

function escapePath(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte);
    return /[-\w.~$&+,/:;=@]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');
}
