import { didYouMean } from '../../../manifest/problem.ts';
import {
  distinct,
  eitherOf,
  type Field,
  filledIfSet,
  forbidden,
  get,
  getIn,
  hasForm,
  inRange,
  integer,
  isEmpty,
  isSet,
  items,
  nameOf,
  oneOf,
  report,
  required,
  text,
  textItems,
  word,
} from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { csiDriverRule, dnsLabelRule, dnsSubdomainRule, domainPrefixedNameRule } from '../shared/names.ts';
/** What an API server checks of a ResourceClaim: names and choices. CEL is not compiled. */
export const resourceClaimRule = kindRule(dnsSubdomainRule, (root) => checkClaimSpec(get(root, 'spec')));

/** What an API server checks of a ResourceClaimTemplate. */
export const resourceClaimTemplateRule = kindRule(dnsSubdomainRule, (root) =>
  checkClaimSpec(getIn(root, 'spec', 'spec')),
);

/** What an API server checks of a DeviceClass. */
export const deviceClassRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = get(root, 'spec');
  checkSelectors(get(spec, 'selectors'));
  checkConfig(get(spec, 'config'));
});

function checkClaimSpec(spec: Field): void {
  const devices = get(spec, 'devices');
  const requests = items(get(devices, 'requests'));
  const known = new Set<string>();
  for (const request of requests) {
    checkRequest(request);
    const name = word(get(request, 'name'));
    if (name === undefined) continue;
    known.add(name);
    for (const choice of items(get(request, 'firstAvailable'))) known.add(`${name}/${word(get(choice, 'name')) ?? ''}`);
  }
  distinct(requests.map((request) => get(request, 'name')));
  for (const constraint of items(get(devices, 'constraints'))) {
    checkReferences(get(constraint, 'requests'), known);
    const [match, differ] = [get(constraint, 'matchAttribute'), get(constraint, 'distinctAttribute')];
    eitherOf(constraint, match, differ);
    for (const attribute of [match, differ]) {
      filledIfSet(attribute);
      hasForm(attribute, domainPrefixedNameRule);
    }
  }
  for (const entry of items(get(devices, 'config'))) checkReferences(get(entry, 'requests'), known);
  checkConfig(get(devices, 'config'));
}

function checkRequest(request: Field): void {
  const name = get(request, 'name');
  hasForm(name, dnsLabelRule);
  const [exactly, choices] = [get(request, 'exactly'), get(request, 'firstAvailable')];
  if (isSet(exactly) === !isEmpty(choices)) {
    report(request, 'WrongChoice', `${nameOf(request)} needs exactly one of exactly, firstAvailable`);
  }
  for (const choice of items(choices)) hasForm(get(choice, 'name'), dnsLabelRule);
  distinct(items(choices).map((choice) => get(choice, 'name')));
  for (const device of isSet(exactly) ? [exactly] : items(choices)) {
    const mode = get(device, 'allocationMode');
    oneOf(mode, ['ExactCount', 'All']);
    const count = get(device, 'count');
    if (mode.value === 'All') {
      if ((integer(count) ?? 0) !== 0) forbidden(count, 'with allocationMode All');
    } else inRange(count, 0);
    hasForm(get(device, 'deviceClassName'), dnsSubdomainRule);
    checkSelectors(get(device, 'selectors'));
  }
}

function checkReferences(list: Field, known: ReadonlySet<string>): void {
  for (const name of textItems(list)) {
    const found = text(name);
    if (found === undefined || known.has(found)) continue;
    if (found === '') required(name);
    else
      report(name, 'UnknownReference', `${nameOf(name)} is ${JSON.stringify(found)}, but there is no such request`, {
        hint: didYouMean(found, known),
      });
  }
  distinct(items(list), 'DuplicateValue');
}

function checkSelectors(selectors: Field): void {
  for (const selector of items(selectors)) {
    const cel = get(selector, 'cel');
    if (!isSet(cel)) required(cel);
  }
}

function checkConfig(config: Field): void {
  for (const entry of items(config)) {
    const opaque = get(entry, 'opaque');
    if (!isSet(opaque)) required(opaque);
    hasForm(get(opaque, 'driver'), csiDriverRule);
  }
}
