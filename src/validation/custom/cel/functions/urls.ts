import { type CelFunc, type CelList, CelScalar, celFunc, celList, listType, mapType } from '@bufbuild/cel';
import type { Meter } from '../../../values/meter.ts';
import { costing, type MeteredFunction, method, parsing } from './costs.ts';
import { createMembers } from './members.ts';
import type { OpaqueType } from './opaque.ts';

/** The parts of a URL, unescaped where CEL asks for that. */
interface Parts {
  readonly scheme: string;
  /** With the port. */
  readonly host: string;
  readonly hostname: string;
  readonly port: string;
  /** Escaped. */
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
}

const FORM = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(\/\/([^/?]*))?([^?]*)(?:\?(.*))?$/s;
// biome-ignore lint/suspicious/noControlCharactersInRegex: URLs must not hold them
const CONTROL = /[\u0000-\u001f\u007f]/;
const HOST = /^(?:\[[0-9A-Fa-f:.]+(?:%25[^\]]*)?\]|[^\s[\]:<>"\\^`{|}]*)(?::(\d*))?$/;

/** Parses an absolute URL or an absolute path, as Go's `url.ParseRequestURI`; undefined if the text is none. */
export function parseUrl(text: string): Parts | undefined {
  if (text === '' || CONTROL.test(text)) return undefined;
  const [withoutFragment = ''] = text.split('#', 1);
  const [all, scheme = '', authority, userAndHost = '', path = '', query = ''] = FORM.exec(withoutFragment) ?? [];
  if (all === undefined || !hasEscapes(path)) return undefined;
  const isOpaque = scheme !== '' && authority === undefined && !path.startsWith('/');
  if (isOpaque && path === '') return undefined;
  if (scheme === '' && (authority === undefined ? !path.startsWith('/') : false)) return undefined;
  const host = userAndHost.slice(userAndHost.lastIndexOf('@') + 1);
  const found = HOST.exec(host);
  if (found === null || !hasEscapes(host)) return undefined;
  const port = found[1] ?? '';
  const hostname = (found[1] === undefined ? host : host.slice(0, -port.length - 1)).replace(/^\[(.*)\]$/, '$1');
  return { scheme: scheme.toLowerCase(), host, hostname, port, path: isOpaque ? '' : path, query };
}

/** Whether each percent sign begins an escape. */
function hasEscapes(text: string): boolean {
  return !/%(?![0-9A-Fa-f]{2})/.test(text);
}

/** To read a URL, which is read again in each call; one character of its query may be a parameter of its own. */
const STEPS_OF_URL = 20;

/** The functions of URLs. */
export function urlFunctions({ type, make, textOf }: OpaqueType, meter: Meter): readonly MeteredFunction[] {
  const { BOOL, STRING } = CelScalar;
  const part = (name: string, get: (parts: Parts) => string): CelFunc =>
    method(name, type, [], STRING, (self) => {
      const parts = parseUrl(textOf(self));
      return parts === undefined ? '' : get(parts);
    });
  return costing(
    parsing(STEPS_OF_URL),
    celFunc('url', [STRING], type, (text) => {
      if (parseUrl(text) === undefined) throw new Error(`${JSON.stringify(text)} is no URL`);
      return make(text);
    }),
    celFunc('isURL', [STRING], BOOL, (text) => parseUrl(text) !== undefined),
    part('getScheme', ({ scheme }) => scheme),
    part('getHost', ({ host }) => host),
    part('getHostname', ({ hostname }) => hostname),
    part('getPort', ({ port }) => port),
    part('getEscapedPath', ({ path }) => path.replaceAll(' ', '%20')),
    method('getQuery', type, [], mapType(STRING, listType(STRING)), (self) =>
      createMembers(meter, queryOf(parseUrl(textOf(self))?.query ?? '')),
    ),
  );
}

function queryOf(query: string): ReadonlyMap<string, CelList> {
  const values = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(query)) {
    const list = values.get(name);
    if (list === undefined) values.set(name, [value]);
    else list.push(value);
  }
  return new Map(values.entries().map(([name, list]) => [name, celList(list)]));
}
