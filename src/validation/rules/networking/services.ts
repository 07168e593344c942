import { parseIp } from '../../../model/text/ip-address.ts';
import { checkCidr, checkEndpointIp, checkIp, cidrRule } from '../shared/addresses.ts';
import {
  distinct,
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
  isOneOf,
  isSet,
  items,
  nameOf,
  report,
  required,
  text,
  textItems,
  word,
} from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dns1035LabelRule, dnsLabelRule, dnsSubdomainRule, portNameRule, qualifiedNameRule } from '../shared/names.ts';
import { checkLabelMap } from '../shared/selectors.ts';

const FAMILIES = ['IPv4', 'IPv6'];
const DISTRIBUTIONS = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];
const SOURCE_RANGES = 'service.beta.kubernetes.io/load-balancer-source-ranges';
/** The node ports of an API server that is not told otherwise. */
const NODE_PORTS = [30_000, 32_767] as const;
const DAY_SECONDS = 86_400;

/** What an API server checks of a Service. */
export const serviceRule = kindRule(dnsLabelRule, (root) => {
  checkServiceName(get(get(root, 'metadata'), 'name'));
  const spec = get(root, 'spec');
  const type = word(get(spec, 'type')) ?? 'ClusterIP';
  const clusterIPs = clusterAddresses(spec);
  const isHeadless = clusterIPs.length === 1 && clusterIPs[0]?.value === 'None';
  if (type === 'ExternalName') checkExternalName(spec, clusterIPs);
  else checkClusterAddresses(spec, clusterIPs);
  if (isHeadless && (type === 'NodePort' || type === 'LoadBalancer')) {
    for (const address of clusterIPs) invalid(address, `must not be None in a Service of type ${type}`);
  }
  const ports = get(spec, 'ports');
  if (isEmpty(ports) && !isHeadless && type !== 'ExternalName') required(ports);
  checkPorts(items(ports), type);
  checkLabelMap(get(spec, 'selector'));
  checkAffinity(spec);
  for (const address of textItems(get(spec, 'externalIPs'))) {
    filledIfSet(address);
    checkEndpointIp(address);
  }
  checkLoadBalancer(root, type);
  checkTrafficPolicies(spec, type);
});

/** Checks what API servers demanded of the names of Services until Kubernetes 1.36: they begin with a letter. */
export function checkServiceName(name: Field): void {
  const found = word(name) ?? '';
  if (dnsLabelRule(found) !== undefined || dns1035LabelRule(found) === undefined) return;
  invalid(name, 'must begin with a letter before Kubernetes 1.36', { reason: 'BadName', until: 36 });
}

/** `clusterIPs`, or `clusterIP` as its only item. */
function clusterAddresses(spec: Field): readonly Field[] {
  const list = items(get(spec, 'clusterIPs'));
  const single = get(spec, 'clusterIP');
  return list.length > 0 || word(single) === undefined ? list : [single];
}

function checkExternalName(spec: Field, clusterIPs: readonly Field[]): void {
  const [address] = clusterIPs;
  if (address !== undefined) forbidden(address, 'in a Service of type ExternalName');
  for (const name of ['ipFamilies', 'ipFamilyPolicy']) {
    const field = get(spec, name);
    if (!isEmpty(field)) forbidden(field, 'in a Service of type ExternalName');
  }
  const externalName = get(spec, 'externalName');
  if (isEmpty(externalName)) required(externalName, 'the DNS name that the Service stands for');
  else hasForm(externalName, (name) => dnsSubdomainRule(name.replace(/\.$/, '')), 'BadAddress');
}

function checkClusterAddresses(spec: Field, clusterIPs: readonly Field[]): void {
  const families = textItems(get(spec, 'ipFamilies'));
  filledIfSet(get(spec, 'ipFamilyPolicy'), ...families);
  distinct(families, 'DuplicateValue');
  const list = items(get(spec, 'clusterIPs'));
  const single = get(spec, 'clusterIP');
  const [first] = list;
  if (first !== undefined && isEmpty(single)) required(single, 'the first of spec.clusterIPs');
  else if (first !== undefined && first.value !== single.value) invalid(first, 'must be the same as spec.clusterIP');
  if (list.length > 2) invalid(get(spec, 'clusterIPs'), 'must have at most one address of each IP family');
  for (const [index, address] of clusterIPs.entries()) {
    const found = text(address);
    if (found === undefined || (index === 0 && found === 'None' && clusterIPs.length === 1)) continue;
    const family = parseIp(found)?.family;
    if (family === undefined) {
      invalid(address, 'must be an IP address, or None as the only one', { reason: 'BadAddress' });
    } else checkIp(address);
    const wanted = families[index];
    if (
      family !== undefined &&
      wanted !== undefined &&
      FAMILIES.includes(text(wanted) ?? '') &&
      wanted.value !== family
    ) {
      invalid(address, `must be an address of ${String(wanted.value)}, as spec.ipFamilies says`, {
        reason: 'BadAddress',
      });
    }
  }
  const found = list.map((address) => parseIp(text(address) ?? '')?.family);
  if (found.length === 2 && found[0] !== undefined && found[0] === found[1]) {
    invalid(get(spec, 'clusterIPs'), 'must have at most one address of each IP family', { reason: 'BadAddress' });
  }
}

