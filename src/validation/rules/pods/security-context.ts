import {
  distinct,
  type Field,
  forbidden,
  get,
  has,
  hasForm,
  inRange,
  invalid,
  isEmpty,
  isOneOf,
  isSet,
  isTrue,
  items,
  notEmpty,
  required,
  text,
} from '../shared/field.ts';
import { descendingPathRule } from '../shared/names.ts';
import { checkWindowsOptions } from './windows.ts';

/** User and group ids of Linux are signed 32-bit numbers. */
const LARGEST_ID = 2 ** 31 - 1;
const IDS = ['runAsUser', 'runAsGroup'];
const POD_IDS = [...IDS, 'fsGroup'];

/** Checks the security context of a Pod. */
export function checkPodSecurityContext(spec: Field): void {
  const context = get(spec, 'securityContext');
  if (has(spec, 'hostPID') && isTrue(get(spec, 'hostPID')) && isTrue(get(spec, 'shareProcessNamespace'))) {
    forbidden(get(spec, 'shareProcessNamespace'), 'with hostPID: true');
  }
  if (!isSet(context)) return;
  for (const step of POD_IDS) if (has(context, step)) inRange(get(context, step), 0, LARGEST_ID);
  for (const group of items(get(context, 'supplementalGroups'))) inRange(group, 0, LARGEST_ID);
  for (const step of ['fsGroupChangePolicy', 'supplementalGroupsPolicy']) notEmpty(get(context, step));
  if (has(context, 'seLinuxChangePolicy')) isOneOf(get(context, 'seLinuxChangePolicy'), ['MountOption', 'Recursive']);
  if (has(context, 'sysctls')) checkSysctls(get(context, 'sysctls'), spec);
  checkProfiles(context);
}

/** Checks the security context of a container. */
export function checkSecurityContext(context: Field, hostUsers: boolean): void {
  if (!isSet(context)) return;
  for (const step of IDS) if (has(context, step)) inRange(get(context, step), 0, LARGEST_ID);
  const procMount = get(context, 'procMount');
  notEmpty(procMount);
  if (hostUsers && procMount.value === 'Unmasked') {
    invalid(procMount, 'must be Default unless the Pod has hostUsers: false');
  }
  if (get(context, 'allowPrivilegeEscalation').value === false) {
    const escalation = get(context, 'allowPrivilegeEscalation');
    if (isTrue(get(context, 'privileged'))) invalid(escalation, 'must not be false with privileged: true');
    const added = items(get(get(context, 'capabilities'), 'add'));
    if (added.some(({ value }) => value === 'CAP_SYS_ADMIN')) {
      invalid(escalation, 'must not be false with the capability CAP_SYS_ADMIN');
    }
  }
  checkProfiles(context);
}

function checkProfiles(context: Field): void {
  if (has(context, 'seccompProfile')) checkProfile(get(context, 'seccompProfile'), 'seccomp');
  if (has(context, 'appArmorProfile')) checkProfile(get(context, 'appArmorProfile'), 'AppArmor');
  if (has(context, 'windowsOptions')) checkWindowsOptions(get(context, 'windowsOptions'));
}

function checkProfile(profile: Field, kind: 'seccomp' | 'AppArmor'): void {
  if (!isSet(profile)) return;
  const type = get(profile, 'type');
  const local = get(profile, 'localhostProfile');
  if (type.value !== 'Localhost') {
    if (isSet(local) && !isEmpty(type)) forbidden(local, 'unless type is Localhost');
    return;
  }
  if (!isSet(local) || (kind === 'AppArmor' && local.value === '')) required(local, 'the type Localhost needs it');
  else if (kind === 'seccomp') hasForm(local, descendingPathRule, 'BadPath');
  else if (text(local) !== text(local)?.trim()) invalid(local, 'must not begin or end with white space');
}

const SYSCTL = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;

function checkSysctls(list: Field, spec: Field): void {
  const sysctls = items(list);
  for (const sysctl of sysctls) {
    const name = get(sysctl, 'name');
    hasForm(name, sysctlRule);
    const found = text(name)?.replaceAll('/', '.') ?? '';
    if (found.startsWith('net.') && isTrue(get(spec, 'hostNetwork'))) {
      invalid(name, 'must not be of the network with hostNetwork: true');
    }
    const isOfIpc = /^(kernel\.(shm|msg)|fs\.mqueue\.)/.test(found) || found === 'kernel.sem';
    if (isOfIpc && isTrue(get(spec, 'hostIPC'))) invalid(name, 'must not be of IPC with hostIPC: true');
  }
  distinct(sysctls.map((sysctl) => get(sysctl, 'name')));
}

function sysctlRule(name: string): string | undefined {
  return name.length <= 253 && SYSCTL.test(name) ? undefined : 'must be the name of a sysctl like net.core.somaxconn';
}
