import { checkIp } from '../shared/addresses.ts';
import {
  atMost,
  exactlyOne,
  type Field,
  forbidden,
  get,
  getIn,
  has,
  hasForm,
  haveForm,
  inRange,
  integer,
  isEmpty,
  isSet,
  isTrue,
  items,
  nameOf,
  needed,
  notEmpty,
  oneOf,
  report,
  required,
  text,
  word,
} from '../shared/field.ts';
import { dnsLabelRule, dnsSubdomainRule, qualifiedNameRule } from '../shared/names.ts';
import { checkAnnotationKeys, checkLabelMap } from '../shared/selectors.ts';
import { allContainers, checkContainers, checkFileKeys } from './containers.ts';
import type { Volumes } from './mounts.ts';
import { checkPodAnnotations } from './pod-annotations.ts';
import { checkPodResources } from './pod-resources.ts';
import { warnOfPod } from './pod-warnings.ts';
import { checkOverhead } from './resources.ts';
import { checkScheduling } from './scheduling.ts';
import { checkPodSecurityContext } from './security-context.ts';
import { checkVolumes } from './volumes.ts';
import { checkHostProcess, checkOsFields } from './windows.ts';

/** Checks a Pod: its metadata are at the root. */
export function checkPod(root: Field): void {
  const spec = get(root, 'spec');
  checkSpec(root, spec, true);
  checkTokenVolumes(spec);
  if (!isEmpty(get(spec, 'ephemeralContainers'))) {
    forbidden(get(spec, 'ephemeralContainers'), 'in a manifest', 'kubectl debug adds them to a running Pod');
  }
  if (!isEmpty(get(spec, 'nodeName')) && !isEmpty(get(spec, 'schedulingGates'))) {
    forbidden(get(spec, 'nodeName'), 'with schedulingGates');
  }
}

/** A Pod with a token of its service account names the account; controllers leave that to the API server. */
function checkTokenVolumes(spec: Field): void {
  if (!isEmpty(get(spec, 'serviceAccountName')) || !isEmpty(get(spec, 'serviceAccount'))) return;
  for (const volume of items(get(spec, 'volumes'))) {
    for (const source of items(getIn(volume, 'projected', 'sources'))) {
      const token = get(source, 'serviceAccountToken');
      if (isSet(token)) forbidden(token, 'in a Pod without serviceAccountName');
    }
  }
}

/** What a controller sets in the Pods that it makes of a template. */
export interface TemplateOptions {
  /** The volumes that it adds to each Pod, by name. */
  readonly added?: Volumes;
  /** It gives each Pod a host name. */
  readonly setsHostname?: boolean;
}

/** Checks the template of Pods in another object. */
export function checkPodTemplate(template: Field, options: TemplateOptions = {}): void {
  const spec = get(template, 'spec');
  checkLabelMap(getIn(template, 'metadata', 'labels'));
  checkAnnotationKeys(getIn(template, 'metadata', 'annotations'));
  checkSpec(template, spec, false, options);
  if (!isEmpty(get(spec, 'ephemeralContainers'))) {
    forbidden(get(spec, 'ephemeralContainers'), 'in a template of Pods');
  }
}

/**
 * Checks what Pods and templates have in common. The schema demands no spec, but a Pod without one has no containers.
 *
 * @param pod the Pod or the template
 */
function checkSpec(pod: Field, spec: Field, isPod: boolean, { added, setsHostname }: TemplateOptions = {}): void {
  if (!isSet(spec)) {
    required(spec);
    return;
  }
  const podName = isPod ? (text(getIn(pod, 'metadata', 'name')) ?? '') : undefined;
  const volumes = checkVolumes(spec, podName, added);
  const containers = allContainers(spec);
  const grace = get(spec, 'terminationGracePeriodSeconds');
  checkContainers(spec, {
    isPod,
    volumes,
    claims: has(spec, 'resourceClaims') ? checkClaims(items(get(spec, 'resourceClaims'))) : NO_NAMES,
    gracePeriodSeconds: gracePeriodOf(grace),
    hostNetwork: isTrue(get(spec, 'hostNetwork')),
    hostUsers: get(spec, 'hostUsers').value !== false,
    restartPolicy: word(get(spec, 'restartPolicy')),
  });
  checkFileKeys(containers, volumes);
  if (has(spec, 'resources')) checkPodResources(spec);
  if (has(spec, 'overhead')) checkOverhead(get(spec, 'overhead'));
  checkWords(spec);
  checkNames(spec, setsHostname === true);
  checkHost(spec);
  checkPodSecurityContext(spec);
  checkScheduling(spec, isPod ? getIn(pod, 'metadata', 'labels') : undefined);
  if (has(spec, 'dnsConfig') || has(spec, 'dnsPolicy')) checkDns(spec);
  for (const gate of items(get(spec, 'readinessGates'))) {
    hasForm(get(gate, 'conditionType'), qualifiedNameRule);
  }
  if (has(spec, 'os')) checkOsFields(spec, containers);
  checkHostProcess(spec, containers);
  checkPodAnnotations(pod, isPod);
  warnOfPod(pod, spec, containers);
}

