import { checkIp } from '../shared/addresses.ts';
import type { Field } from '../shared/field.ts';
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
  const spec = root.get('spec');
  checkSpec(root, spec, true);
  checkTokenVolumes(spec);
  if (!spec.get('ephemeralContainers').isEmpty) {
    spec.get('ephemeralContainers').forbidden('in a manifest', 'kubectl debug adds them to a running Pod');
  }
  if (!spec.get('nodeName').isEmpty && !spec.get('schedulingGates').isEmpty) {
    spec.get('nodeName').forbidden('with schedulingGates');
  }
}

/** A Pod with a token of its service account names the account; controllers leave that to the API server. */
function checkTokenVolumes(spec: Field): void {
  if (!spec.get('serviceAccountName').isEmpty || !spec.get('serviceAccount').isEmpty) return;
  for (const volume of spec.get('volumes').items()) {
    for (const source of volume.getIn('projected', 'sources').items()) {
      const token = source.get('serviceAccountToken');
      if (token.isSet) token.forbidden('in a Pod without serviceAccountName');
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
  const spec = template.get('spec');
  checkLabelMap(template.getIn('metadata', 'labels'));
  checkAnnotationKeys(template.getIn('metadata', 'annotations'));
  checkSpec(template, spec, false, options);
  if (!spec.get('ephemeralContainers').isEmpty) {
    spec.get('ephemeralContainers').forbidden('in a template of Pods');
  }
}

/**
 * Checks what Pods and templates have in common. The schema demands no spec, but a Pod without one has no containers.
 *
 * @param pod the Pod or the template
 */
function checkSpec(pod: Field, spec: Field, isPod: boolean, { added, setsHostname }: TemplateOptions = {}): void {
  if (!spec.isSet) {
    spec.required();
    return;
  }
  const podName = isPod ? (pod.getIn('metadata', 'name').text ?? '') : undefined;
  const volumes = checkVolumes(spec, podName, added);
  const containers = allContainers(spec);
  const grace = spec.get('terminationGracePeriodSeconds');
  checkContainers(spec, {
    isPod,
    volumes,
    claims: spec.has('resourceClaims') ? checkClaims(spec.get('resourceClaims').items()) : NO_NAMES,
    gracePeriodSeconds: gracePeriodOf(grace),
    hostNetwork: spec.get('hostNetwork').isTrue,
    hostUsers: spec.get('hostUsers').value !== false,
    restartPolicy: spec.get('restartPolicy').word,
  });
  checkFileKeys(containers, volumes);
  if (spec.has('resources')) checkPodResources(spec);
  if (spec.has('overhead')) checkOverhead(spec.get('overhead'));
  checkWords(spec);
  checkNames(spec, setsHostname === true);
  checkHost(spec);
  checkPodSecurityContext(spec);
  checkScheduling(spec, isPod ? pod.getIn('metadata', 'labels') : undefined);
  if (spec.has('dnsConfig') || spec.has('dnsPolicy')) checkDns(spec);
  for (const gate of spec.get('readinessGates').items()) {
    gate.get('conditionType').hasForm(qualifiedNameRule);
  }
  if (spec.has('os')) checkOsFields(spec, containers);
  checkHostProcess(spec, containers);
  checkPodAnnotations(pod, isPod);
  warnOfPod(pod, spec, containers);
}

/** An API server takes a negative period as 1 second. */
function gracePeriodOf(field: Field): number | undefined {
  if (!field.isSet) return 30;
  const found = field.integer;
  return found === undefined || found >= 0 ? found : 1;
}

function checkWords(spec: Field): void {
  if (spec.has('preemptionPolicy')) spec.get('preemptionPolicy').notEmpty();
  if (spec.has('activeDeadlineSeconds')) spec.get('activeDeadlineSeconds').inRange(1, 2 ** 31 - 1);
  if (spec.has('os')) spec.getIn('os', 'name').oneOf(['linux', 'windows']);
}

const SUBDOMAIN_NAMES = ['serviceAccountName', 'serviceAccount', 'nodeName', 'priorityClassName', 'runtimeClassName'];

const LABEL_NAMES = ['hostname', 'subdomain'];

function checkNames(spec: Field, isHostnameReplaced: boolean): void {
  for (const step of SUBDOMAIN_NAMES) if (spec.has(step)) spec.get(step).hasForm(dnsSubdomainRule);
  if (!isHostnameReplaced) {
    for (const step of LABEL_NAMES) if (spec.has(step)) spec.get(step).hasForm(dnsLabelRule);
  }
  if (!spec.has('hostAliases')) return;
  for (const alias of spec.get('hostAliases').items()) {
    checkIp(alias.get('ip'));
    alias.get('hostnames').haveForm(dnsSubdomainRule);
  }
}

/** Checks the namespaces and the name that a Pod shares with its node. */
function checkHost(spec: Field): void {
  if (spec.has('hostUsers') && spec.get('hostUsers').value === false) {
    for (const step of ['hostNetwork', 'hostPID', 'hostIPC']) {
      if (spec.get(step).isTrue) spec.get(step).forbidden('with hostUsers: false');
    }
  }
  if (!spec.has('hostnameOverride')) return;
  const name = spec.get('hostnameOverride');
  name.hasForm((found) => (found.length > 64 ? 'must have at most 64 characters' : dnsSubdomainRule(found)));
  for (const step of ['setHostnameAsFQDN', 'hostNetwork']) {
    if (spec.get(step).isTrue) name.forbidden(`with ${step}: true`);
  }
}

function checkDns(spec: Field): void {
  const config = spec.get('dnsConfig');
  const servers = config.get('nameservers');
  if (spec.get('dnsPolicy').value === 'None' && servers.isEmpty) {
    (config.isSet ? servers : config).required('dnsPolicy None needs at least one name server');
  }
  if (!config.isSet) return;
  servers.atMost(3);
  for (const server of servers.items()) checkIp(server);
  const searches = config.get('searches');
  const paths = searches.items();
  searches.atMost(32);
  const length = paths.reduce((sum, path) => sum + (path.text?.length ?? 0) + 1, -1);
  if (length > 2048) searches.report('WrongValue', `${searches.name} must have at most 2048 characters together`);
  searches.haveForm(searchPathRule);
  for (const option of config.get('options').items()) {
    option.get('name').needed();
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
  const names = claims.map((claim) => claim.get('name'));
  for (const name of names) name.hasForm(dnsLabelRule);
  for (const claim of claims) {
    const source = claim.exactlyOne(['resourceClaimName', 'resourceClaimTemplateName']);
    if (source === undefined) continue;
    source.notEmpty();
    source.hasForm(dnsSubdomainRule);
  }
  return new Set(names.flatMap((name) => name.word ?? []));
}
