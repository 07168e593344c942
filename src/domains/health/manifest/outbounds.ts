import type { FieldProblem } from '../../../manifest/problem.ts';
import type { FieldPath } from '../../../model/text/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, textOf } from '../../../model/text/json.ts';
import { itemsOf } from './inbounds.ts';
import { checkNameForm } from './names.ts';
import { checkOutboundTags } from './tags.ts';
import { checkIp, checkPort, violation } from './violations.ts';

const KINDS = ['MeshExternalService', 'MeshMultiZoneService', 'MeshService'];

/** The outbounds of a data plane. */
export function checkOutbounds(outbounds: JsonValue | undefined, at: FieldPath, problems: FieldProblem[]): void {
  for (const [index, outbound] of itemsOf(outbounds)) {
    const here = [...at, index];
    const { port, address, tags, backendRef } = outbound;
    checkPort(port, [...here, 'port'], problems);
    checkIp(address, [...here, 'address'], problems);
    if (!isJsonObject(backendRef)) {
      checkOutboundTags(tags, [...here, 'tags'], problems);
      continue;
    }
    checkBackendRef(backendRef, [...here, 'backendRef'], problems);
    if (Object.keys(objectOf(tags)).length > 0) {
      const rule = 'both backendRef and tags/service cannot be defined';
      problems.push(violation('WrongChoice', [...here, 'backendRef'], rule));
    }
  }
}

function checkBackendRef(ref: JsonObject, at: FieldPath, problems: FieldProblem[]): void {
  const { name, labels, port, kind } = ref;
  checkKind(kind, [...at, 'kind'], problems);
  if (textOf(name) === '' && isEmpty(labels)) {
    problems.push(violation('MissingField', at, "either 'name' or 'labels' should be specified"));
  }
  // An external service has the port of its endpoints.
  if (kind !== 'MeshExternalService') checkPort(port, [...at, 'port'], problems);
}

function checkKind(kind: JsonValue | undefined, at: FieldPath, problems: FieldProblem[]): void {
  if (KINDS.includes(textOf(kind))) return;
  problems.push(violation('WrongValue', at, `invalid value. Available values are: ${KINDS.join(',')}`));
}

/** What the transparent proxy reaches. */
export function checkReachableBackends(
  transparentProxying: JsonValue | undefined,
  at: FieldPath,
  problems: FieldProblem[],
): void {
  const { refs } = objectOf(objectOf(transparentProxying).reachableBackends);
  for (const [index, ref] of itemsOf(refs)) {
    const here = [...at, 'reachableBackends', 'refs', index];
    const name = textOf(ref.name);
    const namespace = textOf(ref.namespace);
    const add = (reason: 'MissingField' | 'WrongChoice', field: string, rule: string): void => {
      problems.push(violation(reason, [...here, field], rule));
    };
    checkKind(ref.kind, [...here, 'kind'], problems);
    if (name !== '') checkNameForm(name, [...here, 'name'], problems);
    if (name === '' && namespace === '' && isEmpty(ref.labels))
      add('MissingField', 'name', 'name or labels are required');
    if (name === '' && namespace !== '') add('MissingField', 'name', 'name is required, when namespace is defined');
    if ((name !== '' || namespace !== '') && !isEmpty(ref.labels)) {
      add('WrongChoice', 'labels', 'labels cannot be defined when name is specified');
    }
  }
}

function isEmpty(map: JsonValue | undefined): boolean {
  return Object.keys(objectOf(map)).length === 0;
}
