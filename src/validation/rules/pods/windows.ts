import type { Field } from '../shared/field.ts';
import { dnsSubdomainRule } from '../shared/names.ts';

/** Checks the options of a security context that are for Windows only. */
export function checkWindowsOptions(options: Field): void {
  if (!options.isSet) return;
  options.get('gmsaCredentialSpecName').hasForm(dnsSubdomainRule);
  const spec = options.get('gmsaCredentialSpec');
  const length = spec.text?.length;
  if (length === 0 || (length ?? 0) > 64 * 1024) {
    spec.report('WrongValue', 'gmsaCredentialSpec must be 1 character to 64 KiB');
  }
  const user = options.get('runAsUserName');
  const broken = user.text === undefined ? undefined : userNameRule(user.text ?? '');
  if (broken !== undefined) user.invalid(broken, { reason: 'BadName' });
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
  const os = spec.getIn('os', 'name').value;
  const contexts = containers.map((container) => container.get('securityContext'));
  const context = spec.get('securityContext');
  if (os === 'linux') {
    for (const each of [context, ...contexts]) forbidIfSet(each.get('windowsOptions'), 'in a Pod for Linux');
  }
  if (os !== 'windows') return;
  const why = 'in a Pod for Windows';
  forbidIfSet(spec.get('resources'), why);
  for (const step of ['hostPID', 'hostIPC']) if (spec.get(step).isTrue) spec.get(step).forbidden(why);
  for (const step of ['hostUsers', 'shareProcessNamespace']) forbidIfSet(spec.get(step), why);
  for (const step of POD_FIELDS)
    if (step !== 'sysctls' || !context.get(step).isEmpty) forbidIfSet(context.get(step), why);
  for (const each of contexts) for (const step of CONTAINER_FIELDS) forbidIfSet(each.get(step), why);
}

function forbidIfSet(field: Field, why: string): void {
  if (field.isSet) field.forbidden(why);
}

/** Checks host process containers: all containers of a Pod are, or none, and they need the network of the host. */
export function checkHostProcess(spec: Field, containers: readonly Field[]): void {
  const uses = [spec, ...containers].some(
    (field) => field.has('securityContext') && field.get('securityContext').has('windowsOptions'),
  );
  if (!uses) return;
  const steps = ['securityContext', 'windowsOptions', 'hostProcess'];
  const ofPod = spec.getIn(...steps);
  let count = 0;
  for (const container of containers) {
    const own = container.getIn(...steps);
    if (ofPod.isSet && own.isSet && own.value !== ofPod.value) own.invalid('must be the same as in the Pod');
    if ((own.isSet ? own : ofPod).isTrue) count += 1;
  }
  if (count === 0) return;
  if (count !== containers.length) {
    spec.report('WrongValue', 'all containers of a Pod must have hostProcess: true if one of them has it');
  }
  const network = spec.get('hostNetwork');
  if (!network.isTrue) network.report('WrongValue', 'host process containers need hostNetwork: true in the Pod');
}
