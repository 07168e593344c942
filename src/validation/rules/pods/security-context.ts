import { distinct, type Field } from '../shared/field.ts';
import { descendingPathRule } from '../shared/names.ts';
import { checkWindowsOptions } from './windows.ts';

/** User and group ids of Linux are signed 32-bit numbers. */
const LARGEST_ID = 2 ** 31 - 1;
const IDS = ['runAsUser', 'runAsGroup'];
const POD_IDS = [...IDS, 'fsGroup'];

/** Checks the security context of a Pod. */
export function checkPodSecurityContext(spec: Field): void {
  const context = spec.get('securityContext');
  if (spec.has('hostPID') && spec.get('hostPID').isTrue && spec.get('shareProcessNamespace').isTrue) {
    spec.get('shareProcessNamespace').forbidden('with hostPID: true');
  }
  if (!context.isSet) return;
  for (const step of POD_IDS) if (context.has(step)) context.get(step).inRange(0, LARGEST_ID);
  for (const group of context.get('supplementalGroups').items()) group.inRange(0, LARGEST_ID);
  for (const step of ['fsGroupChangePolicy', 'supplementalGroupsPolicy']) context.get(step).notEmpty();
  if (context.has('seLinuxChangePolicy')) context.get('seLinuxChangePolicy').isOneOf(['MountOption', 'Recursive']);
  if (context.has('sysctls')) checkSysctls(context.get('sysctls'), spec);
  checkProfiles(context);
}

/** Checks the security context of a container. */
export function checkSecurityContext(context: Field, hostUsers: boolean): void {
  if (!context.isSet) return;
  for (const step of IDS) if (context.has(step)) context.get(step).inRange(0, LARGEST_ID);
  const procMount = context.get('procMount');
  procMount.notEmpty();
  if (hostUsers && procMount.value === 'Unmasked') {
    procMount.invalid('must be Default unless the Pod has hostUsers: false');
  }
  if (context.get('allowPrivilegeEscalation').value === false) {
    const escalation = context.get('allowPrivilegeEscalation');
    if (context.get('privileged').isTrue) escalation.invalid('must not be false with privileged: true');
    const added = context.get('capabilities').get('add').items();
    if (added.some(({ value }) => value === 'CAP_SYS_ADMIN')) {
      escalation.invalid('must not be false with the capability CAP_SYS_ADMIN');
    }
  }
  checkProfiles(context);
}

function checkProfiles(context: Field): void {
  if (context.has('seccompProfile')) checkProfile(context.get('seccompProfile'), 'seccomp');
  if (context.has('appArmorProfile')) checkProfile(context.get('appArmorProfile'), 'AppArmor');
  if (context.has('windowsOptions')) checkWindowsOptions(context.get('windowsOptions'));
}

function checkProfile(profile: Field, kind: 'seccomp' | 'AppArmor'): void {
  if (!profile.isSet) return;
  const type = profile.get('type');
  const local = profile.get('localhostProfile');
  if (type.value !== 'Localhost') {
    if (local.isSet && !type.isEmpty) local.forbidden('unless type is Localhost');
    return;
  }
  if (!local.isSet || (kind === 'AppArmor' && local.value === '')) local.required('the type Localhost needs it');
  else if (kind === 'seccomp') local.hasForm(descendingPathRule, 'BadPath');
  else if (local.text !== local.text?.trim()) local.invalid('must not begin or end with white space');
}

const SYSCTL = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;

function checkSysctls(list: Field, spec: Field): void {
  const sysctls = list.items();
  for (const sysctl of sysctls) {
    const name = sysctl.get('name');
    name.hasForm(sysctlRule);
    const found = name.text?.replaceAll('/', '.') ?? '';
    if (found.startsWith('net.') && spec.get('hostNetwork').isTrue) {
      name.invalid('must not be of the network with hostNetwork: true');
    }
    const isOfIpc = /^(kernel\.(shm|msg)|fs\.mqueue\.)/.test(found) || found === 'kernel.sem';
    if (isOfIpc && spec.get('hostIPC').isTrue) name.invalid('must not be of IPC with hostIPC: true');
  }
  distinct(sysctls.map((sysctl) => sysctl.get('name')));
}

function sysctlRule(name: string): string | undefined {
  return name.length <= 253 && SYSCTL.test(name) ? undefined : 'must be the name of a sysctl like net.core.somaxconn';
}
