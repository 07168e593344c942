import { parseIp } from '../../../model/text/ip-address.ts';
import { checkCidr, checkEndpointIp, checkIp, cidrRule } from '../shared/addresses.ts';
import { distinct, type Field, filledIfSet } from '../shared/field.ts';
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
  checkServiceName(root.get('metadata').get('name'));
  const spec = root.get('spec');
  const type = spec.get('type').word ?? 'ClusterIP';
  const clusterIPs = clusterAddresses(spec);
  const isHeadless = clusterIPs.length === 1 && clusterIPs[0]?.value === 'None';
  if (type === 'ExternalName') checkExternalName(spec, clusterIPs);
  else checkClusterAddresses(spec, clusterIPs);
  if (isHeadless && (type === 'NodePort' || type === 'LoadBalancer')) {
    for (const address of clusterIPs) address.invalid(`must not be None in a Service of type ${type}`);
  }
  const ports = spec.get('ports');
  if (ports.isEmpty && !isHeadless && type !== 'ExternalName') ports.required();
  checkPorts(ports.items(), type);
  checkLabelMap(spec.get('selector'));
  checkAffinity(spec);
  for (const address of spec.get('externalIPs').textItems()) {
    filledIfSet(address);
    checkEndpointIp(address);
  }
  checkLoadBalancer(root, type);
  checkTrafficPolicies(spec, type);
});

/** Checks what API servers demanded of the names of Services until Kubernetes 1.36: they begin with a letter. */
export function checkServiceName(name: Field): void {
  const found = name.word ?? '';
  if (dnsLabelRule(found) !== undefined || dns1035LabelRule(found) === undefined) return;
  name.invalid('must begin with a letter before Kubernetes 1.36', { reason: 'BadName', until: 36 });
}

/** `clusterIPs`, or `clusterIP` as its only item. */
function clusterAddresses(spec: Field): readonly Field[] {
  const list = spec.get('clusterIPs').items();
  const single = spec.get('clusterIP');
  return list.length > 0 || single.word === undefined ? list : [single];
}

function checkExternalName(spec: Field, clusterIPs: readonly Field[]): void {
  const [address] = clusterIPs;
  if (address !== undefined) address.forbidden('in a Service of type ExternalName');
  for (const name of ['ipFamilies', 'ipFamilyPolicy']) {
    const field = spec.get(name);
    if (!field.isEmpty) field.forbidden('in a Service of type ExternalName');
  }
  const externalName = spec.get('externalName');
  if (externalName.isEmpty) externalName.required('the DNS name that the Service stands for');
  else externalName.hasForm((name) => dnsSubdomainRule(name.replace(/\.$/, '')), 'BadAddress');
}

function checkClusterAddresses(spec: Field, clusterIPs: readonly Field[]): void {
  const families = spec.get('ipFamilies').textItems();
  filledIfSet(spec.get('ipFamilyPolicy'), ...families);
  distinct(families, 'DuplicateValue');
  const list = spec.get('clusterIPs').items();
  const single = spec.get('clusterIP');
  const [first] = list;
  if (first !== undefined && single.isEmpty) single.required('the first of spec.clusterIPs');
  else if (first !== undefined && first.value !== single.value) first.invalid('must be the same as spec.clusterIP');
  if (list.length > 2) spec.get('clusterIPs').invalid('must have at most one address of each IP family');
  for (const [index, address] of clusterIPs.entries()) {
    const found = address.text;
    if (found === undefined || (index === 0 && found === 'None' && clusterIPs.length === 1)) continue;
    const family = parseIp(found)?.family;
    if (family === undefined) {
      address.invalid('must be an IP address, or None as the only one', { reason: 'BadAddress' });
    } else checkIp(address);
    const wanted = families[index];
    if (
      family !== undefined &&
      wanted !== undefined &&
      FAMILIES.includes(wanted.text ?? '') &&
      wanted.value !== family
    ) {
      address.invalid(`must be an address of ${String(wanted.value)}, as spec.ipFamilies says`, {
        reason: 'BadAddress',
      });
    }
  }
  const found = list.map((address) => parseIp(address.text ?? '')?.family);
  if (found.length === 2 && found[0] !== undefined && found[0] === found[1]) {
    spec.get('clusterIPs').invalid('must have at most one address of each IP family', { reason: 'BadAddress' });
  }
}

