import { entryOf, type Field, filledIfSet } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsLabelRule, dnsSubdomainRule } from '../shared/names.ts';

const LOWEST_PRECEDENCE = 10_000;
const MOST_QUEUES = 10_000_000;
const DEFAULT_QUEUES = 64;
const DEFAULT_HAND_SIZE = 8;
const MOST_SHUFFLE_BITS = 60;
const VERBS = ['get', 'list', 'create', 'update', 'delete', 'deletecollection', 'patch', 'watch', 'proxy', '*'];
/** The field of a subject for each `kind`. */
const SUBJECTS: Readonly<Record<string, string>> = { User: 'user', Group: 'group', ServiceAccount: 'serviceAccount' };

/** What an API server checks of a FlowSchema. */
export const flowSchemaRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = root.get('spec');
  const precedence = spec.get('matchingPrecedence');
  precedence.inRange(0, LOWEST_PRECEDENCE);
  if (precedence.integer === 1 && root.getIn('metadata', 'name').value !== 'exempt') {
    precedence.invalid('must be at least 2: 1 is kept for the schema exempt');
  }
  spec.getIn('distinguisherMethod', 'type').isOneOf(['ByUser', 'ByNamespace']);
  const level = spec.getIn('priorityLevelConfiguration', 'name');
  if (!spec.isSet) level.required();
  level.hasForm(dnsSubdomainRule);
  for (const each of spec.get('rules').items()) checkFlowRule(each);
});

function checkFlowRule(each: Field): void {
  const subjects = each.get('subjects');
  subjects.notEmpty();
  for (const subject of subjects.items()) checkSubject(subject);
  const [resources, urls] = [each.get('resourceRules'), each.get('nonResourceRules')];
  if (resources.isEmpty && urls.isEmpty) {
    each.report('WrongChoice', `${each.name} needs resourceRules, nonResourceRules or both`);
  }
  for (const resource of resources.items()) {
    for (const name of ['verbs', 'apiGroups', 'resources']) checkStarList(resource.get(name));
    for (const verb of resource.get('verbs').textItems()) verb.isOneOf(VERBS);
    const namespaces = resource.get('namespaces');
    if (namespaces.isEmpty && !resource.get('clusterScope').isTrue) namespaces.required('all namespaces: ["*"]');
    if (!namespaces.isEmpty) checkStarList(namespaces);
    filledIfSet(...namespaces.textItems());
    for (const name of namespaces.items()) if (name.value !== '*') name.hasForm(dnsLabelRule);
  }
  for (const url of urls.items()) {
    for (const name of ['verbs', 'nonResourceURLs']) checkStarList(url.get(name));
    for (const verb of url.get('verbs').textItems()) verb.isOneOf(VERBS);
    for (const path of url.get('nonResourceURLs').textItems()) {
      const broken = urlRule(path.text ?? '/');
      if (broken !== undefined) path.invalid(broken, { reason: 'BadPath' });
    }
  }
}

function urlRule(path: string): string | undefined {
  if (path === '*') return undefined;
  if (!path.startsWith('/')) return 'must begin with "/"';
  if (path.includes(' ') || path.includes('//')) return 'must not contain " " or "//"';
  const isGlob = /^[^*]*(\/\*)?$/.test(path);
  return isGlob ? undefined : 'can have "*" only as its last part';
}

function checkStarList(list: Field): void {
  list.notEmpty();
  const words = list.items().map(({ value }) => value);
  if (words.length > 1 && words.includes('*')) {
    list.report('WrongValue', `${list.name} must hold nothing else beside "*"`);
  }
}

function checkSubject(subject: Field): void {
  const kind = subject.get('kind');
  kind.isOneOf(Object.keys(SUBJECTS));
  const wanted = entryOf(SUBJECTS, kind.word);
  if (wanted === undefined) return;
  for (const name of Object.values(SUBJECTS)) {
    const field = subject.get(name);
    if (name === wanted && !field.isSet) field.required(`a subject of kind ${String(kind.value)} has it`);
    else if (name !== wanted && field.isSet) field.forbidden(`in a subject of kind ${String(kind.value)}`);
  }
  if (wanted !== 'serviceAccount') return;
  const [name, namespace] = [subject.getIn(wanted, 'name'), subject.getIn(wanted, 'namespace')];
  if (name.value !== '*') name.hasForm(dnsSubdomainRule);
  namespace.hasForm(dnsLabelRule);
}

/** What an API server checks of a PriorityLevelConfiguration. */
export const priorityLevelConfigurationRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = root.get('spec');
  const type = spec.get('type');
  type.isOneOf(['Exempt', 'Limited']);
  if (!spec.isSet) type.required();
  const [exempt, limited] = [spec.get('exempt'), spec.get('limited')];
  if (type.value === 'Exempt' && limited.isSet) limited.forbidden('in a level of type Exempt');
  if (type.value === 'Limited') {
    if (exempt.isSet) exempt.forbidden('in a level of type Limited');
    if (!limited.isSet) limited.required();
  }
  for (const level of [exempt, limited]) {
    level.get('nominalConcurrencyShares').inRange(0);
    level.get('lendablePercent').inRange(0, 100);
    level.get('borrowingLimitPercent').inRange(0);
  }
  const response = limited.get('limitResponse');
  const responseType = response.get('type');
  const queuing = response.get('queuing');
  responseType.isOneOf(['Queue', 'Reject']);
  if (limited.isSet && !response.isSet) responseType.required();
  if (responseType.value === 'Reject' && queuing.isSet) queuing.forbidden('in a response of type Reject');
  if (responseType.value !== 'Queue') return;
  if (queuing.isSet) checkQueuing(queuing);
  else queuing.required();
});

/** Zero stands for the default. */
function checkQueuing(queuing: Field): void {
  queuing.get('queueLengthLimit').inRange(0);
  queuing.get('queues').inRange(0, MOST_QUEUES);
  const hand = queuing.get('handSize');
  const size = hand.integer || DEFAULT_HAND_SIZE;
  const queues = queuing.get('queues').integer || DEFAULT_QUEUES;
  if (size < 0) hand.inRange(0);
  else if (size > queues) hand.invalid(`must be at most queues, which is ${queues}`);
  else if (shuffleBits(queues, size) > MOST_SHUFFLE_BITS) hand.invalid(`must be smaller for ${queues} queues`);
}

/** The bits of a hash that dealing a hand of queues needs. */
function shuffleBits(queues: number, handSize: number): number {
  let bits = 0;
  for (let dealt = 0; dealt < handSize && bits <= MOST_SHUFFLE_BITS; dealt += 1) bits += Math.log2(queues - dealt);
  return Math.ceil(bits);
}