function checkPorts(ports: readonly Field[], type: string): void {
  distinct(ports.map((port) => get(port, 'name')));
  const nodePorts = new Set<string>();
  const numbers = new Set<string>();
  for (const port of ports) {
    const name = get(port, 'name');
    if (isEmpty(name) && ports.length > 1) required(name, 'each of several ports needs a name');
    hasForm(name, dnsLabelRule);
    inRange(get(port, 'port'), 1, 65_535);
    checkTargetPort(get(port, 'targetPort'));
    filledIfSet(get(port, 'appProtocol'));
    hasForm(get(port, 'appProtocol'), qualifiedNameRule);
    const protocol = word(get(port, 'protocol')) ?? 'TCP';
    const pair = `${protocol} ${JSON.stringify(get(port, 'port').value)}`;
    if (numbers.has(pair)) {
      const message = `${nameOf(get(port, 'port'))} is ${JSON.stringify(get(port, 'port').value)} of ${protocol}, as in an entry above`;
      report(get(port, 'port'), 'DuplicateValue', message);
    }
    numbers.add(pair);
    const nodePort = get(port, 'nodePort');
    const number = integer(nodePort) ?? 0;
    if (number === 0) continue;
    if (type === 'ClusterIP') forbidden(nodePort, 'in a Service of type ClusterIP', 'set spec.type to NodePort');
    const key = `${protocol} ${number}`;
    if (nodePorts.has(key))
      invalid(nodePort, 'must not be the same as in an entry above', { reason: 'DuplicateValue' });
    nodePorts.add(key);
    if (number < NODE_PORTS[0] || number > NODE_PORTS[1]) {
      const rule = `must be ${NODE_PORTS.join(' to ')}, unless the API server has another range`;
      invalid(nodePort, rule, { severity: 'warning' });
    }
  }
}

function checkTargetPort(port: Field): void {
  if (port.value !== 0) inRange(port, 1, 65_535);
  const name = word(port);
  const hint = name !== undefined && /^\d+$/.test(name) ? 'remove the quotes' : undefined;
  const broken = name === undefined ? undefined : portNameRule(name);
  if (broken !== undefined) invalid(port, broken, { reason: 'BadName', hint });
}

function checkAffinity(spec: Field): void {
  if (get(spec, 'sessionAffinity').value === 'ClientIP') {
    inRange(getIn(spec, 'sessionAffinityConfig', 'clientIP', 'timeoutSeconds'), 1, DAY_SECONDS);
  }
}

function checkLoadBalancer(root: Field, type: string): void {
  const spec = get(root, 'spec');
  const isLoadBalancer = type === 'LoadBalancer';
  const ranges = get(spec, 'loadBalancerSourceRanges');
  const annotation = getIn(root, 'metadata', 'annotations', SOURCE_RANGES);
  for (const name of ['loadBalancerSourceRanges', 'allocateLoadBalancerNodePorts', 'loadBalancerClass']) {
    const field = get(spec, name);
    const isGiven = name === 'loadBalancerSourceRanges' ? !isEmpty(field) : isSet(field);
    if (isGiven && !isLoadBalancer) forbidden(field, 'unless spec.type is LoadBalancer');
  }
  filledIfSet(...textItems(ranges));
  for (const range of items(ranges)) checkCidr(range);
  if (isEmpty(ranges) && text(annotation) !== undefined) {
    if (!isLoadBalancer) forbidden(annotation, 'unless spec.type is LoadBalancer');
    const bad = (value: string) => value.split(',').some((range) => cidrRule(range.trim()) !== undefined);
    hasForm(annotation, (value) =>
      value.trim() !== '' && bad(value) ? 'must be CIDR blocks with "," between' : undefined,
    );
  }
  filledIfSet(get(spec, 'loadBalancerClass'));
  hasForm(get(spec, 'loadBalancerClass'), qualifiedNameRule);
}

function checkTrafficPolicies(spec: Field, type: string): void {
  const external = get(spec, 'externalTrafficPolicy');
  const isReachable = type === 'LoadBalancer' || type === 'NodePort' || !isEmpty(get(spec, 'externalIPs'));
  if (!isReachable && !isEmpty(external)) {
    forbidden(external, `in a Service of type ${type}`, 'only Services that are reachable from outside have it');
  }
  filledIfSet(get(spec, 'internalTrafficPolicy'));
  const healthPort = get(spec, 'healthCheckNodePort');
  const needsHealthPort = type === 'LoadBalancer' && external.value === 'Local';
  if (needsHealthPort) {
    if (healthPort.value !== 0) inRange(healthPort, 1, 65_535);
  } else if ((integer(healthPort) ?? 0) !== 0) {
    forbidden(healthPort, 'unless spec.type is LoadBalancer and spec.externalTrafficPolicy is Local');
  }
  const distribution = get(spec, 'trafficDistribution');
  isOneOf(distribution, DISTRIBUTIONS);
}
