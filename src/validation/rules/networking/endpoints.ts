import { parseIp } from '../../../model/text/ip-address.ts';
import { checkEndpointIp } from '../shared/addresses.ts';
import { distinct, type Field, filledIfSet } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsLabelRule, dnsSubdomainRule, labelValueRule, qualifiedNameRule } from '../shared/names.ts';

const MOST_ADDRESSES = 100;
const MOST_ENDPOINTS = 1000;
const MOST_HINTS = 8;

/** What an API server checks of Endpoints. */
export const endpointsRule = kindRule(dnsSubdomainRule, (root) => {
  for (const subset of root.get('subsets').items()) {
    const [ready, notReady] = [subset.get('addresses'), subset.get('notReadyAddresses')];
    if (ready.isEmpty && notReady.isEmpty) {
      subset.report('MissingField', `${subset.name} needs addresses or notReadyAddresses`);
    }
    for (const address of [...ready.items(), ...notReady.items()]) {
      checkEndpointIp(address.get('ip'));
      address.get('hostname').hasForm(dnsLabelRule);
      filledIfSet(address.get('nodeName'));
      address.get('nodeName').hasForm(dnsSubdomainRule);
    }
    const ports = subset.get('ports').items();
    for (const port of ports) {
      const name = port.get('name');
      if (ports.length > 1 && name.isEmpty) name.required('each of several ports needs a name');
      name.hasForm(dnsLabelRule);
      port.get('port').inRange(1, 65_535);
      filledIfSet(port.get('appProtocol'));
      port.get('appProtocol').hasForm(qualifiedNameRule);
    }
  }
});

/** What an API server checks of an EndpointSlice. */
export const endpointSliceRule = kindRule(dnsSubdomainRule, (root) => {
  const type = root.get('addressType');
  const ports = root.get('ports').items();
  for (const port of ports) {
    port.get('name').hasForm(dnsLabelRule);
    filledIfSet(port.get('protocol'), port.get('appProtocol'));
    port.get('appProtocol').hasForm(qualifiedNameRule);
  }
  checkPortNames(ports);
  const endpoints = root.get('endpoints');
  endpoints.atMost(MOST_ENDPOINTS);
  for (const endpoint of endpoints.items()) checkEndpoint(endpoint, type.text);
});

/** An empty name is a name too, so two ports without names are refused. */
function checkPortNames(ports: readonly Field[]): void {
  const seen = new Set<string>();
  for (const port of ports) {
    const name = port.get('name');
    const found = name.text ?? '';
    if (seen.has(found)) {
      name.report('DuplicateName', `${name.name} must differ from the names of the ports above`);
    }
    seen.add(found);
  }
}

function checkEndpoint(endpoint: Field, type: string | undefined): void {
  const addresses = endpoint.get('addresses');
  addresses.notEmpty();
  addresses.atMost(MOST_ADDRESSES);
  for (const address of addresses.textItems()) {
    const found = address.text;
    if (found === undefined) continue;
    if (type === 'FQDN') address.hasForm(domainRule, 'BadAddress');
    else if (type === 'IPv4' || type === 'IPv6') {
      if (parseIp(found)?.family === type) checkEndpointIp(address);
      else address.invalid(`must be an address of ${type}`, { reason: 'BadAddress' });
    }
  }
  endpoint.get('nodeName').hasForm(dnsSubdomainRule);
  const hostname = endpoint.get('hostname');
  filledIfSet(hostname, endpoint.get('nodeName'));
  hostname.hasForm(dnsLabelRule);
  for (const [list, rule] of [
    ['forZones', labelValueRule],
    ['forNodes', dnsSubdomainRule],
  ] as const) {
    const hints = endpoint.get('hints').get(list);
    const names = hints.items().map((hint) => hint.get('name'));
    for (const name of names) name.hasForm(rule);
    distinct(names);
    hints.atMost(MOST_HINTS);
  }
}

function domainRule(name: string): string | undefined {
  const plain = name.replace(/\.$/, '');
  return plain.includes('.') && dnsSubdomainRule(plain) === undefined ? undefined : 'must be a DNS name with a domain';
}
