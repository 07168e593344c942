import type { FieldProblem } from '../../../manifest/problem.ts';
import type { FieldPath } from '../../../model/text/field-path.ts';
import { isJsonObject, type JsonValue, textOf } from '../../../model/text/json.ts';
import { itemsOf } from './inbounds.ts';
import { checkPort, violation } from './violations.ts';

/** Virtual Probes, if there are any. */
export function checkProbes(probes: JsonValue | undefined, at: FieldPath, problems: FieldProblem[]): void {
  if (!isJsonObject(probes)) return;
  checkPort(probes.port, [...at, 'port'], problems);
  for (const [index, endpoint] of itemsOf(probes.endpoints)) {
    const here = [...at, 'endpoints', index];
    checkPort(endpoint.inboundPort, [...here, 'inboundPort'], problems);
    for (const field of ['inboundPath', 'path']) {
      if (isRequestUri(textOf(endpoint[field]))) continue;
      problems.push(violation('BadPath', [...here, field], 'should be a valid URL Path'));
    }
  }
}

/** As `url.ParseRequestURI` of Go: an absolute path, or an absolute URL. */
function isRequestUri(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
  if (/[\u0000-\u001f\u007f]/.test(text)) return false;
  if (text === '*') return true;
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:/.exec(text)?.[0] ?? '';
  const rest = text.slice(scheme.length);
  if (!rest.startsWith('/')) return scheme !== '';
  const [path = ''] = rest.split('?');
  return !/%(?![0-9A-Fa-f]{2})/.test(path);
}
