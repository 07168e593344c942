import { didYouMean } from '../../../manifest/problem.ts';
import {
  atMost,
  distinct,
  duplicate,
  type Field,
  forbidden,
  get,
  getIn,
  has,
  hasForm,
  inRange,
  integer,
  invalid,
  isEmpty,
  isOneOf,
  isSet,
  items,
  nameOf,
  needed,
  oneOf,
  report,
  required,
  text,
  word,
} from '../shared/field.ts';
import { dnsLabelRule, portNameRule } from '../shared/names.ts';
import { checkEnv } from './env.ts';
import { checkMounts, type Volumes } from './mounts.ts';
import { checkProbes, type HandlerContext } from './probes.ts';
import { checkResources } from './resources.ts';
import { checkSecurityContext } from './security-context.ts';
import { isEmptyDir } from './volumes.ts';

/** What containers refer to in their Pod. */
export interface ContainerContext extends HandlerContext {
  /** A Pod, and not the template of one. */
  readonly isPod: boolean;
  readonly volumes: Volumes;
  readonly claims: ReadonlySet<string>;
  readonly hostNetwork: boolean;
  readonly hostUsers: boolean;
  readonly restartPolicy: string | undefined;
}

/** Checks all containers of a Pod. */
export function checkContainers(spec: Field, context: ContainerContext): void {
  const containers = items(get(spec, 'containers'));
  const names = new Set<string>();
  const hostPorts = new Set<string>();
  for (const container of containers) {
    checkContainer(container, context);
    checkName(container, names);
    checkProbes(container, context);
    checkHostPorts(container, hostPorts, context);
    checkRestart(container);
  }
  for (const container of items(get(spec, 'initContainers'))) {
    checkContainer(container, context);
    checkName(container, names);
    checkHostPorts(container, new Set(), context);
    checkRestart(container);
    if (get(container, 'restartPolicy').value === 'Always') checkProbes(container, context);
    else checkInitContainer(container);
  }
  for (const container of items(get(spec, 'ephemeralContainers'))) {
    checkContainer(container, context);
    checkEphemeralContainer(container, names);
    checkName(container, names);
  }
}

function checkName(container: Field, names: Set<string>): void {
  const name = get(container, 'name');
  const found = word(name);
  if (found === undefined) return;
  if (names.has(found)) duplicate(name);
  names.add(found);
}

function checkContainer(container: Field, context: ContainerContext): void {
  hasForm(get(container, 'name'), dnsLabelRule);
  checkImage(get(container, 'image'), context);
  if (has(container, 'ports')) checkPorts(container, context);
  checkEnv(container);
  checkMounts(container, context.volumes);
  if (!context.hostUsers && !isEmpty(get(container, 'volumeDevices'))) {
    forbidden(get(container, 'volumeDevices'), 'with hostUsers: false');
  }
  if (has(container, 'resources')) checkResources(get(container, 'resources'), 'container', context.claims);
  if (has(container, 'resizePolicy')) checkResizePolicy(items(get(container, 'resizePolicy')), context);
  if (has(container, 'securityContext')) checkSecurityContext(get(container, 'securityContext'), context.hostUsers);
}

function checkImage(image: Field, { isPod }: ContainerContext): void {
  needed(image);
  const found = text(image);
  if (found === undefined || found === found.trim()) return;
  // An API server accepts it in a template, but not the Pods that are made of it.
  invalid(image, 'must not begin or end with white space', { severity: isPod ? 'error' : 'warning' });
}

function checkPorts(container: Field, { hostNetwork }: ContainerContext): void {
  const ports = items(get(container, 'ports'));
  for (const port of ports) {
    const number = get(port, 'containerPort');
    const hostPort = get(port, 'hostPort');
    hasForm(get(port, 'name'), portNameRule);
    inRange(number, 1, 65535);
    if ((integer(hostPort) ?? 0) === 0) continue;
    inRange(hostPort, 1, 65535);
    const isOfContainer = container.parent?.step === 'containers';
    if (hostNetwork && isOfContainer && hostPort.value !== number.value) {
      invalid(hostPort, `must be the same as containerPort with hostNetwork: true`);
    }
  }
  distinct(ports.map((port) => get(port, 'name')));
}

