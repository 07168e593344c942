import { didYouMean } from '../../../manifest/problem.ts';
import type { Field } from '../shared/field.ts';
import { headerNameRule, portNameRule, portNumberRule } from '../shared/names.ts';

const PROBE_HANDLERS = ['exec', 'httpGet', 'tcpSocket', 'grpc'] as const;
const LIFECYCLE_HANDLERS = ['exec', 'httpGet', 'tcpSocket', 'sleep'] as const;
const ENDING_PROBES = ['livenessProbe', 'startupProbe'] as const;
const SECONDS = ['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'failureThreshold'] as const;

/** What handlers refer to outside of themselves. */
export interface HandlerContext {
  /** Undefined if the Pod's value is no number. */
  readonly gracePeriodSeconds: number | undefined;
}

/** Checks the probes and lifecycle hooks of a container that runs beside others. */
export function checkProbes(container: Field, context: HandlerContext): void {
  for (const name of ENDING_PROBES) {
    if (!container.has(name)) continue;
    const probe = container.get(name);
    checkProbe(probe, container, context);
    const threshold = probe.get('successThreshold');
    if (![0, 1, undefined].includes(threshold.integer)) threshold.invalid(`must be 1 for a ${name}`);
  }
  if (container.has('readinessProbe')) {
    const readiness = container.get('readinessProbe');
    checkProbe(readiness, container, context);
    readiness.get('successThreshold').inRange(0);
    const grace = readiness.get('terminationGracePeriodSeconds');
    if (grace.isSet) grace.forbidden('for a readinessProbe, which never ends a container');
  }
  if (!container.has('lifecycle')) return;
  const lifecycle = container.get('lifecycle');
  for (const hook of ['postStart', 'preStop']) {
    const handler = lifecycle.get(hook);
    if (handler.isSet) checkHandler(handler, LIFECYCLE_HANDLERS, container, context);
  }
}

function checkProbe(probe: Field, container: Field, context: HandlerContext): void {
  checkHandler(probe, PROBE_HANDLERS, container, context);
  for (const name of SECONDS) if (probe.has(name)) probe.get(name).inRange(0);
  if (probe.has('terminationGracePeriodSeconds')) probe.get('terminationGracePeriodSeconds').inRange(1);
}

function checkHandler(parent: Field, handlers: readonly string[], container: Field, context: HandlerContext): void {
  const handler = parent.exactlyOne(handlers);
  if (handler === undefined) return;
  switch (handler.step) {
    case 'exec':
      handler.get('command').needed();
      break;
    case 'httpGet':
      checkPort(handler.get('port'), container);
      for (const header of handler.get('httpHeaders').items()) {
        header.get('name').hasForm(headerNameRule);
      }
      break;
    case 'tcpSocket':
      checkPort(handler.get('port'), container);
      break;
    case 'grpc':
      handler.get('port').inRange(1, 65535);
      break;
    default:
      checkSleep(handler.get('seconds'), context);
  }
}

function checkSleep(seconds: Field, { gracePeriodSeconds }: HandlerContext): void {
  const found = seconds.integer;
  if (found === undefined || gracePeriodSeconds === undefined) return;
  if (found < 0 || found > gracePeriodSeconds) {
    seconds.invalid(`must be 0 to ${gracePeriodSeconds}, the terminationGracePeriodSeconds of the Pod`);
  }
}

/** Checks a port: a number, or the name of a port of the container. */
function checkPort(port: Field, container: Field): void {
  const number = port.integer;
  if (number !== undefined) {
    const broken = portNumberRule(number);
    if (broken !== undefined) port.invalid(broken);
    return;
  }
  const name = port.text;
  if (name === undefined) return;
  const broken = portNameRule(name);
  if (broken !== undefined) {
    const hint = /^\d+$/.test(name) ? 'write the number without quotes' : undefined;
    port.invalid(broken, { reason: 'BadName', hint });
    return;
  }
  const names = container
    .get('ports')
    .items()
    .flatMap((entry) => entry.get('name').text ?? []);
  if (names.includes(name)) return;
  const message = `${port.name} is ${JSON.stringify(name)}, but the container has no port of this name`;
  port.report('UnknownReference', message, { hint: didYouMean(name, names), severity: 'warning' });
}
