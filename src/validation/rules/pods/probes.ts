import { didYouMean } from '../../../manifest/problem.ts';
import {
  exactlyOne,
  type Field,
  forbidden,
  get,
  has,
  hasForm,
  inRange,
  integer,
  invalid,
  isSet,
  items,
  nameOf,
  needed,
  report,
  text,
} from '../shared/field.ts';
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
    if (!has(container, name)) continue;
    const probe = get(container, name);
    checkProbe(probe, container, context);
    const threshold = get(probe, 'successThreshold');
    if (![0, 1, undefined].includes(integer(threshold))) invalid(threshold, `must be 1 for a ${name}`);
  }
  if (has(container, 'readinessProbe')) {
    const readiness = get(container, 'readinessProbe');
    checkProbe(readiness, container, context);
    inRange(get(readiness, 'successThreshold'), 0);
    const grace = get(readiness, 'terminationGracePeriodSeconds');
    if (isSet(grace)) forbidden(grace, 'for a readinessProbe, which never ends a container');
  }
  if (!has(container, 'lifecycle')) return;
  const lifecycle = get(container, 'lifecycle');
  for (const hook of ['postStart', 'preStop']) {
    const handler = get(lifecycle, hook);
    if (isSet(handler)) checkHandler(handler, LIFECYCLE_HANDLERS, container, context);
  }
}

function checkProbe(probe: Field, container: Field, context: HandlerContext): void {
  checkHandler(probe, PROBE_HANDLERS, container, context);
  for (const name of SECONDS) if (has(probe, name)) inRange(get(probe, name), 0);
  if (has(probe, 'terminationGracePeriodSeconds')) inRange(get(probe, 'terminationGracePeriodSeconds'), 1);
}

function checkHandler(parent: Field, handlers: readonly string[], container: Field, context: HandlerContext): void {
  const handler = exactlyOne(parent, handlers);
  if (handler === undefined) return;
  switch (handler.step) {
    case 'exec':
      needed(get(handler, 'command'));
      break;
    case 'httpGet':
      checkPort(get(handler, 'port'), container);
      for (const header of items(get(handler, 'httpHeaders'))) {
        hasForm(get(header, 'name'), headerNameRule);
      }
      break;
    case 'tcpSocket':
      checkPort(get(handler, 'port'), container);
      break;
    case 'grpc':
      inRange(get(handler, 'port'), 1, 65535);
      break;
    default:
      checkSleep(get(handler, 'seconds'), context);
  }
}

function checkSleep(seconds: Field, { gracePeriodSeconds }: HandlerContext): void {
  const found = integer(seconds);
  if (found === undefined || gracePeriodSeconds === undefined) return;
  if (found < 0 || found > gracePeriodSeconds) {
    invalid(seconds, `must be 0 to ${gracePeriodSeconds}, the terminationGracePeriodSeconds of the Pod`);
  }
}

/** Checks a port: a number, or the name of a port of the container. */
function checkPort(port: Field, container: Field): void {
  const number = integer(port);
  if (number !== undefined) {
    const broken = portNumberRule(number);
    if (broken !== undefined) invalid(port, broken);
    return;
  }
  const name = text(port);
  if (name === undefined) return;
  const broken = portNameRule(name);
  if (broken !== undefined) {
    const hint = /^\d+$/.test(name) ? 'write the number without quotes' : undefined;
    invalid(port, broken, { reason: 'BadName', hint });
    return;
  }
  const names = items(get(container, 'ports')).flatMap((entry) => text(get(entry, 'name')) ?? []);
  if (names.includes(name)) return;
  const message = `${nameOf(port)} is ${JSON.stringify(name)}, but the container has no port of this name`;
  report(port, 'UnknownReference', message, { hint: didYouMean(name, names), severity: 'warning' });
}