/** Two ports cannot use the same port of the node. */
function checkHostPorts(container: Field, taken: Set<string>, { isPod, hostNetwork }: ContainerContext): void {
  for (const port of items(get(container, 'ports'))) {
    const hostPort = get(port, 'hostPort');
    const isDefaulted = isPod && hostNetwork && (integer(hostPort) ?? 0) === 0;
    const number = isDefaulted ? get(port, 'containerPort') : hostPort;
    if ((integer(number) ?? 0) === 0) continue;
    const key = `${word(get(port, 'protocol')) ?? 'TCP'}/${text(get(port, 'hostIP')) ?? ''}/${number.value}`;
    if (taken.has(key)) duplicate(number, 'DuplicateValue', 'it is taken on the node');
    taken.add(key);
  }
}

function checkResizePolicy(policies: readonly Field[], { restartPolicy }: ContainerContext): void {
  for (const policy of policies) {
    const restart = get(policy, 'restartPolicy');
    oneOf(get(policy, 'resourceName'), ['cpu', 'memory']);
    oneOf(restart, ['NotRequired', 'RestartContainer']);
    const isInit = policy.parent?.parent?.parent?.step === 'initContainers';
    const isSidecar = get(policy.parent?.parent ?? policy, 'restartPolicy').value === 'Always';
    if (restart.value !== 'RestartContainer') continue;
    if (restartPolicy === 'Never') invalid(restart, 'must be NotRequired if the Pod has restartPolicy: Never');
    else if (isInit && !isSidecar) invalid(restart, 'must be NotRequired in an init container');
  }
  distinct(
    policies.map((policy) => get(policy, 'resourceName')),
    'DuplicateValue',
  );
}

function checkRestart(container: Field): void {
  if (!has(container, 'restartPolicy') && !has(container, 'restartPolicyRules')) return;
  const policy = get(container, 'restartPolicy');
  const list = get(container, 'restartPolicyRules');
  isOneOf(policy, ['Always', 'Never', 'OnFailure']);
  const rules = items(list);
  if (rules.length > 0 && !isSet(policy)) required(policy, 'restartPolicyRules needs it');
  atMost(list, 20);
  for (const rule of rules) {
    oneOf(get(rule, 'action'), ['Restart', 'RestartAllContainers']);
    const codes = get(rule, 'exitCodes');
    if (!isSet(codes)) required(codes);
    oneOf(get(codes, 'operator'), ['In', 'NotIn']);
  }
}

const PROBES = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const;

function checkInitContainer(container: Field): void {
  for (const step of PROBES) {
    const field = get(container, step);
    if (isSet(field)) forbidden(field, 'in an init container without restartPolicy: Always');
  }
}

function checkEphemeralContainer(container: Field, names: ReadonlySet<string>): void {
  for (const step of [...PROBES, 'ports', 'resources', 'resizePolicy', 'restartPolicy', 'restartPolicyRules']) {
    const field = get(container, step);
    if (!isEmpty(field)) forbidden(field, 'in an ephemeral container');
  }
  for (const mount of items(get(container, 'volumeMounts'))) {
    for (const step of ['subPath', 'subPathExpr']) {
      if (!isEmpty(get(mount, step))) forbidden(get(mount, step), 'in an ephemeral container');
    }
  }
  const target = get(container, 'targetContainerName');
  const found = word(target);
  if (found === undefined || names.has(found)) return;
  const message = `${nameOf(target)} is ${JSON.stringify(found)}, but the Pod has no container of this name`;
  report(target, 'UnknownReference', message, { hint: didYouMean(found, names) });
}

/** All containers of a Pod, of every sort. */
export function allContainers(spec: Field): readonly Field[] {
  return ['initContainers', 'containers', 'ephemeralContainers'].flatMap((step) => items(get(spec, step)));
}

/** Checks that files with environment variables are in volumes that a container can write. */
export function checkFileKeys(containers: readonly Field[], volumes: Volumes): void {
  for (const container of containers) {
    for (const variable of items(get(container, 'env'))) {
      if (!has(variable, 'valueFrom')) continue;
      const name = getIn(variable, 'valueFrom', 'fileKeyRef', 'volumeName');
      const found = word(name);
      if (found === undefined) continue;
      const volume = volumes.get(found);
      if (volume === undefined) {
        const message = `${nameOf(name)} is ${JSON.stringify(found)}, but the Pod has no volume of this name`;
        report(name, 'UnknownVolume', message, { hint: didYouMean(found, volumes.keys()) });
      } else if (!isEmptyDir(volume)) invalid(name, 'must name a volume with emptyDir');
    }
  }
}