/** An API server takes a negative period as 1 second. */
function gracePeriodOf(field: Field): number | undefined {
  if (!isSet(field)) return 30;
  const found = integer(field);
  return found === undefined || found >= 0 ? found : 1;
}

function checkWords(spec: Field): void {
  if (has(spec, 'preemptionPolicy')) notEmpty(get(spec, 'preemptionPolicy'));
  if (has(spec, 'activeDeadlineSeconds')) inRange(get(spec, 'activeDeadlineSeconds'), 1, 2 ** 31 - 1);
  if (has(spec, 'os')) oneOf(getIn(spec, 'os', 'name'), ['linux', 'windows']);
}

const SUBDOMAIN_NAMES = ['serviceAccountName', 'serviceAccount', 'nodeName', 'priorityClassName', 'runtimeClassName'];

const LABEL_NAMES = ['hostname', 'subdomain'];

function checkNames(spec: Field, isHostnameReplaced: boolean): void {
  for (const step of SUBDOMAIN_NAMES) if (has(spec, step)) hasForm(get(spec, step), dnsSubdomainRule);
  if (!isHostnameReplaced) {
    for (const step of LABEL_NAMES) if (has(spec, step)) hasForm(get(spec, step), dnsLabelRule);
  }
  if (!has(spec, 'hostAliases')) return;
  for (const alias of items(get(spec, 'hostAliases'))) {
    checkIp(get(alias, 'ip'));
    haveForm(get(alias, 'hostnames'), dnsSubdomainRule);
  }
}

/** Checks the namespaces and the name that a Pod shares with its node. */
function checkHost(spec: Field): void {
  if (has(spec, 'hostUsers') && get(spec, 'hostUsers').value === false) {
    for (const step of ['hostNetwork', 'hostPID', 'hostIPC']) {
      if (isTrue(get(spec, step))) forbidden(get(spec, step), 'with hostUsers: false');
    }
  }
  if (!has(spec, 'hostnameOverride')) return;
  const name = get(spec, 'hostnameOverride');
  hasForm(name, (found) => (found.length > 64 ? 'must have at most 64 characters' : dnsSubdomainRule(found)));
  for (const step of ['setHostnameAsFQDN', 'hostNetwork']) {
    if (isTrue(get(spec, step))) forbidden(name, `with ${step}: true`);
  }
}

function checkDns(spec: Field): void {
  const config = get(spec, 'dnsConfig');
  const servers = get(config, 'nameservers');
  if (get(spec, 'dnsPolicy').value === 'None' && isEmpty(servers)) {
    required(isSet(config) ? servers : config, 'dnsPolicy None needs at least one name server');
  }
  if (!isSet(config)) return;
  atMost(servers, 3);
  for (const server of items(servers)) checkIp(server);
  const searches = get(config, 'searches');
  const paths = items(searches);
  atMost(searches, 32);
  const length = paths.reduce((sum, path) => sum + (text(path)?.length ?? 0) + 1, -1);
  if (length > 2048) report(searches, 'WrongValue', `${nameOf(searches)} must have at most 2048 characters together`);
  haveForm(searches, searchPathRule);
  for (const option of items(get(config, 'options'))) {
    needed(get(option, 'name'));
  }
}

const SEARCH_PATH = /^_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$/;

function searchPathRule(path: string): string | undefined {
  const name = path.endsWith('.') ? path.slice(0, -1) : path;
  return path === '.' || (name.length <= 253 && SEARCH_PATH.test(name))
    ? undefined
    : 'must be a DNS name of lower-case letters, digits, "-", "_" and "."';
}

const NO_NAMES: ReadonlySet<string> = new Set();

/** Checks the entries of `resourceClaims` and returns their names. */
function checkClaims(claims: readonly Field[]): ReadonlySet<string> {
  const names = claims.map((claim) => get(claim, 'name'));
  for (const name of names) hasForm(name, dnsLabelRule);
  for (const claim of claims) {
    const source = exactlyOne(claim, ['resourceClaimName', 'resourceClaimTemplateName']);
    if (source === undefined) continue;
    notEmpty(source);
    hasForm(source, dnsSubdomainRule);
  }
  return new Set(names.flatMap((name) => word(name) ?? []));
}