function checkPorts(ports: readonly Field[], type: string): void {
  distinct(ports.map((port) => port.get('name')));
  const nodePorts = new Set<string>();
  const numbers = new Set<string>();
  for (const port of ports) {
    const name = port.get('name');
    if (name.isEmpty && ports.length > 1) name.required('each of several ports needs a name');
    name.hasForm(dnsLabelRule);
    port.get('port').inRange(1, 65_535);
    checkTargetPort(port.get('targetPort'));
    filledIfSet(port.get('appProtocol'));
    port.get('appProtocol').hasForm(qualifiedNameRule);
    const protocol = port.get('protocol').word ?? 'TCP';
    const pair = `${protocol} ${JSON.stringify(port.get('port').value)}`;
    if (numbers.has(pair)) {
      const message = `${port.get('port').name} is ${JSON.stringify(port.get('port').value)} of ${protocol}, as in an entry above`;
      port.get('port').report('DuplicateValue', message);
    }
    numbers.add(pair);
    const nodePort = port.get('nodePort');
    const number = nodePort.integer ?? 0;
    if (number === 0) continue;
    if (type === 'ClusterIP') nodePort.forbidden('in a Service of type ClusterIP', 'set spec.type to NodePort');
    const key = `${protocol} ${number}`;
    if (nodePorts.has(key)) nodePort.invalid('must not be the same as in an entry above', { reason: 'DuplicateValue' });
    nodePorts.add(key);
    if (number < NODE_PORTS[0] || number > NODE_PORTS[1]) {
      const rule = `must be ${NODE_PORTS.join(' to ')}, unless the API server has another range`;
      nodePort.invalid(rule, { severity: 'warning' });
    }
  }
}

function checkTargetPort(port: Field): void {
  if (port.value !== 0) port.inRange(1, 65_535);
  const name = port.word;
  const hint = name !== undefined && /^\d+$/.test(name) ? 'remove the quotes' : undefined;
  const broken = name === undefined ? undefined : portNameRule(name);
  if (broken !== undefined) port.invalid(broken, { reason: 'BadName', hint });
}

function checkAffinity(spec: Field): void {
  if (spec.get('sessionAffinity').value === 'ClientIP') {
    spec.getIn('sessionAffinityConfig', 'clientIP', 'timeoutSeconds').inRange(1, DAY_SECONDS);
  }
}

function checkLoadBalancer(root: Field, type: string): void {
  const spec = root.get('spec');
  const isLoadBalancer = type === 'LoadBalancer';
  const ranges = spec.get('loadBalancerSourceRanges');
  const annotation = root.getIn('metadata', 'annotations', SOURCE_RANGES);
  for (const name of ['loadBalancerSourceRanges', 'allocateLoadBalancerNodePorts', 'loadBalancerClass']) {
    const field = spec.get(name);
    const isGiven = name === 'loadBalancerSourceRanges' ? !field.isEmpty : field.isSet;
    if (isGiven && !isLoadBalancer) field.forbidden('unless spec.type is LoadBalancer');
  }
  filledIfSet(...ranges.textItems());
  for (const range of ranges.items()) checkCidr(range);
  if (ranges.isEmpty && annotation.text !== undefined) {
    if (!isLoadBalancer) annotation.forbidden('unless spec.type is LoadBalancer');
    const bad = (value: string) => value.split(',').some((range) => cidrRule(range.trim()) !== undefined);
    annotation.hasForm((value) =>
      value.trim() !== '' && bad(value) ? 'must be CIDR blocks with "," between' : undefined,
    );
  }
  filledIfSet(spec.get('loadBalancerClass'));
  spec.get('loadBalancerClass').hasForm(qualifiedNameRule);
}

function checkTrafficPolicies(spec: Field, type: string): void {
  const external = spec.get('externalTrafficPolicy');
  const isReachable = type === 'LoadBalancer' || type === 'NodePort' || !spec.get('externalIPs').isEmpty;
  if (!isReachable && !external.isEmpty) {
    external.forbidden(`in a Service of type ${type}`, 'only Services that are reachable from outside have it');
  }
  filledIfSet(spec.get('internalTrafficPolicy'));
  const healthPort = spec.get('healthCheckNodePort');
  const needsHealthPort = type === 'LoadBalancer' && external.value === 'Local';
  if (needsHealthPort) {
    if (healthPort.value !== 0) healthPort.inRange(1, 65_535);
  } else if ((healthPort.integer ?? 0) !== 0) {
    healthPort.forbidden('unless spec.type is LoadBalancer and spec.externalTrafficPolicy is Local');
  }
  const distribution = spec.get('trafficDistribution');
  distribution.isOneOf(DISTRIBUTIONS);
}
