import { type Network, networkHas, parseNetwork } from '../../../model/text/ip-address.ts';
import { checkCidr, cidrRule } from '../shared/addresses.ts';
import {
  type Field,
  filledIfSet,
  forbidden,
  get,
  inRange,
  integer,
  invalid,
  isSet,
  items,
  nameOf,
  report,
  text,
  textItems,
} from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsSubdomainRule, portNameRule } from '../shared/names.ts';
import { checkLabelSelector } from '../shared/selectors.ts';

/** What an API server checks of a NetworkPolicy. */
export const networkPolicyRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = get(root, 'spec');
  checkLabelSelector(get(spec, 'podSelector'));
  for (const [direction, peers] of [
    ['ingress', 'from'],
    ['egress', 'to'],
  ] as const) {
    for (const each of items(get(spec, direction))) {
      for (const port of items(get(each, 'ports'))) checkPort(port);
      for (const peer of items(get(each, peers))) checkPeer(peer);
    }
  }
  const types = get(spec, 'policyTypes');
  filledIfSet(...textItems(types));
  if (items(types).length > 2) invalid(types, 'must have at most Ingress and Egress');
});

function checkPort(each: Field): void {
  filledIfSet(get(each, 'protocol'));
  const port = get(each, 'port');
  const end = get(each, 'endPort');
  inRange(port, 1, 65_535);
  if (text(port) !== undefined) {
    const broken = portNameRule(text(port) ?? '');
    const hint = /^\d+$/.test(text(port) ?? '') ? 'remove the quotes' : undefined;
    if (broken !== undefined) invalid(port, broken, { reason: 'BadName', hint });
  }
  if (!isSet(end)) return;
  const first = integer(port);
  const last = integer(end);
  if (!isSet(port)) forbidden(end, 'without port');
  else if (first === undefined) {
    if (text(port) !== undefined) forbidden(end, 'with the name of a port');
  } else if (last !== undefined && last < first) invalid(end, `must be at least port, which is ${first}`);
  else inRange(end, 1, 65_535);
}

function checkPeer(peer: Field): void {
  const block = get(peer, 'ipBlock');
  const selectors = [get(peer, 'podSelector'), get(peer, 'namespaceSelector')];
  for (const selector of selectors) checkLabelSelector(selector);
  const hasSelector = selectors.some(isSet);
  if (isSet(block)) {
    if (hasSelector) {
      const hint = 'make a peer of its own of the ipBlock';
      report(block, 'WrongChoice', `${nameOf(peer)} has an ipBlock and a selector`, { hint, atKey: true });
    }
    checkBlock(block);
  } else if (!hasSelector) {
    report(peer, 'WrongChoice', `${nameOf(peer)} needs podSelector, namespaceSelector or ipBlock`);
  }
}

function checkBlock(block: Field): void {
  const cidr = get(block, 'cidr');
  checkCidr(cidr);
  const outer = parseNetwork(text(cidr) ?? '');
  for (const except of textItems(get(block, 'except'))) {
    const found = text(except);
    if (found === undefined) continue;
    const inner = parseNetwork(found);
    if (inner === undefined) {
      invalid(except, cidrRule(found) ?? 'must be a CIDR block', { reason: 'BadAddress' });
      continue;
    }
    checkCidr(except);
    if (outer !== undefined && !contains(outer, inner)) {
      invalid(except, `must be a part of ${String(cidr.value)}`, { reason: 'BadAddress' });
    }
  }
}

/** Whether the inner block is a part of the outer one and smaller. */
function contains(outer: Network, inner: Network): boolean {
  return inner.prefix > outer.prefix && networkHas(outer, inner.address);
}
