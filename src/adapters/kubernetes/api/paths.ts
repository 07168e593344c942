import type { ResourcePath } from './types.ts';

/** The path of a collection or of one object on an API server; each segment is encoded. */
export function resourcePath({ resource, namespace, name, subresource }: ResourcePath): string {
  const { group, version, resource: plural } = resource;
  const segments = group === '' ? ['api', version] : ['apis', group, version];
  if (namespace !== undefined) segments.push('namespaces', namespace);
  segments.push(plural);
  if (name !== undefined) segments.push(name);
  if (subresource !== undefined) segments.push(subresource);
  return `/${segments.map(encodeSegment).join('/')}`;
}

/** A URL parser would resolve the segments `.` and `..`. */
function encodeSegment(segment: string): string {
  return /^\.+$/.test(segment) ? segment.replaceAll('.', '%2E') : encodeURIComponent(segment);
}
