import { parseIp } from '../../../model/text/ip-address.ts';
import { type Field, filledIfSet } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsLabelRule, dnsSubdomainRule, pathSegmentRule, portNameRule, wildcardDomainRule } from '../shared/names.ts';
import { checkServiceName } from './services.ts';

const CLASS_ANNOTATION = 'kubernetes.io/ingress.class';
const PATH_TYPES = ['Exact', 'Prefix', 'ImplementationSpecific'];
const FORBIDDEN_PARTS = ['//', '/./', '/../', '%2f', '%2F'];
const FORBIDDEN_ENDS = ['/..', '/.'];

/** What an API server checks of an Ingress. */
export const ingressRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = root.get('spec');
  const backend = spec.get('defaultBackend');
  const rules = spec.get('rules');
  if (rules.isEmpty && !backend.isSet) {
    spec.report('WrongChoice', `${spec.name} needs rules, defaultBackend or both`);
  }
  if (backend.isSet) checkBackend(backend);
  for (const each of rules.items()) checkRule(each);
  for (const tls of spec.get('tls').items()) {
    filledIfSet(...tls.get('hosts').textItems());
    for (const host of tls.get('hosts').items()) checkHost(host);
    tls.get('secretName').hasForm(dnsSubdomainRule);
  }
  const ingressClass = spec.get('ingressClassName');
  filledIfSet(ingressClass);
  ingressClass.hasForm(dnsSubdomainRule);
  const annotation = root.getIn('metadata', 'annotations', CLASS_ANNOTATION);
  if (annotation.isSet && ingressClass.isSet && annotation.value !== ingressClass.value) {
    annotation.invalid('must be the same as spec.ingressClassName', { hint: 'remove the annotation' });
  }
});

function checkRule(each: Field): void {
  const host = each.get('host');
  if (parseIp(host.text ?? '') === undefined) checkHost(host);
  else host.invalid('must be a DNS name, not an IP address', { reason: 'BadAddress' });
  const http = each.get('http');
  http.get('paths').notEmpty();
  for (const path of http.get('paths').items()) {
    checkPath(path);
    const backend = path.get('backend');
    if (backend.isSet) checkBackend(backend);
  }
}

function checkHost(host: Field): void {
  host.hasForm((name) => (name.includes('*') ? wildcardDomainRule(name) : dnsSubdomainRule(name)), 'BadAddress');
}

function checkPath(each: Field): void {
  const type = each.get('pathType');
  const path = each.get('path');
  const found = path.text ?? '';
  const isOpaque = type.value === 'ImplementationSpecific';
  if (!PATH_TYPES.includes(type.text ?? '') || (path.isSet && path.text === undefined)) return;
  if (isOpaque && found === '') return;
  if (!found.startsWith('/')) {
    if (found === '') path.required('a path of type Exact or Prefix begins with "/"');
    else path.invalid('must begin with "/"', { reason: 'BadPath' });
  } else if (!isOpaque) {
    const part = FORBIDDEN_PARTS.find((bad) => found.includes(bad));
    const end = FORBIDDEN_ENDS.find((bad) => found.endsWith(bad));
    if (part !== undefined) path.invalid(`must not contain "${part}"`, { reason: 'BadPath' });
    else if (end !== undefined) path.invalid(`must not end with "${end}"`, { reason: 'BadPath' });
  }
}

function checkBackend(backend: Field): void {
  const service = backend.get('service');
  const resource = backend.get('resource');
  if (!backend.eitherOf(service, resource)) return;
  if (resource.isSet) checkReference(resource);
  else {
    const name = service.get('name');
    name.hasForm(dnsLabelRule);
    checkServiceName(name);
    checkBackendPort(service.get('port'));
  }
}

function checkBackendPort(port: Field): void {
  const name = port.get('name');
  const number = port.get('number');
  const hasNumber = (number.integer ?? 0) !== 0;
  if (name.word !== undefined && hasNumber) {
    port.report('WrongChoice', `${port.name} has a name and a number; exactly one is allowed`);
  } else if (name.word !== undefined) name.hasForm(portNameRule);
  else if (hasNumber) number.inRange(1, 65_535);
  else if (!number.isSet || number.value === 0) {
    port.report('WrongChoice', `${port.name} needs exactly one of name, number`);
  }
}

/** Checks a reference to an object by `apiGroup`, `kind` and `name`. */
function checkReference(ref: Field): void {
  filledIfSet(ref.get('apiGroup'));
  ref.get('apiGroup').hasForm(dnsSubdomainRule);
  for (const name of ['kind', 'name']) {
    ref.get(name).hasForm(pathSegmentRule);
  }
}

const DOMAIN_PREFIXED = /^([^/]+)\/([A-Za-z0-9/\-._~%!$&'()*+,;=:]+)$/;

/** What an API server checks of an IngressClass. */
export const ingressClassRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = root.get('spec');
  const controller = spec.get('controller');
  controller.needed('the name of the controller, like example.com/ingress-controller');
  controller.hasForm((name) => {
    const domain = DOMAIN_PREFIXED.exec(name)?.[1];
    if (domain === undefined || dnsSubdomainRule(domain) !== undefined) {
      return 'must be a DNS name, "/" and a path, like example.com/ingress-controller';
    }
    return name.length > 250 ? 'must have at most 250 characters' : undefined;
  });
  const parameters = spec.get('parameters');
  if (!parameters.isSet) return;
  checkReference(parameters);
  const scope = parameters.get('scope');
  const namespace = parameters.get('namespace');
  if (scope.text !== undefined && scope.value !== 'Cluster' && scope.value !== 'Namespace') {
    scope.notSupported(['Cluster', 'Namespace']);
  } else if (scope.value === 'Namespace') {
    namespace.needed();
    namespace.hasForm(dnsLabelRule);
  } else if (namespace.isSet) namespace.forbidden('with the scope Cluster', 'scope: Namespace');
});
