import { parseIp } from '../../../model/text/ip-address.ts';
import {
  eitherOf,
  type Field,
  filledIfSet,
  forbidden,
  get,
  getIn,
  hasForm,
  inRange,
  integer,
  invalid,
  isEmpty,
  isSet,
  items,
  nameOf,
  needed,
  notEmpty,
  notSupported,
  report,
  required,
  text,
  textItems,
  word,
} from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsLabelRule, dnsSubdomainRule, pathSegmentRule, portNameRule, wildcardDomainRule } from '../shared/names.ts';
import { checkServiceName } from './services.ts';

const CLASS_ANNOTATION = 'kubernetes.io/ingress.class';
const PATH_TYPES = ['Exact', 'Prefix', 'ImplementationSpecific'];
const FORBIDDEN_PARTS = ['//', '/./', '/../', '%2f', '%2F'];
const FORBIDDEN_ENDS = ['/..', '/.'];

/** What an API server checks of an Ingress. */
export const ingressRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = get(root, 'spec');
  const backend = get(spec, 'defaultBackend');
  const rules = get(spec, 'rules');
  if (isEmpty(rules) && !isSet(backend)) {
    report(spec, 'WrongChoice', `${nameOf(spec)} needs rules, defaultBackend or both`);
  }
  if (isSet(backend)) checkBackend(backend);
  for (const each of items(rules)) checkRule(each);
  for (const tls of items(get(spec, 'tls'))) {
    filledIfSet(...textItems(get(tls, 'hosts')));
    for (const host of items(get(tls, 'hosts'))) checkHost(host);
    hasForm(get(tls, 'secretName'), dnsSubdomainRule);
  }
  const ingressClass = get(spec, 'ingressClassName');
  filledIfSet(ingressClass);
  hasForm(ingressClass, dnsSubdomainRule);
  const annotation = getIn(root, 'metadata', 'annotations', CLASS_ANNOTATION);
  if (isSet(annotation) && isSet(ingressClass) && annotation.value !== ingressClass.value) {
    invalid(annotation, 'must be the same as spec.ingressClassName', { hint: 'remove the annotation' });
  }
});

function checkRule(each: Field): void {
  const host = get(each, 'host');
  if (parseIp(text(host) ?? '') === undefined) checkHost(host);
  else invalid(host, 'must be a DNS name, not an IP address', { reason: 'BadAddress' });
  const http = get(each, 'http');
  notEmpty(get(http, 'paths'));
  for (const path of items(get(http, 'paths'))) {
    checkPath(path);
    const backend = get(path, 'backend');
    if (isSet(backend)) checkBackend(backend);
  }
}

function checkHost(host: Field): void {
  hasForm(host, (name) => (name.includes('*') ? wildcardDomainRule(name) : dnsSubdomainRule(name)), 'BadAddress');
}

function checkPath(each: Field): void {
  const type = get(each, 'pathType');
  const path = get(each, 'path');
  const found = text(path) ?? '';
  const isOpaque = type.value === 'ImplementationSpecific';
  if (!PATH_TYPES.includes(text(type) ?? '') || (isSet(path) && text(path) === undefined)) return;
  if (isOpaque && found === '') return;
  if (!found.startsWith('/')) {
    if (found === '') required(path, 'a path of type Exact or Prefix begins with "/"');
    else invalid(path, 'must begin with "/"', { reason: 'BadPath' });
  } else if (!isOpaque) {
    const part = FORBIDDEN_PARTS.find((bad) => found.includes(bad));
    const end = FORBIDDEN_ENDS.find((bad) => found.endsWith(bad));
    if (part !== undefined) invalid(path, `must not contain "${part}"`, { reason: 'BadPath' });
    else if (end !== undefined) invalid(path, `must not end with "${end}"`, { reason: 'BadPath' });
  }
}

function checkBackend(backend: Field): void {
  const service = get(backend, 'service');
  const resource = get(backend, 'resource');
  if (!eitherOf(backend, service, resource)) return;
  if (isSet(resource)) checkReference(resource);
  else {
    const name = get(service, 'name');
    hasForm(name, dnsLabelRule);
    checkServiceName(name);
    checkBackendPort(get(service, 'port'));
  }
}

function checkBackendPort(port: Field): void {
  const name = get(port, 'name');
  const number = get(port, 'number');
  const hasNumber = (integer(number) ?? 0) !== 0;
  if (word(name) !== undefined && hasNumber) {
    report(port, 'WrongChoice', `${nameOf(port)} has a name and a number; exactly one is allowed`);
  } else if (word(name) !== undefined) hasForm(name, portNameRule);
  else if (hasNumber) inRange(number, 1, 65_535);
  else if (!isSet(number) || number.value === 0) {
    report(port, 'WrongChoice', `${nameOf(port)} needs exactly one of name, number`);
  }
}

/** Checks a reference to an object by `apiGroup`, `kind` and `name`. */
function checkReference(ref: Field): void {
  filledIfSet(get(ref, 'apiGroup'));
  hasForm(get(ref, 'apiGroup'), dnsSubdomainRule);
  for (const name of ['kind', 'name']) {
    hasForm(get(ref, name), pathSegmentRule);
  }
}

const DOMAIN_PREFIXED = /^([^/]+)\/([A-Za-z0-9/\-._~%!$&'()*+,;=:]+)$/;

/** What an API server checks of an IngressClass. */
export const ingressClassRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = get(root, 'spec');
  const controller = get(spec, 'controller');
  needed(controller, 'the name of the controller, like example.com/ingress-controller');
  hasForm(controller, (name) => {
    const domain = DOMAIN_PREFIXED.exec(name)?.[1];
    if (domain === undefined || dnsSubdomainRule(domain) !== undefined) {
      return 'must be a DNS name, "/" and a path, like example.com/ingress-controller';
    }
    return name.length > 250 ? 'must have at most 250 characters' : undefined;
  });
  const parameters = get(spec, 'parameters');
  if (!isSet(parameters)) return;
  checkReference(parameters);
  const scope = get(parameters, 'scope');
  const namespace = get(parameters, 'namespace');
  if (text(scope) !== undefined && scope.value !== 'Cluster' && scope.value !== 'Namespace') {
    notSupported(scope, ['Cluster', 'Namespace']);
  } else if (scope.value === 'Namespace') {
    needed(namespace);
    hasForm(namespace, dnsLabelRule);
  } else if (isSet(namespace)) forbidden(namespace, 'with the scope Cluster', 'scope: Namespace');
});
