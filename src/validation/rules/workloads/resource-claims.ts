import { didYouMean } from '../../../manifest/problem.ts';
import { distinct, type Field, filledIfSet } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { csiDriverRule, dnsLabelRule, dnsSubdomainRule, domainPrefixedNameRule } from '../shared/names.ts';
/** What an API server checks of a ResourceClaim: names and choices. CEL is not compiled. */
export const resourceClaimRule = kindRule(dnsSubdomainRule, (root) => checkClaimSpec(root.get('spec')));

/** What an API server checks of a ResourceClaimTemplate. */
export const resourceClaimTemplateRule = kindRule(dnsSubdomainRule, (root) =>
  checkClaimSpec(root.getIn('spec', 'spec')),
);

/** What an API server checks of a DeviceClass. */
export const deviceClassRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = root.get('spec');
  checkSelectors(spec.get('selectors'));
  checkConfig(spec.get('config'));
});

function checkClaimSpec(spec: Field): void {
  const devices = spec.get('devices');
  const requests = devices.get('requests').items();
  const known = new Set<string>();
  for (const request of requests) {
    checkRequest(request);
    const name = request.get('name').word;
    if (name === undefined) continue;
    known.add(name);
    for (const choice of request.get('firstAvailable').items()) known.add(`${name}/${choice.get('name').word ?? ''}`);
  }
  distinct(requests.map((request) => request.get('name')));
  for (const constraint of devices.get('constraints').items()) {
    checkReferences(constraint.get('requests'), known);
    const [match, differ] = [constraint.get('matchAttribute'), constraint.get('distinctAttribute')];
    constraint.eitherOf(match, differ);
    for (const attribute of [match, differ]) {
      filledIfSet(attribute);
      attribute.hasForm(domainPrefixedNameRule);
    }
  }
  for (const entry of devices.get('config').items()) checkReferences(entry.get('requests'), known);
  checkConfig(devices.get('config'));
}

function checkRequest(request: Field): void {
  const name = request.get('name');
  name.hasForm(dnsLabelRule);
  const [exactly, choices] = [request.get('exactly'), request.get('firstAvailable')];
  if (exactly.isSet === !choices.isEmpty) {
    request.report('WrongChoice', `${request.name} needs exactly one of exactly, firstAvailable`);
  }
  for (const choice of choices.items()) choice.get('name').hasForm(dnsLabelRule);
  distinct(choices.items().map((choice) => choice.get('name')));
  for (const device of exactly.isSet ? [exactly] : choices.items()) {
    const mode = device.get('allocationMode');
    mode.oneOf(['ExactCount', 'All']);
    const count = device.get('count');
    if (mode.value === 'All') {
      if ((count.integer ?? 0) !== 0) count.forbidden('with allocationMode All');
    } else count.inRange(0);
    device.get('deviceClassName').hasForm(dnsSubdomainRule);
    checkSelectors(device.get('selectors'));
  }
}

function checkReferences(list: Field, known: ReadonlySet<string>): void {
  for (const name of list.textItems()) {
    const found = name.text;
    if (found === undefined || known.has(found)) continue;
    if (found === '') name.required();
    else
      name.report('UnknownReference', `${name.name} is ${JSON.stringify(found)}, but there is no such request`, {
        hint: didYouMean(found, known),
      });
  }
  distinct(list.items(), 'DuplicateValue');
}

function checkSelectors(selectors: Field): void {
  for (const selector of selectors.items()) {
    const cel = selector.get('cel');
    if (!cel.isSet) cel.required();
  }
}

function checkConfig(config: Field): void {
  for (const entry of config.items()) {
    const opaque = entry.get('opaque');
    if (!opaque.isSet) opaque.required();
    opaque.get('driver').hasForm(csiDriverRule);
  }
}
