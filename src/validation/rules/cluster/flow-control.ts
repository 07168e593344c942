import {
  entryOf,
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
  isTrue,
  items,
  nameOf,
  notEmpty,
  report,
  required,
  text,
  textItems,
  word,
} from '../shared/field.ts';
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
  const spec = get(root, 'spec');
  const precedence = get(spec, 'matchingPrecedence');
  inRange(precedence, 0, LOWEST_PRECEDENCE);
  if (integer(precedence) === 1 && getIn(root, 'metadata', 'name').value !== 'exempt') {
    invalid(precedence, 'must be at least 2: 1 is kept for the schema exempt');
  }
  isOneOf(getIn(spec, 'distinguisherMethod', 'type'), ['ByUser', 'ByNamespace']);
  const level = getIn(spec, 'priorityLevelConfiguration', 'name');
  if (!isSet(spec)) required(level);
  hasForm(level, dnsSubdomainRule);
  for (const each of items(get(spec, 'rules'))) checkFlowRule(each);
});

function checkFlowRule(each: Field): void {
  const subjects = get(each, 'subjects');
  notEmpty(subjects);
  for (const subject of items(subjects)) checkSubject(subject);
  const [resources, urls] = [get(each, 'resourceRules'), get(each, 'nonResourceRules')];
  if (isEmpty(resources) && isEmpty(urls)) {
    report(each, 'WrongChoice', `${nameOf(each)} needs resourceRules, nonResourceRules or both`);
  }
  for (const resource of items(resources)) {
    for (const name of ['verbs', 'apiGroups', 'resources']) checkStarList(get(resource, name));
    for (const verb of textItems(get(resource, 'verbs'))) isOneOf(verb, VERBS);
    const namespaces = get(resource, 'namespaces');
    if (isEmpty(namespaces) && !isTrue(get(resource, 'clusterScope'))) required(namespaces, 'all namespaces: ["*"]');
    if (!isEmpty(namespaces)) checkStarList(namespaces);
    filledIfSet(...textItems(namespaces));
    for (const name of items(namespaces)) if (name.value !== '*') hasForm(name, dnsLabelRule);
  }
  for (const url of items(urls)) {
    for (const name of ['verbs', 'nonResourceURLs']) checkStarList(get(url, name));
    for (const verb of textItems(get(url, 'verbs'))) isOneOf(verb, VERBS);
    for (const path of textItems(get(url, 'nonResourceURLs'))) {
      const broken = urlRule(text(path) ?? '/');
      if (broken !== undefined) invalid(path, broken, { reason: 'BadPath' });
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
  notEmpty(list);
  const words = items(list).map(({ value }) => value);
  if (words.length > 1 && words.includes('*')) {
    report(list, 'WrongValue', `${nameOf(list)} must hold nothing else beside "*"`);
  }
}

function checkSubject(subject: Field): void {
  const kind = get(subject, 'kind');
  isOneOf(kind, Object.keys(SUBJECTS));
  const wanted = entryOf(SUBJECTS, word(kind));
  if (wanted === undefined) return;
  for (const name of Object.values(SUBJECTS)) {
    const field = get(subject, name);
    if (name === wanted && !isSet(field)) required(field, `a subject of kind ${String(kind.value)} has it`);
    else if (name !== wanted && isSet(field)) forbidden(field, `in a subject of kind ${String(kind.value)}`);
  }
  if (wanted !== 'serviceAccount') return;
  const [name, namespace] = [getIn(subject, wanted, 'name'), getIn(subject, wanted, 'namespace')];
  if (name.value !== '*') hasForm(name, dnsSubdomainRule);
  hasForm(namespace, dnsLabelRule);
}

/** What an API server checks of a PriorityLevelConfiguration. */
export const priorityLevelConfigurationRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = get(root, 'spec');
  const type = get(spec, 'type');
  isOneOf(type, ['Exempt', 'Limited']);
  if (!isSet(spec)) required(type);
  const [exempt, limited] = [get(spec, 'exempt'), get(spec, 'limited')];
  if (type.value === 'Exempt' && isSet(limited)) forbidden(limited, 'in a level of type Exempt');
  if (type.value === 'Limited') {
    if (isSet(exempt)) forbidden(exempt, 'in a level of type Limited');
    if (!isSet(limited)) required(limited);
  }
  for (const level of [exempt, limited]) {
    inRange(get(level, 'nominalConcurrencyShares'), 0);
    inRange(get(level, 'lendablePercent'), 0, 100);
    inRange(get(level, 'borrowingLimitPercent'), 0);
  }
  const response = get(limited, 'limitResponse');
  const responseType = get(response, 'type');
  const queuing = get(response, 'queuing');
  isOneOf(responseType, ['Queue', 'Reject']);
  if (isSet(limited) && !isSet(response)) required(responseType);
  if (responseType.value === 'Reject' && isSet(queuing)) forbidden(queuing, 'in a response of type Reject');
  if (responseType.value !== 'Queue') return;
  if (isSet(queuing)) checkQueuing(queuing);
  else required(queuing);
});

/** Zero stands for the default. */
function checkQueuing(queuing: Field): void {
  inRange(get(queuing, 'queueLengthLimit'), 0);
  inRange(get(queuing, 'queues'), 0, MOST_QUEUES);
  const hand = get(queuing, 'handSize');
  const size = integer(hand) || DEFAULT_HAND_SIZE;
  const queues = integer(get(queuing, 'queues')) || DEFAULT_QUEUES;
  if (size < 0) inRange(hand, 0);
  else if (size > queues) invalid(hand, `must be at most queues, which is ${queues}`);
  else if (shuffleBits(queues, size) > MOST_SHUFFLE_BITS) invalid(hand, `must be smaller for ${queues} queues`);
}

/** The bits of a hash that dealing a hand of queues needs. */
function shuffleBits(queues: number, handSize: number): number {
  let bits = 0;
  for (let dealt = 0; dealt < handSize && bits <= MOST_SHUFFLE_BITS; dealt += 1) bits += Math.log2(queues - dealt);
  return Math.ceil(bits);
}
