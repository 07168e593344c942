import { didYouMean } from '../../../manifest/problem.ts';
import { distinct, type Field } from '../shared/field.ts';
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
  const containers = spec.get('containers').items();
  const names = new Set<string>();
  const hostPorts = new Set<string>();
  for (const container of containers) {
    checkContainer(container, context);
    checkName(container, names);
    checkProbes(container, context);
    checkHostPorts(container, hostPorts, context);
    checkRestart(container);
  }
  for (const container of spec.get('initContainers').items()) {
    checkContainer(container, context);
    checkName(container, names);
    checkHostPorts(container, new Set(), context);
    checkRestart(container);
    if (container.get('restartPolicy').value === 'Always') checkProbes(container, context);
    else checkInitContainer(container);
  }
  for (const container of spec.get('ephemeralContainers').items()) {
    checkContainer(container, context);
    checkEphemeralContainer(container, names);
    checkName(container, names);
  }
}

function checkName(container: Field, names: Set<string>): void {
  const name = container.get('name');
  const found = name.word;
  if (found === undefined) return;
  if (names.has(found)) name.duplicate();
  names.add(found);
}

function checkContainer(container: Field, context: ContainerContext): void {
  container.get('name').hasForm(dnsLabelRule);
  checkImage(container.get('image'), context);
  if (container.has('ports')) checkPorts(container, context);
  checkEnv(container);
  checkMounts(container, context.volumes);
  if (!context.hostUsers && !container.get('volumeDevices').isEmpty) {
    container.get('volumeDevices').forbidden('with hostUsers: false');
  }
  if (container.has('resources')) checkResources(container.get('resources'), 'container', context.claims);
  if (container.has('resizePolicy')) checkResizePolicy(container.get('resizePolicy').items(), context);
  if (container.has('securityContext')) checkSecurityContext(container.get('securityContext'), context.hostUsers);
}

function checkImage(image: Field, { isPod }: ContainerContext): void {
  image.needed();
  const found = image.text;
  if (found === undefined || found === found.trim()) return;
  // An API server accepts it in a template, but not the Pods that are made of it.
  image.invalid('must not begin or end with white space', { severity: isPod ? 'error' : 'warning' });
}

function checkPorts(container: Field, { hostNetwork }: ContainerContext): void {
  const ports = container.get('ports').items();
  for (const port of ports) {
    const number = port.get('containerPort');
    const hostPort = port.get('hostPort');
    port.get('name').hasForm(portNameRule);
    number.inRange(1, 65535);
    if ((hostPort.integer ?? 0) === 0) continue;
    hostPort.inRange(1, 65535);
    const isOfContainer = container.parent?.step === 'containers';
    if (hostNetwork && isOfContainer && hostPort.value !== number.value) {
      hostPort.invalid(`must be the same as containerPort with hostNetwork: true`);
    }
  }
  distinct(ports.map((port) => port.get('name')));
}

/** Two ports cannot use the same port of the node. */
function checkHostPorts(container: Field, taken: Set<string>, { isPod, hostNetwork }: ContainerContext): void {
  for (const port of container.get('ports').items()) {
    const hostPort = port.get('hostPort');
    const isDefaulted = isPod && hostNetwork && (hostPort.integer ?? 0) === 0;
    const number = isDefaulted ? port.get('containerPort') : hostPort;
    if ((number.integer ?? 0) === 0) continue;
    const key = `${port.get('protocol').word ?? 'TCP'}/${port.get('hostIP').text ?? ''}/${number.value}`;
    if (taken.has(key)) number.duplicate('DuplicateValue', 'it is taken on the node');
    taken.add(key);
  }
}

function checkResizePolicy(policies: readonly Field[], { restartPolicy }: ContainerContext): void {
  for (const policy of policies) {
    const restart = policy.get('restartPolicy');
    policy.get('resourceName').oneOf(['cpu', 'memory']);
    restart.oneOf(['NotRequired', 'RestartContainer']);
    const isInit = policy.parent?.parent?.parent?.step === 'initContainers';
    const isSidecar = (policy.parent?.parent ?? policy).get('restartPolicy').value === 'Always';
    if (restart.value !== 'RestartContainer') continue;
    if (restartPolicy === 'Never') restart.invalid('must be NotRequired if the Pod has restartPolicy: Never');
    else if (isInit && !isSidecar) restart.invalid('must be NotRequired in an init container');
  }
  distinct(
    policies.map((policy) => policy.get('resourceName')),
    'DuplicateValue',
  );
}

function checkRestart(container: Field): void {
  if (!container.has('restartPolicy') && !container.has('restartPolicyRules')) return;
  const policy = container.get('restartPolicy');
  const list = container.get('restartPolicyRules');
  policy.isOneOf(['Always', 'Never', 'OnFailure']);
  const rules = list.items();
  if (rules.length > 0 && !policy.isSet) policy.required('restartPolicyRules needs it');
  list.atMost(20);
  for (const rule of rules) {
    rule.get('action').oneOf(['Restart', 'RestartAllContainers']);
    const codes = rule.get('exitCodes');
    if (!codes.isSet) codes.required();
    codes.get('operator').oneOf(['In', 'NotIn']);
  }
}

const PROBES = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const;

function checkInitContainer(container: Field): void {
  for (const step of PROBES) {
    const field = container.get(step);
    if (field.isSet) field.forbidden('in an init container without restartPolicy: Always');
  }
}

function checkEphemeralContainer(container: Field, names: ReadonlySet<string>): void {
  for (const step of [...PROBES, 'ports', 'resources', 'resizePolicy', 'restartPolicy', 'restartPolicyRules']) {
    const field = container.get(step);
    if (!field.isEmpty) field.forbidden('in an ephemeral container');
  }
  for (const mount of container.get('volumeMounts').items()) {
    for (const step of ['subPath', 'subPathExpr']) {
      if (!mount.get(step).isEmpty) mount.get(step).forbidden('in an ephemeral container');
    }
  }
  const target = container.get('targetContainerName');
  const found = target.word;
  if (found === undefined || names.has(found)) return;
  const message = `${target.name} is ${JSON.stringify(found)}, but the Pod has no container of this name`;
  target.report('UnknownReference', message, { hint: didYouMean(found, names) });
}

/** All containers of a Pod, of every sort. */
export function allContainers(spec: Field): readonly Field[] {
  return ['initContainers', 'containers', 'ephemeralContainers'].flatMap((step) => spec.get(step).items());
}

/** Checks that files with environment variables are in volumes that a container can write. */
export function checkFileKeys(containers: readonly Field[], volumes: Volumes): void {
  for (const container of containers) {
    for (const variable of container.get('env').items()) {
      if (!variable.has('valueFrom')) continue;
      const name = variable.getIn('valueFrom', 'fileKeyRef', 'volumeName');
      const found = name.word;
      if (found === undefined) continue;
      const volume = volumes.get(found);
      if (volume === undefined) {
        const message = `${name.name} is ${JSON.stringify(found)}, but the Pod has no volume of this name`;
        name.report('UnknownVolume', message, { hint: didYouMean(found, volumes.keys()) });
      } else if (!isEmptyDir(volume)) name.invalid('must name a volume with emptyDir');
    }
  }
}
