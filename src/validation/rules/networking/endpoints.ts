import { parseIp } from '../../../model/text/ip-address.ts';
import { checkEndpointIp } from '../shared/addresses.ts';
import {
  atMost,
  distinct,
  type Field,
  filledIfSet,
  get,
  hasForm,
  inRange,
  invalid,
  isEmpty,
  items,
  nameOf,
  notEmpty,
  report,
  required,
  text,
  textItems,
} from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsLabelRule, dnsSubdomainRule, labelValueRule, qualifiedNameRule } from '../shared/names.ts';

const MOST_ADDRESSES = 100;
const MOST_ENDPOINTS = 1000;
const MOST_HINTS = 8;

/** What an API server checks of Endpoints. */
export const endpointsRule = kindRule(dnsSubdomainRule, (root) => {
  for (const subset of items(get(root, 'subsets'))) {
    const [ready, notReady] = [get(subset, 'addresses'), get(subset, 'notReadyAddresses')];
    if (isEmpty(ready) && isEmpty(notReady)) {
      report(subset, 'MissingField', `${nameOf(subset)} needs addresses or notReadyAddresses`);
    }
    for (const address of [...items(ready), ...items(notReady)]) {
      checkEndpointIp(get(address, 'ip'));
      hasForm(get(address, 'hostname'), dnsLabelRule);
      filledIfSet(get(address, 'nodeName'));
      hasForm(get(address, 'nodeName'), dnsSubdomainRule);
    }
    const ports = items(get(subset, 'ports'));
    for (const port of ports) {
      const name = get(port, 'name');
      if (ports.length > 1 && isEmpty(name)) required(name, 'each of several ports needs a name');
      hasForm(name, dnsLabelRule);
      inRange(get(port, 'port'), 1, 65_535);
      filledIfSet(get(port, 'appProtocol'));
      hasForm(get(port, 'appProtocol'), qualifiedNameRule);
    }
  }
});

/** What an API server checks of an EndpointSlice. */
export const endpointSliceRule = kindRule(dnsSubdomainRule, (root) => {
  const type = get(root, 'addressType');
  const ports = items(get(root, 'ports'));
  for (const port of ports) {
    hasForm(get(port, 'name'), dnsLabelRule);
    filledIfSet(get(port, 'protocol'), get(port, 'appProtocol'));
    hasForm(get(port, 'appProtocol'), qualifiedNameRule);
  }
  checkPortNames(ports);
  const endpoints = get(root, 'endpoints');
  atMost(endpoints, MOST_ENDPOINTS);
  for (const endpoint of items(endpoints)) checkEndpoint(endpoint, text(type));
});

/** An empty name is a name too, so two ports without names are refused. */
function checkPortNames(ports: readonly Field[]): void {
  const seen = new Set<string>();
  for (const port of ports) {
    const name = get(port, 'name');
    const found = text(name) ?? '';
    if (seen.has(found)) {
      report(name, 'DuplicateName', `${nameOf(name)} must differ from the names of the ports above`);
    }
    seen.add(found);
  }
}

function checkEndpoint(endpoint: Field, type: string | undefined): void {
  const addresses = get(endpoint, 'addresses');
  notEmpty(addresses);
  atMost(addresses, MOST_ADDRESSES);
  for (const address of textItems(addresses)) {
    const found = text(address);
    if (found === undefined) continue;
    if (type === 'FQDN') hasForm(address, domainRule, 'BadAddress');
    else if (type === 'IPv4' || type === 'IPv6') {
      if (parseIp(found)?.family === type) checkEndpointIp(address);
      else invalid(address, `must be an address of ${type}`, { reason: 'BadAddress' });
    }
  }
  hasForm(get(endpoint, 'nodeName'), dnsSubdomainRule);
  const hostname = get(endpoint, 'hostname');
  filledIfSet(hostname, get(endpoint, 'nodeName'));
  hasForm(hostname, dnsLabelRule);
  for (const [list, rule] of [
    ['forZones', labelValueRule],
    ['forNodes', dnsSubdomainRule],
  ] as const) {
    const hints = get(get(endpoint, 'hints'), list);
    const names = items(hints).map((hint) => get(hint, 'name'));
    for (const name of names) hasForm(name, rule);
    distinct(names);
    atMost(hints, MOST_HINTS);
  }
}

function domainRule(name: string): string | undefined {
  const plain = name.replace(/\.$/, '');
  return plain.includes('.') && dnsSubdomainRule(plain) === undefined ? undefined : 'must be a DNS name with a domain';
}
