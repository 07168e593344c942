import {
  type Field,
  forbidden,
  get,
  getIn,
  has,
  hasForm,
  invalid,
  isEmpty,
  isSet,
  isTrue,
  report,
  text,
} from '../shared/field.ts';
import { dnsSubdomainRule } from '../shared/names.ts';

/** Checks the options of a security context that are for Windows only. */
export function checkWindowsOptions(options: Field): void {
  if (!isSet(options)) return;
  hasForm(get(options, 'gmsaCredentialSpecName'), dnsSubdomainRule);
  const spec = get(options, 'gmsaCredentialSpec');
  const length = text(spec)?.length;
  if (length === 0 || (length ?? 0) > 64 * 1024) {
    report(spec, 'WrongValue', 'gmsaCredentialSpec must be 1 character to 64 KiB');
  }
  const user = get(options, 'runAsUserName');
  const broken = text(user) === undefined ? undefined : userNameRule(text(user) ?? '');
  if (broken !== undefined) invalid(user, broken, { reason: 'BadName' });
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
const CONTROL = /[\u0000-\u001f\u007f]/;
const NETBIOS_DOMAIN = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const DNS_DOMAIN = /^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;

function userNameRule(name: string): string | undefined {
  if (name === '') return 'must not be empty';
  if (CONTROL.test(name)) return 'must not contain control characters';
  const parts = name.split('\\');
  if (parts.length > 2) return 'must have at most one "\\"';
  const user = parts[parts.length - 1] ?? '';
  const domain = parts.length === 2 ? parts[0] : undefined;
  if (domain !== undefined && (domain.length >= 256 || !(NETBIOS_DOMAIN.test(domain) || DNS_DOMAIN.test(domain)))) {
    return 'must have a NetBIOS or DNS name before the "\\"';
  }
  if (user.length === 0 || user.length > 104) return 'must have a user of 1 to 104 characters';
  if (/^[. ]+$/.test(user)) return 'must have a user of more than dots and spaces';
  return /["/\\:;|=,+*?<>@[\]]/.test(user) ? 'must have a user without any of "/\\:;|=,+*?<>@[]' : undefined;
}

const CONTAINER_FIELDS = 'appArmorProfile seLinuxOptions seccompProfile capabilities readOnlyRootFilesystem privileged '
  .concat('allowPrivilegeEscalation procMount runAsUser runAsGroup')
  .split(' ');
const POD_FIELDS = 'appArmorProfile seLinuxOptions seccompProfile fsGroup fsGroupChangePolicy sysctls runAsUser '
  .concat('runAsGroup supplementalGroups supplementalGroupsPolicy seLinuxChangePolicy')
  .split(' ');

/** Checks that a Pod with `os.name` has no fields of the other operating system. */
export function checkOsFields(spec: Field, containers: readonly Field[]): void {
  const os = getIn(spec, 'os', 'name').value;
  const contexts = containers.map((container) => get(container, 'securityContext'));
  const context = get(spec, 'securityContext');
  if (os === 'linux') {
    for (const each of [context, ...contexts]) forbidIfSet(get(each, 'windowsOptions'), 'in a Pod for Linux');
  }
  if (os !== 'windows') return;
  const why = 'in a Pod for Windows';
  forbidIfSet(get(spec, 'resources'), why);
  for (const step of ['hostPID', 'hostIPC']) if (isTrue(get(spec, step))) forbidden(get(spec, step), why);
  for (const step of ['hostUsers', 'shareProcessNamespace']) forbidIfSet(get(spec, step), why);
  for (const step of POD_FIELDS)
    if (step !== 'sysctls' || !isEmpty(get(context, step))) forbidIfSet(get(context, step), why);
  for (const each of contexts) for (const step of CONTAINER_FIELDS) forbidIfSet(get(each, step), why);
}

function forbidIfSet(field: Field, why: string): void {
  if (isSet(field)) forbidden(field, why);
}

/** Checks host process containers: all containers of a Pod are, or none, and they need the network of the host. */
export function checkHostProcess(spec: Field, containers: readonly Field[]): void {
  const uses = [spec, ...containers].some(
    (field) => has(field, 'securityContext') && has(get(field, 'securityContext'), 'windowsOptions'),
  );
  if (!uses) return;
  const steps = ['securityContext', 'windowsOptions', 'hostProcess'];
  const ofPod = getIn(spec, ...steps);
  let count = 0;
  for (const container of containers) {
    const own = getIn(container, ...steps);
    if (isSet(ofPod) && isSet(own) && own.value !== ofPod.value) invalid(own, 'must be the same as in the Pod');
    if (isTrue(isSet(own) ? own : ofPod)) count += 1;
  }
  if (count === 0) return;
  if (count !== containers.length) {
    report(spec, 'WrongValue', 'all containers of a Pod must have hostProcess: true if one of them has it');
  }
  const network = get(spec, 'hostNetwork');
  if (!isTrue(network)) report(network, 'WrongValue', 'host process containers need hostNetwork: true in the Pod');
}
