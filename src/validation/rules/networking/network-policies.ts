import { type Network, networkHas, parseNetwork } from '../../../model/text/ip-address.ts';
import { checkCidr, cidrRule } from '../shared/addresses.ts';
import { type Field, filledIfSet } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsSubdomainRule, portNameRule } from '../shared/names.ts';
import { checkLabelSelector } from '../shared/selectors.ts';

/** What an API server checks of a NetworkPolicy. */
export const networkPolicyRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = root.get('spec');
  checkLabelSelector(spec.get('podSelector'));
  for (const [direction, peers] of [
    ['ingress', 'from'],
    ['egress', 'to'],
  ] as const) {
    for (const each of spec.get(direction).items()) {
      for (const port of each.get('ports').items()) checkPort(port);
      for (const peer of each.get(peers).items()) checkPeer(peer);
    }
  }
  const types = spec.get('policyTypes');
  filledIfSet(...types.textItems());
  if (types.items().length > 2) types.invalid('must have at most Ingress and Egress');
});

function checkPort(each: Field): void {
  filledIfSet(each.get('protocol'));
  const port = each.get('port');
  const end = each.get('endPort');
  port.inRange(1, 65_535);
  if (port.text !== undefined) {
    const broken = portNameRule(port.text ?? '');
    const hint = /^\d+$/.test(port.text ?? '') ? 'remove the quotes' : undefined;
    if (broken !== undefined) port.invalid(broken, { reason: 'BadName', hint });
  }
  if (!end.isSet) return;
  const first = port.integer;
  const last = end.integer;
  if (!port.isSet) end.forbidden('without port');
  else if (first === undefined) {
    if (port.text !== undefined) end.forbidden('with the name of a port');
  } else if (last !== undefined && last < first) end.invalid(`must be at least port, which is ${first}`);
  else end.inRange(1, 65_535);
}

function checkPeer(peer: Field): void {
  const block = peer.get('ipBlock');
  const selectors = [peer.get('podSelector'), peer.get('namespaceSelector')];
  for (const selector of selectors) checkLabelSelector(selector);
  const hasSelector = selectors.some((selector) => selector.isSet);
  if (block.isSet) {
    if (hasSelector) {
      const hint = 'make a peer of its own of the ipBlock';
      block.report('WrongChoice', `${peer.name} has an ipBlock and a selector`, { hint, atKey: true });
    }
    checkBlock(block);
  } else if (!hasSelector) {
    peer.report('WrongChoice', `${peer.name} needs podSelector, namespaceSelector or ipBlock`);
  }
}

function checkBlock(block: Field): void {
  const cidr = block.get('cidr');
  checkCidr(cidr);
  const outer = parseNetwork(cidr.text ?? '');
  for (const except of block.get('except').textItems()) {
    const found = except.text;
    if (found === undefined) continue;
    const inner = parseNetwork(found);
    if (inner === undefined) {
      except.invalid(cidrRule(found) ?? 'must be a CIDR block', { reason: 'BadAddress' });
      continue;
    }
    checkCidr(except);
    if (outer !== undefined && !contains(outer, inner)) {
      except.invalid(`must be a part of ${String(cidr.value)}`, { reason: 'BadAddress' });
    }
  }
}

/** Whether the inner block is a part of the outer one and smaller. */
function contains(outer: Network, inner: Network): boolean {
  return inner.prefix > outer.prefix && networkHas(outer, inner.address);
}
